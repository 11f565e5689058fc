import { describe, expect, it } from 'vitest';
import type { BenchCase, BenchRecord } from '../../src-workers/domain/benchmark.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { parseBenchResults } from '../../src-workers/parse/bench-results.ts';
import { encode } from '../data.ts';
import { benchPlan, measuringDevice, planLine } from '../measuring.ts';

const streamOf = (cores: number): BenchCase => {
  return { id: `stream-${cores}`, benchmark: 'stream', parameters: { cores, bytesPerCore: 1024 } };
};
const PLAN = planLine(benchPlan([1, 2, 4].map(streamOf), { repeats: 3 }));
const DEVICE = measuringDevice();
const DONE: BenchRecord = { type: 'done', elapsedMs: 12 };

function samples(id: string, timesNs: readonly number[], warmUpNs: readonly number[] = [9e6]): BenchRecord[] {
  const one = (timeNs: number, repeat: number, warmUp: boolean): BenchRecord => {
    return { type: 'sample', case: id, repeat, warmUp, timeNs, clockMhz: 1400 + repeat };
  };
  return [...warmUpNs.map((time, at) => one(time, at, true)), ...timesNs.map((time, at) => one(time, at, false))];
}
const check = (id: string, correct = true, message = '') => ({ type: 'check', case: id, correct, message }) as const;
const whole = (): unknown[] => [
  PLAN,
  DEVICE,
  ...PLAN.plan.cases.flatMap(({ id }) => [...samples(id, [1e6, 2e6, 3e6]), check(id)]),
  DONE,
];
const read = (lines: readonly unknown[], end = '\n') => {
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
  return parseBenchResults(encode(text + end), 'results.jsonl');
};
const results = async (...lines: readonly unknown[]) => unwrap(await read(lines));
const ids = (cases: readonly { readonly case: { readonly id: string } }[]) => cases.map((one) => one.case.id);

it('a whole file returns every case with every number', async () => {
  const { plan, cases, ...others } = await results(...whole());
  expect(others).toMatchObject({ warnings: [], device: DEVICE, done: true, elapsedMs: 12 });
  expect(plan).toEqual(PLAN);
  const clocks = { clockMhz: 1401, conditions: { minClockMhz: 1400, maxClockMhz: 1402 } };
  const right = { correct: true, checkMessage: '', failure: null, compiled: null, values: {} };
  const expected = { timesMs: [1, 2, 3], warmUpMs: [9], ...clocks, ...right };
  expect(cases).toEqual(PLAN.plan.cases.map((one) => ({ case: one, ...expected })));
});

it('a whole file may have any number of samples of a case', async () => {
  const one = PLAN.plan.cases[0];
  const count = 150_000;
  const plan = { ...PLAN, plan: { ...PLAN.plan, cases: [one], repeats: count } };
  const many = samples(one.id, new Array<number>(count).fill(1e6));
  const { cases } = unwrap(await read([plan, DEVICE, ...many, check(one.id), DONE]));
  expect(cases[0].timesMs).toHaveLength(count);
  expect(cases[0].conditions).toEqual({ minClockMhz: 1400, maxClockMhz: 1400 + count - 1 });
});

it('a whole file keeps compiler messages, values, and the reasons why cases failed or are wrong', async () => {
  const compiled = { registersPerThread: 40, sharedMemoryBytes: 0, spillBytes: 8, residentBlocks: 3 };
  const { cases } = await results(
    PLAN,
    { type: 'compiled', case: 'stream-1', ...compiled },
    { type: 'failed', case: 'stream-4', message: 'out of memory' },
    DEVICE,
    ...samples('stream-1', [1e6, 2e6, 3e6]),
    check('stream-1', false, 'unit 3: got 1, expected 2'),
    check('stream-1'),
    ...samples('stream-2', [1e6, 2e6, 3e6]),
    { type: 'values', case: 'stream-2', values: { bandwidthGbS: 80, perCore: [1, 2] } },
    DONE,
  );
  expect(cases).toMatchObject([
    { case: { id: 'stream-1' }, compiled, correct: false, checkMessage: 'unit 3: got 1, expected 2' },
    { case: { id: 'stream-2' }, values: { bandwidthGbS: 80, perCore: [1, 2] } },
    { case: { id: 'stream-4' }, failure: 'out of memory', timesMs: [] },
  ]);
});

describe('a file of an interrupted measurement', () => {
  it('returns the cases that it has, and says that it was interrupted', async () => {
    const { cases, warnings, done } = await results(...whole().slice(0, 7));
    expect([done, ids(cases)]).toEqual([false, ['stream-1']]);
    expect(warnings).toEqual(['The measurement was interrupted: the file has 1 of 3 cases.']);
  });

  it('leaves out a last line that is cut off', async () => {
    const { cases, warnings } = unwrap(await read([...whole().slice(0, 9), '{"type":"sample","case":"str'], ''));
    expect(ids(cases)).toEqual(['stream-1', 'stream-2']);
    expect(warnings[0]).toBe('Line 10 is cut off and was left out.');
    expect(warnings).toContain('Fewer than 3 repeats: stream-2.');
  });

  it('uses the later of two measurements of a case, and continues in a line that was cut off', async () => {
    const first = [PLAN, DEVICE, ...samples('stream-1', [1e6, 2e6])];
    const cut = `{"type":"sample","case":"stre${JSON.stringify(PLAN)}`;
    const again = [DEVICE, ...samples('stream-1', [4e6, 5e6, 6e6]), check('stream-1')];
    const { cases, warnings } = await results(...first, cut, ...again, DONE);
    expect(cases).toMatchObject([{ timesMs: [4, 5, 6], warmUpMs: [9] }]);
    expect(warnings).toEqual([
      'Line 6 begins with a record that is cut off and was left out.',
      'Repeated cases: stream-1. Only the last measurement of each counts.',
      'The file has 1 of 3 cases.',
    ]);
  });

  it('detects a case measured twice in one session by its repeats', async () => {
    const [first, again] = [samples('stream-1', [1e6, 2e6, 3e6]), samples('stream-1', [7e6, 8e6, 9e6])];
    const { cases, warnings } = await results(PLAN, DEVICE, ...first, ...again, DONE);
    expect(cases[0].timesMs).toEqual([7, 8, 9]);
    expect(warnings[0]).toMatch(/^Repeated cases/);
  });

  it('uses a success after a failure, and says that the device was lost', async () => {
    const failed = { type: 'failed', case: 'stream-1', message: 'late' };
    const lost = { type: 'lost', message: 'fell off the bus' };
    const again = samples('stream-1', [1e6, 2e6, 3e6]);
    const { cases, warnings } = await results(PLAN, DEVICE, failed, lost, DEVICE, ...again, DONE);
    expect(cases[0]).toMatchObject({ failure: null, timesMs: [1, 2, 3] });
    expect(warnings).toContain('The device was lost: fell off the bus.');
  });
});

describe('records that do not belong to the plan', () => {
  it('are left out and reported, if their type or case is unknown', async () => {
    const [weather, unknown] = [{ type: 'weather' }, samples('stream-9', [1])];
    const { cases, warnings } = await results(...whole().slice(0, -1), weather, weather, ...unknown, DONE);
    expect(cases).toHaveLength(3);
    expect(warnings).toEqual([
      'Records of cases that are not in the plan were left out: stream-9.',
      'Records of the type "weather", which this version does not know, were left out. Their number: 2.',
    ]);
  });

  it('are all missing from an empty file', async () =>
    expect(await read([])).toFail(null, 'results.jsonl: the file is empty. It must hold a plan and its results'));

  const ofPlan = (change: object): unknown => ({ ...PLAN, plan: { ...PLAN.plan, ...change } });
  const other = { ...DEVICE, name: 'Other', fingerprint: 'Other, driver 2' };
  it.each(
    Object.entries<readonly unknown[]>({
      '1: the file begins with a record of type "device". It must begin with the plan': [DEVICE],
      '1: the file begins with "[]". It must begin with the plan': ['[]'],
      '1: "hello" is not a JSON object': ['hello'],
      '3: "hello" is not a JSON object': [PLAN, DEVICE, 'hello', DONE],
      '2: a record of type "sample" precedes the device, which must come first': [PLAN, ...samples('stream-1', [1])],
      '5: timeNs: must be a number ≥ 0, not -1': [PLAN, DEVICE, ...samples('stream-1', [1, -1])],
      '19: device "Other, driver 2" follows device "Test GPU, driver 1". A file holds the results of one device and driver':
        [...whole(), other],
      '19: this plan differs from the plan of line 1. A file holds the results of one plan': [
        ...whole(),
        ofPlan({ seed: 8 }),
      ],
      '1: plan.version: must be 1, the only version there is, not 2': [ofPlan({ version: 2 })],
      '1: plan.cases.1.id: two cases have the id "stream-1"': [ofPlan({ cases: [streamOf(1), streamOf(1)] })],
    }),
  )('refuse the file: line %s', async (message, lines) =>
    expect(await read(lines)).toFail(null, `results.jsonl, line ${message}`),
  );
});
