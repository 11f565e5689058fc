import { fileURLToPath } from 'node:url';
import { afterEach, expect, it, vi } from 'vitest';
import { openPool, type Pool } from '../../src-main/services/pool.ts';
import { FailureError } from '../../src-workers/domain/result.ts';

const LIMITS = { stepMs: 300, taskMs: 600, lookMs: 20, stopMs: 100_000 };

let pool: Pool;
function open(workers: number, limits: Partial<typeof LIMITS> = {}): void {
  pool = openPool(fileURLToPath(new URL('pool-child.ts', import.meta.url)), workers, 0, { ...LIMITS, ...limits });
}
afterEach(() => pool.close());

const run = (
  name: 'predict' | 'loss' | 'survey' | 'vary' | 'explain',
  options: Parameters<Pool['run']>[2] = {},
  input: unknown = {},
) => pool.run(name, input as never, options) as Promise<unknown>;
const failureOf = (task: Promise<unknown>) =>
  task.then(
    () => null,
    (error: unknown) => (error instanceof FailureError ? error.failure : error),
  );

it.each(['predict', 'loss'] as const)('a task that hangs is ended, and others get a new worker: %s', async (name) => {
  open(1);
  const before = await run('explain');
  const hanging = run(name);
  const waiting = run('explain');
  expect(await failureOf(hanging)).toMatchObject({ code: 'internal', message: expect.stringContaining(`(${name})`) });
  expect(await waiting).not.toBe(before);
});

it('a task that hangs is ended before its limit if nobody waits for it any more', async () => {
  open(1, { stepMs: 1e9, taskMs: 1e9, stopMs: 50 });
  const call = new AbortController();
  const hanging = run('predict', { signal: call.signal });
  setTimeout(() => call.abort(), 300);
  expect(await failureOf(hanging)).toBe(call.signal.reason);
  await run('explain');
});

it('a task ends between two steps if it is cancelled, and its worker stays', async () => {
  open(1);
  const before = await run('explain');
  const call = new AbortController();
  const going = run('survey', { signal: call.signal });
  const waiting = run('survey', { signal: call.signal });
  setTimeout(() => call.abort(), 100);
  expect(await Promise.all([failureOf(going), failureOf(waiting)])).toEqual([call.signal.reason, call.signal.reason]);
  expect(await run('explain')).toBe(before);
});

it('a task runs before those of a run if a person waits for it', async () => {
  open(1);
  const ended: string[] = [];
  const tasks = [1, 2, 3].map((runId) => run('explain', { runId }).then(() => ended.push(`run ${runId}`)));
  const asked = run('explain').then(() => ended.push('asked'));
  await Promise.all([...tasks, asked]);
  expect(ended).toEqual(['run 1', 'asked', 'run 2', 'run 3']);
});

it('work in the background gives its worker to a waiting task, and begins again', async () => {
  open(1);
  const before = await run('explain');
  const input = { begun: new Int32Array(new SharedArrayBuffer(4)) };
  const background = run('vary', { background: true }, input);
  await vi.waitUntil(() => input.begun[0] === 1, { timeout: 60_000 });
  expect(await run('explain')).toBe(before);
  expect(await background).toBe(2);
});

it('work in the background continues if another worker is free', async () => {
  open(2);
  const input = { begun: new Int32Array(new SharedArrayBuffer(4)) };
  const background = run('vary', { background: true }, input);
  await vi.waitUntil(() => input.begun[0] === 1, { timeout: 60_000 });
  await run('explain');
  expect(input.begun[0]).toBe(1);
  Atomics.add(input.begun, 0, 1);
  expect(await background).toBe(2);
});
