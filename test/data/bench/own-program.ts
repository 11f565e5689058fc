// Stands in for a user's program, and prints one time and a digest: node own-program.ts --design N [--log FILE] … .
// Other options name the designs for which it misbehaves. --times FILE gives the time of each design in ms, as JSON.
import { spawn } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: Object.fromEntries(
    ['design', 'log', 'ms', 'times', 'device', 'wrong', 'hang', 'crash', 'silent', 'garbage', 'unsteady'].map((name) => [
      name,
      { type: 'string' } as const,
    ]),
  ),
});
const given = values as Readonly<Record<string, string | undefined>>;
const is = (what: string): boolean => given[what] === given.design;

if (given.log) appendFileSync(given.log, `${JSON.stringify({ design: given.design, pid: process.pid, positionals })}\n`);
if (is('crash')) {
  console.error('about to crash\nillegal address');
  process.kill(process.pid, 'SIGSEGV');
}
if (is('hang')) {
  const grandchild = spawn('sleep', ['602'], { stdio: 'inherit' });
  grandchild.unref();
  process.on('SIGTERM', () => {});
  setInterval(() => {}, 1000);
} else {
  console.log('warming up …');
  console.log('{ this is not JSON');
  if (given.device) console.log(JSON.stringify({ device: given.device }));
  const times = given.times && (JSON.parse(readFileSync(given.times, 'utf8')) as Readonly<Record<string, number>>);
  const timeMs = times ? times[given.design!] : Number(given.ms ?? 1) * (1 + Number(given.design) / 100);
  if (is('garbage')) console.log('{"timeNs": "fast"}');
  else if (!is('silent')) console.log(JSON.stringify({ timeNs: timeMs * 1e6 * (1 + (process.pid % 7) / 700) }));
  const digest = is('wrong') ? 'beef' : is('unsteady') ? `pid ${process.pid}` : 'cafe';
  console.log(JSON.stringify({ digest }));
  console.error('goodbye');
}
