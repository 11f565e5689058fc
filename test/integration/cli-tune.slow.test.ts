import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, expect, it } from 'vitest';
import { main } from '../../src-main/cli/main.ts';
import type { TuningStep } from '../../src-main/contract/measuring.ts';
import type { OpenEngine as Engine } from '../../src-main/services/engine.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { smallStudy } from '../unit/export-runs.ts';
import { captured, type Outcome } from '../command-line.ts';
import { testEngine, testFolder } from '../workplace.ts';

// The user's program in these tests reports a known time for each design.
const ROOT = join(import.meta.dirname, '..', '..');
const PROGRAM = join(ROOT, 'test', 'data', 'bench', 'own-program.ts');
const DEVICE = 'nvidia-rtx-4090';
const folder = testFolder();
const [db, study, times, log] = ['test.db', 'study.json', 'times.json', 'log.jsonl'].map((name) => join(folder, name));
/** Predicted times by design, true times by design, and the best design. */
let predicted: ReadonlyMap<number, number>;
let trueMs: Readonly<Record<number, number>>;
let best: number;

const run = (...args: readonly string[]): Promise<Outcome> =>
  captured((terminal) => main([...args, '--db', db], terminal), { columns: 200 });

const command = (more = ''): string =>
  `'${process.execPath}' '${PROGRAM}' --design {design} --times '${times}' --log '${log}' ${more}`;
const tune = ['tune', '1', '--repeats', '2', '--warm-ups', '0', '--exec'] as const;
const launched = (): readonly number[] =>
  readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .map((line) => Number((JSON.parse(line) as { design: string }).design));

beforeAll(async () => {
  const axes = { threadsPerUnit: [1, 2, 4, 8, 16], blockThreads: [32, 64, 128, 256], gridBlocks: [4, 8, 16] };
  const workload = { lengths: 'geometric(0.05)', units: 8000 };
  writeFileSync(study, JSON.stringify(smallStudy({ devices: [DEVICE], workload, axes })));
  expect((await run('sweep', study)).status).toBe(0);
  const engine: Engine = await testEngine(db);
  const view = unwrap(await engine.context.views.open(1));
  const valid = [...view.ranking.columns.timeMs.entries()].filter(([, time]) => time > 0);
  predicted = new Map(valid);
  // True times differ less than predicted times. The block size of the best prediction is made slower than the others,
  // so that this prediction is wrong.
  const blocks = axes.blockThreads.length;
  const wrong = Math.min(...valid.map(([, time]) => time));
  const worst = valid.find(([, time]) => time === wrong)![0] % blocks;
  trueMs = Object.fromEntries(
    valid.map(([design, time]) => [design, 5 * time ** 0.2 * (design % blocks === worst ? 1.5 : 1)]),
  );
  best = Number(Object.entries(trueMs).reduce((one, other) => (other[1] < one[1] ? other : one))[0]);
  writeFileSync(times, JSON.stringify(trueMs));
  await engine.close();
});

interface Answer extends TuningStep {
  readonly stopped: string;
  readonly steps: readonly { readonly runId: number; readonly designs: readonly number[] }[];
}

it('finds a design near the fastest despite a wrong prediction, repeats no measurement after a kill, and makes none beyond the budget', async () => {
  const words = [...tune, command(), ...'--budget 24 --within 0.1% --db'.split(' '), db];
  const lockstep = join(ROOT, 'src-main', 'cli', 'lockstep.mjs');
  const cli = spawn(process.execPath, [lockstep, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(cli, 'exit');
  for await (const text of cli.stdout.setEncoding('utf8'))
    if (/Step 1/.test(text as string)) {
      setTimeout(() => cli.kill('SIGKILL'), 100);
      break;
    }
  await exited;
  expect(cli.signalCode).toBe('SIGKILL');
  const database = new Database(db, { readonly: true });
  const saved = database.prepare<[], { design_index: number }>('SELECT design_index FROM measured_designs').all();
  database.close();
  expect(saved.length).toBeGreaterThanOrEqual(4);

  // So few measurements do not reach the goal. Otherwise, tuning would report the goal instead of the budget.
  const spent = await run(...tune, command(), '--budget', '3', '--within', '0.1%');
  expect(spent).toMatchObject({ status: 0, err: '' });
  expect(spent.out).toContain(`Measured before: ${saved.length} designs; the best is design `);
  expect(spent.out).toMatch(new RegExp(`^Measured ${saved.length} of \\d+ designs\\. The budget is spent\\.`, 'm'));

  const { status, out, err } = await run(...tune, command(), '--budget', '24', '--within', '0.1%', '--json');
  expect([status, err]).toEqual([0, '']);
  const answer = JSON.parse(out) as Answer;
  expect(answer.steps[0].runId).toBeGreaterThan(2);
  const leastPredicted = Math.min(...predicted.values());
  expect(predicted.get(best)).toBeGreaterThan(leastPredicted);
  expect(trueMs[answer.best!.designIndex]).toBeLessThan(1.03 * trueMs[best]);
  expect(answer.best!.measuredMs / trueMs[answer.best!.designIndex]).toBeCloseTo(1, 1);
  expect(answer.measured).toBeLessThanOrEqual(24);
  expect(answer.measured).toBeLessThan(answer.considered);
  expect(answer.expectedRegret).toBeGreaterThanOrEqual(0);
  const bySteps = answer.steps.flatMap(({ designs }) => designs);
  expect(answer.measured).toBe(saved.length + bySteps.length);
  expect(new Set([...saved.map((one) => one.design_index), ...bySteps]).size).toBe(answer.measured);
  expect(new Set(launched()).size).toBeGreaterThanOrEqual(answer.measured);
});

it('does not count measurements of another program, and leaves out designs that fail', async () => {
  const first = [...predicted].reduce((one, other) => (other[1] < one[1] ? other : one))[0];
  const words = '--budget 6 --within 0.01% --json'.split(' ');
  const { status, out } = await run(...tune, command(`--crash ${first}`), ...words);
  expect(status).toBe(0);
  const answer = JSON.parse(out) as Answer;
  expect(answer.measured + answer.failed).toBe(6);
  expect(answer).toMatchObject({ failed: 1, stopped: 'budget' });
  expect(answer.steps[0].designs).toContain(first);
  expect(answer.best!.designIndex).not.toBe(first);
});
