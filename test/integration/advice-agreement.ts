import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Recommendation } from '../../src-main/contract/advice.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { parseStudy } from '../../src-main/contract/parse.ts';
import type { OpenEngine as Engine } from '../../src-main/services/engine.ts';
import { tieTableOf } from '../../src-main/services/evidence/tie-band.ts';
import { studyAxes, sweepPlan } from '../../src-main/services/studies/plan.ts';
import { atMiddle } from '../../src-workers/advise/assumed.ts';
import { planLengths, resolveLengths } from '../../src-main/services/studies/workloads.ts';
import { changedPlan, type InputChange } from '../../src-workers/advise/change.ts';
import { pickDesign } from '../../src-workers/advise/pick.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { mersenneTwister } from '../../src-workers/numeric/random.ts';
import { predictChunk } from '../../src-workers/predict/ranges.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { spaceSize } from '../../src-workers/domain/space.ts';
import { AGREEMENT_FRACTION, tieFraction } from '../../src-workers/sweep/ties.ts';
import { call, ended } from '../unit/engine-calls.ts';
import { testEngine, testFolder } from '../workplace.ts';
import { exampleStudy } from '../catalogue.ts';

// The quick tests of small examples and the slow tests of the other examples share these checks.

const root = join(import.meta.dirname, '..', '..');
export const examples = join(root, 'db', 'examples');

export let folder: string;
export let engine: Engine;
export function useEngine(): void {
  folder = testFolder();
  beforeAll(async () => void (engine = await testEngine(join(folder, 'advice.sqlite'), { workers: 2 })));
  afterAll(() => engine.close());
}

export const example = (name: string): StudyFile => exampleStudy(name);

/** Returns the study with fewer units, designs and devices, but every kind of loop, balancing, launch and cap. */
export function small(study: StudyFile, mostUnits = 2 ** 17): StudyFile {
  const { axes, workload } = study;
  const kinds = new Map(axes.balancing?.map((balancing) => [balancing.replace(/\(.*/, ''), balancing]));
  const some = <T>(values: T): T =>
    Array.isArray(values) && values.length > 3 ? ([values[0], values[2], values.at(-1)] as T) : values;
  return {
    ...study,
    devices: study.devices.slice(0, 2),
    workload: { ...workload, units: Math.min(workload.units, mostUnits) },
    axes: {
      ...axes,
      ...(axes.balancing && { balancing: [...kinds.values()] }),
      ...(axes.threadsPerUnit && { threadsPerUnit: some(axes.threadsPerUnit) }),
      blockThreads: Array.isArray(axes.blockThreads) ? some(axes.blockThreads) : [64, 256, 1024],
      ...(axes.unitsPerThread && { unitsPerThread: some(axes.unitsPerThread) }),
      ...(axes.blocksPerMultiprocessor && { blocksPerMultiprocessor: [1, 4, 16] }),
      ...(axes.gridBlocks && { gridBlocks: [132, 1056] }),
      ...(axes.cores && { cores: [1, 2, 4, 8, 16] }),
      ...(axes.registerCap && { registerCap: [null, 56] }),
    },
  };
}

export const recommend = (study: StudyFile, more: object = {}): Promise<Recommendation> =>
  call(engine, 'advice.recommend', { study, folder: examples, ...more });

/** Leaves out the parts of an answer that depend on other designs than the fastest. */
const answerOf = ({ ties, landscape: { rows, columns, picked }, elapsedMs: _, ...rest }: Recommendation) => {
  const { rule, band } = ties;
  return { ...rest, rule, band, rows, columns, picked };
};

/** Expects the same answer from the designs that can be the fastest as from all designs, and returns it. */
export async function agreesWithAll(study: StudyFile): Promise<Recommendation> {
  const quick = await recommend(study, { look: 'fastest' });
  const advice = await recommend(study);
  expect(answerOf(quick)).toEqual(answerOf(advice));
  expect(quick.ties.atLeast).toBeLessThanOrEqual(advice.ties.count!);
  return advice;
}

const edits: readonly ((study: StudyFile, random: number) => StudyFile)[] = [
  ...(
    [
      ['serialFraction', 0.5, false],
      ['cooperationCost', 0.2, false],
      ['registersPerThread', 120, true],
      ['instructionsPerIteration', 200, true],
      ['dependentLoadsPerIteration', 3, false],
      ['bytesPerIteration', 32, false],
      ['flattenedCost', 0.5, false],
      ['bytesPerUnit', 200, false],
    ] as const
  ).map(([field, most, whole]) => (study: StudyFile, random: number): StudyFile => ({
    ...study,
    kernel: { ...study.kernel, [field]: whole ? 1 + Math.floor(random * most) : random * most },
  })),
  (study, random) => ({ ...study, kernel: { ...study.kernel, unit: { instructions: 100 * random } } }),
  ({ workload, ...study }, random) => ({
    ...study,
    workload: { ...workload, units: Math.ceil(workload.units * (0.25 + random)) },
  }),
];

/**
 * Expects that the recommendation for a reduced example equals that of the full ranking. Ten fields are changed one
 * after another.
 * @param together number of fields that change between two comparisons
 * @param mostUnits largest number of units. A matrix is simulated unit by unit, which is faster with fewer units; they
 * still fill several waves.
 */
export async function agreesWithRanking(name: string, together = 1, mostUnits?: number): Promise<void> {
  const uniform = mersenneTwister(11);
  let study = small(example(name), mostUnits);
  for (let at = 0; at <= edits.length; at += together) {
    for (const edit of edits.slice(Math.max(0, at - together), at)) study = edit(study, uniform());
    const advice = await agreesWithAll(study);
    const { id: runId } = await ended(engine, 'runs.start', { study, folder: examples });
    const { deviceId } = (await call(engine, 'ranking.page', { runId, limit: 1 })).rows[0];
    const { rows, ties } = await call(engine, 'ranking.page', { runId, filter: { deviceId }, limit: 1000 });
    const equal = rows.filter(({ timeMs }) => timeMs <= rows[0].timeMs * (1 + AGREEMENT_FRACTION));
    // The rule of the pick has its own test, property/advice.test.ts.
    const of = new Map(equal.map((row) => [row.designIndex, row]));
    const figures = { timeMs: (at: number) => of.get(at)!.timeMs, gridBlocks: (at: number) => of.get(at)!.design.gridBlocks }; // prettier-ignore
    const { axes } = unwrap(await engine.context.views.open(runId)).ranking;
    const { designIndex, design, rank, timeMs } = of.get(pickDesign(axes, figures, [...of.keys()])!)!;
    const tied = rows.filter((row) => row.tied).map((row) => row.designIndex);
    expect(advice).toMatchObject({
      device: { id: deviceId },
      predicted: advice.of,
      designIndex,
      time: { ms: timeMs },
      ties: { count: ties, designs: tied.slice(0, 20) },
    });
    expect([advice.row.design, advice.row.rank]).toEqual([design, rank]);
    expect(advice.time.lowMs).toBeLessThanOrEqual(advice.time.ms);
    expect(advice.time.highMs).toBeGreaterThanOrEqual(advice.time.ms);
    if (!advice.baseline) continue;
    const sum = advice.causes.reduce((total, cause) => total + cause.ms, 0);
    expect(Math.abs(sum - (advice.time.ms - advice.baseline.ms))).toBeLessThan(1e-9 * advice.baseline.ms);
    const plain = await call(engine, 'ranking.plain', { runId, deviceId });
    expect(advice.baseline.designIndex).toBe(plain.designIndex);
  }
}

async function sweepOf(study: StudyFile, deviceId: string) {
  const devices = await call(engine, 'devices.get', { ids: [deviceId] });
  const parsed = atMiddle(unwrap(parseStudy(JSON.stringify(study))), devices);
  const axes = unwrap(studyAxes(parsed, devices));
  const { law, order } = unwrap(await resolveLengths(engine.context, parsed.workload.lengths, examples));
  const plan = sweepPlan('all', parsed, axes, law, planLengths(parsed, axes, law, order));
  const ties = tieTableOf(axes);
  const known = new Map<string, ReturnType<typeof predicted>>();
  const predicted = (change: InputChange) => {
    const { timeMs, gridBlocks } = predictChunk(createPredictor(changedPlan(plan, change)), 0, spaceSize(axes));
    const best = timeMs.reduce((least, time) => (time < least ? time : least), Infinity);
    const fastest = timeMs.indexOf(best);
    const within = (fraction: (design: number) => number) =>
      Array.from(timeMs.keys()).filter((design) => timeMs[design] <= best * (1 + fraction(design)));
    const equal = within(() => AGREEMENT_FRACTION);
    const tied = within((design) => tieFraction(ties, fastest, design));
    const figures = { timeMs: (at: number) => timeMs[at], gridBlocks: (at: number) => gridBlocks[at] };
    return { best, tied: new Set(tied), picked: pickDesign(axes, figures, equal)!, timeMs };
  };
  return (change: InputChange) => {
    const key = `${change.input} ${change.value}`;
    const found = known.get(key) ?? predicted(change);
    known.set(key, found);
    return found;
  };
}

/** Expects that the sensitivity of an example agrees with a sweep at each value and at the ends of its ranges. */
export async function agreesWithSweep(name: string, deviceId: string): Promise<void> {
  const one: StudyFile = { ...small(example(name), 2 ** 14), devices: [deviceId] };
  const found = await call(engine, 'advice.sensitivity', { study: one, folder: examples });
  const sweepAt = await sweepOf(one, one.devices[0]);
  let ends = 0;
  for (const { input, values, bestMs, recommendedMs, designs, holds, below, above } of found.inputs) {
    const at = (value: number) => sweepAt({ input: input.field as InputChange['input'], value });
    for (const i of [0, values.length - 1]) {
      const { best, timeMs, picked } = at(values[i]);
      expect(bestMs[i], input.field).toBe(best);
      expect(recommendedMs[i], input.field).toBe(timeMs[found.designIndex]);
      expect(designs[i], input.field).toBe(picked);
    }
    const sides = [{ end: holds[0], beyond: below }, { end: holds[1], beyond: above }]; // prettier-ignore
    for (const { end, beyond } of sides) {
      expect(beyond === null, input.field).toBe(end === null);
      if (end === null || !beyond) continue;
      ends += 1;
      expect(at(end).tied.has(found.designIndex), `${input.field} at ${end}`).toBe(true);
      const outside = at(beyond.at);
      expect(outside.tied.has(found.designIndex), `${input.field} at ${beyond.at}`).toBe(false);
      expect(outside.picked, input.field).toBe(beyond.designIndex);
      expect(Math.abs(end / beyond.at - 1), input.field).toBeLessThan(0.05);
    }
  }
  expect(ends).toBeGreaterThan(2);
  const decides = found.inputs.map(({ sentence }) => sentence !== '');
  expect(decides.lastIndexOf(true)).toBe(decides.filter(Boolean).length - 1);
}
