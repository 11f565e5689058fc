import { parseArgs } from 'node:util';
import { runBrowserHost } from './host.ts';
import { DEFAULT_PORT } from './serve.ts';
import { errorText } from '../../src-workers/domain/result.ts';

// Runs the browser host as a separate program. `npm start` does this on a machine without a screen.

const usage = 'usage: serve [--port N] [--db FILE]';
const print = (line: string) => void process.stdout.write(`${line}\n`);
const complain = (line: string) => void process.stderr.write(`${line}\n`);

function readArguments() {
  try {
    return parseArgs({ options: { port: { type: 'string' }, db: { type: 'string' } } }).values;
  } catch (error) {
    complain(`${errorText(error)}; ${usage}`);
    return null;
  }
}

const values = readArguments();
const port = Number(values?.port ?? DEFAULT_PORT);
if (!values) {
  process.exitCode = 2;
} else if (!Number.isInteger(port) || port < 0 || port > 65535) {
  complain(`The port ${values.port} is not a whole number from 0 (any free port) to 65535.`);
  process.exitCode = 2;
} else {
  const ended = await runBrowserHost({ port, print, ...(values.db === undefined ? {} : { databaseFile: values.db }) });
  if (!ended.ok) complain(ended.error.message);
  process.exitCode = ended.ok ? 0 : 1;
}
