import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { beforeAll, expect, it } from 'vitest';
import type { SimulatedTime } from '../../src-main/contract/api.ts';
import { contradictedCell, sayContradicted } from '../../src-main/cli/design-columns.ts';
import { terminalOn } from '../../src-main/cli/output.ts';
import { smallStudy } from '../unit/export-runs.ts';
import { documentOf, lockstep, shareEngine, type Outcome } from '../command-line.ts';
import { testFolder } from '../workplace.ts';

const folder = testFolder();
const db = join(folder, 'test.db');
shareEngine(() => db);

interface Rows {
  readonly rows: readonly {
    readonly designIndex: number;
    readonly fidelity: string;
    readonly timeMs: number;
    readonly predictedMs: number;
    readonly simulatedMs: { readonly mean: number } | null;
    readonly difference: number;
    readonly regime: unknown;
  }[];
}

const run = (...args: readonly string[]): Promise<Outcome> => lockstep(...args, '--db', db);
const json = async <T>(...args: readonly string[]): Promise<T> => documentOf(await run(...args, '--json'));

beforeAll(async () => {
  // The file has two runs, and one of them is simulated.
  const file = join(folder, 'study.json');
  writeFileSync(file, JSON.stringify(smallStudy()));
  expect((await run('sweep', file)).status).toBe(0);
  expect((await run('sweep', file)).status).toBe(0);
});

it('prints simulated times beside predicted ones, and rank and export show them from then on', async () => {
  const device = 'nvidia-rtx-4090';
  const words = ['simulate', '1', '--top', '4', '--device', device];
  const found = await json<Rows & { medianAbsoluteDifference: number }>(...words);
  expect(found).toMatchObject({ runId: 3, sourceRunId: 1, spearman: expect.any(Number) as number });
  for (const [at, { predictedMs, simulatedMs, difference, ...row }] of found.rows.entries()) {
    expect(row).toMatchObject({ rank: at + 1, device, contradicted: false, regime: { id: /^[a-z-]+$/ } });
    expect(difference).toBe(predictedMs / simulatedMs!.mean - 1);
  }
  const differences = found.rows.map((row) => Math.abs(row.difference)).sort((a, b) => a - b);
  expect(found.medianAbsoluteDifference).toBe((differences[1] + differences[2]) / 2);

  const ranked = await json<Rows>('rank', '1', '--top', '6', '--device', device);
  const [simulated, predicted] = [Array<string>(4).fill('simulated'), Array<string>(2).fill('predicted')];
  expect(ranked.rows.map((row) => row.fidelity)).toEqual([...simulated, ...predicted]);
  for (const { designIndex, regime, simulatedMs, timeMs } of ranked.rows.slice(0, 4)) {
    const own = found.rows.find((other) => other.designIndex === designIndex)!;
    expect([timeMs, simulatedMs!.mean, regime]).toEqual([own.simulatedMs!.mean, own.simulatedMs!.mean, own.regime]);
  }
  expect((await run('rank', '1', '--device', device)).out).toMatch(/simulated, (ms|µs)/);
  expect((await run('rank', '2')).out).not.toMatch(/simulated/);

  const csv = async (runId: string): Promise<readonly Record<string, string>[]> =>
    parse((await run('export', runId, '--format', 'csv')).out, { columns: true });
  const simulatedRows = (await csv('1')).filter(({ fidelity }) => fidelity === 'simulated');
  const times = simulatedRows.map((row) => Number(row.simulated_ms));
  expect(times.sort()).toEqual(found.rows.map((row) => row.simulatedMs!.mean).sort());
  expect((await csv('2'))[0]).not.toHaveProperty('simulated_ms');
  const document = JSON.parse((await run('export', '1', '--format', 'json')).out) as Rows;
  expect(document.rows.filter((row) => row.simulatedMs)).toHaveLength(4);
});

it('names the predictions that the simulation contradicts', () => {
  const row = (predictedMs: number, meanMs: number | null, halfWidth = 0) => {
    const range = { lowMs: meanMs! - halfWidth, highMs: meanMs! + halfWidth };
    return { predictedMs, simulated: meanMs === null ? null : ({ meanMs, ...range } as SimulatedTime) };
  };
  expect(contradictedCell(row(0.27, 3.88))).toBe('simulated 14.4 times as long as predicted');
  expect(contradictedCell(row(1, 1.25))).toBe('simulated 25 % longer than predicted');
  expect(contradictedCell(row(1, 0.8))).toBe('simulated 20 % shorter than predicted');
  // Time and prediction differ by at most 10 %, except in the third row. There, the difference exceeds the simulation's
  // own interval by at most 10 %.
  expect([row(1, 1.1), row(1, 0.92), row(1, 1.4, 0.3), row(1, null)].map(contradictedCell)).toEqual(['', '', '', '']);
  let said = '';
  const out = (text: string) => void (said += text);
  const terminal = terminalOn({ out, err: () => {}, interactive: false, columns: 100 });
  sayContradicted(terminal, [row(1, 1.1), row(1, null)]);
  expect(said).toBe('');
  sayContradicted(terminal, [row(1, 1.1), row(1, 2), row(1, null)]);
  expect(said).toMatch(/^The simulation contradicts 1 of 2 predictions: they are more than 10 % outside /);
});
