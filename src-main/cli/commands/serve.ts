import { type Command, InvalidArgumentError } from 'commander';
import { command, type CommandLine, type GlobalOptions, whole } from '../command-line.ts';
import { failure } from '../output.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';

const portNumber = (text: string): number => {
  const value = whole(text);
  if (value > 65_535) throw new InvalidArgumentError('It must be a number from 0 to 65535.');
  return value;
};

export function addServe(program: Command, { terminal, places }: CommandLine): void {
  command(program, 'serve', 'serve the same app to a browser on this machine')
    .option('--port <number>', 'port to listen on; 0 for any free one', portNumber)
    .addHelpText('after', '\nWith --json: {address, port}, when the page is ready; other text goes to standard error.')
    .action(async (options: GlobalOptions & { port?: number }) => {
      const { ensureBuilt } = await import('../../hosts/setup.mjs');
      const { runBrowserHost } = await import('../../serve/host.ts');
      const { DEFAULT_PORT } = await import('../../serve/serve.ts');
      const print = (line: string): void => (options.json ? terminal.err(`${line}\n`) : terminal.say(line));
      const { failed, stopped } = await ensureBuilt(places.root, process.execPath, print);
      if (failed !== null || stopped) throw failure('not-found', failed ?? 'stopped before the build was complete');
      unwrap(
        await runBrowserHost({
          port: options.port ?? DEFAULT_PORT,
          print,
          ...(options.json && { ready: (served: object) => terminal.json(served) }),
          ...(options.db === undefined ? {} : { databaseFile: options.db }),
        }),
      );
    });
}
