import type { BenchCase } from '../../src-workers/domain/benchmark.ts';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { processLives } from '../../db/ownership.ts';
import { inTemporaryFolder } from '../../src-main/services/files/temporary-folder.ts';
import { runProgram } from '../../src-main/services/measuring/runner.ts';
import { PARENT_VARIABLE } from '../../src-workers/bench/parent.ts';
import { writePlanFolder } from '../../src-workers/bench/plan-files.ts';
import { runTool } from '../../src-workers/bench/tool.ts';
import { PASSWORD_VARIABLE } from '../../src-workers/domain/program.ts';
import { ok, unwrap } from '../../src-workers/domain/result.ts';
import { testFolder } from '../workplace.ts';
import { benchPlan } from '../measuring.ts';

const CHILD = join(import.meta.dirname, '..', '..', 'src-workers', 'bench', 'cpu', 'child.ts');
const folder = testFolder();

/** Starts the program as the engine does, and prints its id. The pipe of both processes stays open until both end. */
const STARTER = `
  const [file, folder, parent] = process.argv.slice(1);
  const env = { ...process.env, ...(parent && { ${PARENT_VARIABLE}: String(process.pid) }) };
  const child = require('node:child_process').spawn(process.execPath, [file, folder], { env, detached: true, stdio: 'inherit' });
  console.log('pid ' + child.pid);
`;

it.each([true, false])('the program ends with the process that started it, if it knows it: %s', async (knows) => {
  // The plan has far more launches than the test has time. Alone, the program would run for a minute.
  const cases: BenchCase[] = [{ id: 'stream-1', benchmark: 'stream', parameters: { cores: 1, bytesPerCore: 2 ** 20 } }];
  await writePlanFolder(folder, benchPlan(cases, { backend: 'cpu', warmUps: 0, repeats: 10_000_000 }));
  const starter = spawn(process.execPath, ['-e', STARTER, CHILD, folder, ...(knows ? ['told'] : [])], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  let ended = false;
  starter.stdout.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(0, 10_000)));
  const close = once(starter.stdout, 'close').then(() => (ended = true));
  await expect.poll(() => output, { timeout: 120_000 }).toMatch(/^pid \d+$[^]*"type":"device"/m);
  starter.kill('SIGKILL');
  if (knows) await expect.poll(() => ended, { timeout: 120_000 }).toBe(true);
  else {
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(ended).toBe(false);
    process.kill(Number(/^pid (\d+)$/m.exec(output)![1]), 'SIGKILL');
  }
  await close;
});

const TOOL = join(import.meta.dirname, '..', '..', 'src-workers', 'bench', 'tool.ts');
/**
 * Compiles as the engine does, by a compiler that waits for another program. A third argument kills the engine then.
 */
const COMPILING = `
  const [tool, file, killed] = process.argv.slice(1);
  const compile = (words) => runTool('/bin/sh', ['-c', words, 'sh', file], { timeLimitMs: 600_000 });
  const { runTool } = await import(tool);
  if (killed) await compile(':');
  void compile('sleep 600 & echo $! >"$1.draft"; mv "$1.draft" "$1"; wait');
  if (killed) process.kill(process.pid, 'SIGKILL');
`;
const compiling = (...words: string[]): ChildProcess =>
  spawn(process.execPath, ['--input-type=module', '-e', COMPILING, TOOL, ...words], { stdio: 'inherit' });

it('a killed engine ends a working compiler, and what the compiler started', async () => {
  const file = join(folder, 'compiler');
  const engine = compiling(file);
  await expect.poll(() => existsSync(file), { timeout: 120_000 }).toBe(true);
  const behind = Number(readFileSync(file, 'utf8'));
  expect(processLives(behind)).toBe(true);
  engine.kill('SIGKILL');
  await expect.poll(() => processLives(behind), { timeout: 120_000 }).toBe(false);
});

it('a killed engine ends a compiler that is just starting', async () => {
  const files = Array.from({ length: 5 }, (_, at) => join(folder, `starting-${at}`));
  for (const file of files) await once(compiling(file, 'killed'), 'exit');
  // By now, a compiler that is still alive has recorded its id.
  await new Promise((resolve) => setTimeout(resolve, 500));
  const started = files.filter((file) => existsSync(file)).map((file) => Number(readFileSync(file, 'utf8')));
  await expect.poll(() => started.filter(processLives), { timeout: 30_000 }).toEqual([]);
});

it.skipIf(process.platform === 'win32')('ends a program whose guard is killed', async () => {
  const file = join(folder, 'guard');
  const words = ['-c', 'echo "$PPID $$" >"$1.draft"; mv "$1.draft" "$1"; sleep 600', 'sh', file];
  const ended = runTool('/bin/sh', words, { timeLimitMs: 600_000 });
  await expect.poll(() => existsSync(file), { timeout: 120_000 }).toBe(true);
  const [guard, program] = readFileSync(file, 'utf8').split(' ').map(Number);
  process.kill(guard, 'SIGKILL');
  expect(await ended).toMatchObject({
    error: { message: expect.stringContaining('the process that starts programs has ended') },
  });
  await expect.poll(() => processLives(program), { timeout: 120_000 }).toBe(false);
});

it('passes none of its secrets to programs and compilers', async () => {
  vi.stubEnv(PASSWORD_VARIABLE, 'hunter2');
  onTestFinished(() => void vi.unstubAllEnvs());
  const words = ['-e', `console.error(process.env.ADDED, process.env.${PASSWORD_VARIABLE}); process.exit(3)`];
  const run = unwrap(await runTool(process.execPath, words, { timeLimitMs: 60_000, env: { ADDED: 'added' } }));
  const limits = { totalMs: 60_000, startMs: 60_000, caseMs: 60_000 };
  const program = { program: process.execPath, args: words, cwd: folder, env: { ADDED: 'added' } };
  const end = await runProgram(program, limits, AbortSignal.timeout(60_000), async () => ok(null));
  for (const text of [run.stderr, JSON.stringify(end)]) expect(text).toContain('added undefined');
});

it('removes the folders that a killed process left, and no others', async () => {
  const own = unwrap(await inTemporaryFolder((path) => Promise.resolve(ok(path))));
  expect(existsSync(own)).toBe(false);
  const gone = spawnSync(process.execPath, ['--version']).pid;
  const of = (pid: number, name: string): string =>
    join(tmpdir(), `${basename(own).replace(/-\d+-[^-]*$/, `-${pid}-`)}${name}`);
  const [left, other] = [of(gone, 'left'), of(process.ppid, 'other')];
  onTestFinished(() => [left, other].forEach((path) => rmSync(path, { recursive: true, force: true })));
  for (const path of [left, other]) {
    mkdirSync(path);
    writeFileSync(join(path, 'plan.json'), '{}');
  }
  unwrap(await inTemporaryFolder((path) => Promise.resolve(ok(expect(existsSync(path)).toBe(true)))));
  expect([existsSync(left), existsSync(other)]).toEqual([false, true]);
});
