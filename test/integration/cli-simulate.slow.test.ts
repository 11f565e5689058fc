import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { beforeAll, expect, it } from 'vitest';
import type { SimulatedTime } from '../../src-main/contract/api.ts';
import { contradictedCell, sayContradicted } from '../../src-main/cli/design-columns.ts';
import { smallStudy } from '../unit/export-runs.ts';
import { documentOf, lockstep, type Outcome } from '../command-line.ts';
import { testFolder } from '../workplace.ts';

const folder = testFolder();
const db = join(folder, 'test.db');

interface Simulation {
  readonly runId: number;
  readonly sourceRunId: number;
  readonly rows: readonly {
    readonly rank: number;
    readonly device: string;
    readonly designIndex: number;
    readonly predictedMs: number;
    readonly simulatedMs: Readonly<Record<'median' | 'mean' | 'low' | 'high' | 'standardDeviation', number>>;
    readonly replications: number;
    readonly difference: number;
    readonly contradicted: boolean;
    readonly regime: unknown;
  }[];
  readonly spearman: number;
  readonly medianAbsoluteDifference: number;
}

const run = (...args: readonly string[]): Promise<Outcome> => lockstep(...args, '--db', db);
const json = async <T>(...args: readonly string[]): Promise<T> => documentOf(await run(...args, '--json'));

beforeAll(async () => {
  // There are two runs, of which one is simulated.
  const file = join(folder, 'study.json');
  writeFileSync(file, JSON.stringify(smallStudy()));
  expect((await run('sweep', file)).status).toBe(0);
  expect((await run('sweep', file)).status).toBe(0);
});

it('prints simulated times beside predicted ones, and rank and export show them from then on', async () => {
  const device = 'nvidia-rtx-4090';
  const found = await json<Simulation>('simulate', '1', '--top', '4', '--device', device);
  expect(found).toMatchObject({ runId: 3, sourceRunId: 1 });
  expect(found.rows.map((row) => [row.rank, row.device])).toEqual([1, 2, 3, 4].map((rank) => [rank, device]));
  for (const { predictedMs, simulatedMs, difference, contradicted, replications } of found.rows) {
    expect(difference).toBe(predictedMs / simulatedMs.mean - 1);
    expect(simulatedMs.low).toBeLessThanOrEqual(simulatedMs.high);
    expect(contradicted).toBe(false);
    expect(replications).toBeGreaterThanOrEqual(5);
    expect(replications).toBeLessThanOrEqual(30);
  }
  const differences = found.rows.map((row) => Math.abs(row.difference)).sort((a, b) => a - b);
  expect(found.medianAbsoluteDifference).toBe((differences[1] + differences[2]) / 2);
  expect(Math.abs(found.spearman)).toBeLessThanOrEqual(1);

  type Ranked = {
    rows: {
      fidelity: string;
      designIndex: number;
      timeMs: number;
      simulatedMs: { mean: number } | null;
      regime: unknown;
    }[];
  };
  const ranked = await json<Ranked>('rank', '1', '--top', '6', '--device', device);
  expect(ranked.rows.map((row) => row.fidelity)).toEqual([
    'simulated',
    'simulated',
    'simulated',
    'simulated',
    'predicted',
    'predicted',
  ]);
  for (const row of ranked.rows.slice(0, 4)) {
    const own = found.rows.find((other) => other.designIndex === row.designIndex)!;
    expect(row.timeMs).toBe(own.simulatedMs.mean);
    expect(own.regime).toMatchObject({ id: expect.any(String) as string, label: expect.any(String) as string });
    expect(row.regime).toEqual(own.regime);
    expect(row.simulatedMs?.mean).toBe(row.timeMs);
  }
  expect((await run('rank', '1', '--device', device)).out).toMatch(/simulated, (ms|µs)/);
  expect((await run('rank', '2')).out).not.toMatch(/simulated/);

  const csv = parse<Record<string, string>>((await run('export', '1', '--format', 'csv')).out, { columns: true });
  expect(
    csv
      .filter((row) => row.fidelity === 'simulated')
      .map((row) => Number(row.simulated_ms))
      .sort(),
  ).toEqual(found.rows.map((row) => row.simulatedMs.mean).sort());
  expect(
    Object.keys(parse((await run('export', '2', '--format', 'csv')).out, { columns: true })[0] as object),
  ).not.toContain('simulated_ms');
  const document = JSON.parse((await run('export', '1', '--format', 'json')).out) as Ranked;
  expect(document.rows.filter((row) => row.simulatedMs)).toHaveLength(4);
});

it('names the predictions that the simulation contradicts', () => {
  const row = (predictedMs: number, meanMs: number | null, halfWidth = 0) => ({
    predictedMs,
    simulated:
      meanMs === null ? null : ({ meanMs, lowMs: meanMs - halfWidth, highMs: meanMs + halfWidth } as SimulatedTime),
  });
  expect(contradictedCell(row(0.27, 3.88))).toBe('simulated 14.4 times as long as predicted');
  expect(contradictedCell(row(1, 1.25))).toBe('simulated 25 % longer than predicted');
  expect(contradictedCell(row(1, 0.8))).toBe('simulated 20 % shorter than predicted');
  // These differ by at most 10 %, or by at most 10 % beyond the simulation's own interval.
  expect([row(1, 1.1), row(1, 0.92), row(1, 1.4, 0.3), row(1, null)].map(contradictedCell)).toEqual(['', '', '', '']);
  let said = '';
  const terminal = { out: (text: string) => void (said += text), err: () => {}, interactive: false, columns: 100 };
  sayContradicted(terminal, [row(1, 1.1), row(1, null)]);
  expect(said).toBe('');
  sayContradicted(terminal, [row(1, 1.1), row(1, 2), row(1, null)]);
  expect(said).toMatch(/^The simulation contradicts 1 of 2 predictions: they are more than 10 % outside /);
});
