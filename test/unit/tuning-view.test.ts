import { describe, expect, it } from 'vitest';
import type { RunSummary } from '../../src-main/contract/api.ts';
import type { TuningStep } from '../../src-main/contract/measuring.ts';
import { failureReasons, skillText, triedDesigns, tune } from '../../src-main/contract/tuning.ts';
import { consideredAmong } from '../../src-main/services/measuring/tune.ts';
import { runOutcome, savedProgress } from '../../src-renderer/format/runs.ts';
import { randomEquivalent, tuningCurves, tuningSteps, tuningVerdict } from '../../src-renderer/views/measure/tuning.ts';
import { ok, unwrap } from '../../src-workers/domain/result.ts';
import { designOf } from '../measuring.ts';

/** Returns the state of a tuning after the given times. Each run has two designs, and null is a failed design. */
function stepAfter(
  times: readonly (number | null)[],
  expectedRegret = 0.1,
  next: readonly number[] = [8, 9],
): TuningStep {
  const history = times.map((measuredMs, at) => ({
    designIndex: at,
    design: designOf(),
    runId: 5 + Math.floor(at / 2),
    predictedMs: 1,
    measuredMs,
    failure: measuredMs === null ? 'The compiler is missing.' : null,
  }));
  const known = times.filter((time) => time !== null);
  const bestMs = Math.min(...known);
  const best = { designIndex: 0, design: designOf(), measuredMs: bestMs, expectedMs: bestMs, predictedMs: 1 };
  return {
    runId: 1,
    deviceId: 'a',
    considered: 10,
    measured: known.length,
    failed: times.length - known.length,
    best: known.length === 0 ? null : best,
    expectedRegret: known.length === 0 ? null : expectedRegret,
    skill: null,
    history,
    randomMs: known.length === 0 ? [] : [9, 6, 5, 4, 3.5],
    next,
  };
}

describe('plot of a tuning', () => {
  it('draws the best measured time so far, and a failed design as a gap', () => {
    const [found, random, measured] = tuningCurves(stepAfter([8, null, 4, 6]));
    expect(found.points.map(([, ms]) => ms)).toEqual([8, 8, 4, 4]);
    expect(measured.points[1][1]).toBe(Infinity);
    expect(random.points[0]).toEqual([1, 9]);
    // This many random measurements are expected to be as good.
    expect([4, 3].map((best) => randomEquivalent(stepAfter([8, best])))).toEqual([4, null]);
  });

  it('groups measurements by run, and states the gain of each step', () => {
    const steps = tuningSteps(stepAfter([8, null, 4, 6, 5, 7]).history);
    const said = steps.map(({ runId, bestMs, saved }) => `run ${runId}: best ${bestMs}, saved ${saved}`);
    expect(said).toEqual(['run 5: best 8, saved null', 'run 6: best 4, saved 0.5', 'run 7: best 4, saved null']);
    expect(tuningSteps(stepAfter([null, null]).history)[0]).toMatchObject({ stepBest: null, bestMs: Infinity });
  });

  it('describes its state', () => {
    type State = Parameters<typeof tuningVerdict>[1];
    const says = (step: TuningStep, stopped: State['stopped'] = null, running = false) =>
      tuningVerdict(step, { running, stopped }, { budget: 3, within: 0.03 });
    const step = stepAfter([8, 4], 0.125);
    expect(says(step, null, true)).toMatch(
      /with a chance of 90\s% the best design found is at most 12\.5\s% slower than the fastest design of all\. Measuring the next 1 design\.$/,
    );
    expect(says(step, 'budget')).toContain('ended at its limit of 3 designs');
    expect(says(step, 'cancelled')).toContain('The measurements are kept');
    expect(says(stepAfter([null, null, null]), 'all-failed')).toBe(
      'All 3 designs failed: The compiler is missing. Remove the cause, choose another target, or continue with the next designs.',
    );
    expect(says(stepAfter([]))).toBe('');
    const words = /fastest design of all\. The measured order contradicts .* measurements\. Measuring the next/;
    expect(says({ ...step, skill: -0.41 }, null, true)).toMatch(words);
  });
});

it('the note about the prediction is shown if the measured order contradicts it, and not if it agrees or is unknown', () => {
  const says = (skill: number | null): string => skillText({ skill, measured: 16 });
  expect(says(-0.41)).toBe(
    'The measured order contradicts the prediction (rank correlation −0.41 over 16 designs), so designs are chosen by the measurements.',
  );
  expect(says(0.1)).toMatch(/^The measured order does not follow the prediction/);
  expect(says(0.5) + says(null)).toBe('');
});

it('designs that a tuning considers are all designs of a small space, or else a share of the best and an even sample of the rest', () => {
  const list = Uint32Array.from({ length: 1000 }, (_, at) => at + 5);
  expect(consideredAmong(list, 0.5, 1000)).toEqual([...list]);
  const half = consideredAmong(list, 0.5, 100);
  expect(half.slice(0, 50)).toEqual([...list.subarray(0, 50)]);
  expect(new Set(half).size).toBe(100);
  expect(half.at(-1)!).toBeGreaterThan(950);
  expect(consideredAmong(list, -0.4, 100)[1]).toBe(15);
  expect(consideredAmong(list, 1, 100)).toEqual([...list.subarray(0, 100)]);
});

/** Tunes with measurements that add the time of every design and halve the expected regret. */
async function run({ within = 0.001, budget = 40, fails = 0, isSilent = false }) {
  const times: (number | null)[] = [];
  const shown: (readonly number[])[] = [];
  const next = () => (times.length < 6 ? [times.length, times.length + 1] : []);
  const tuned = await tune({
    within,
    next: async () => ok(stepAfter(times, 0.5 ** times.length, next())),
    measure: async (designs) => {
      if (!isSilent) times.push(...designs.map((design) => (design < fails ? null : 10 - design)));
      return ok({ id: 7 });
    },
    left: (step) => budget - triedDesigns(step),
    show: (_, measured) => void (measured && shown.push(measured.designs)),
  });
  return { stopped: unwrap(tuned).stopped, shown };
}
it.each([
  ['the expected regret is small', { within: 0.1 }, 'within', '0,1 2,3'],
  ['the budget is spent', { budget: 3 }, 'budget', '0,1 2'],
  ['nothing is left', {}, 'all-measured', '0,1 2,3 4,5'],
  ['all designs failed', { fails: 2 }, 'all-failed', '0,1'],
  ['nothing is left, although one failed', { fails: 1 }, 'all-measured', '0,1 2,3 4,5'],
  ['a step adds nothing', { isSilent: true }, 'other-device', ''],
])('a tuning ends when %s', async (_, given, stopped, measured) => {
  const found = await run(given);
  expect([found.stopped, found.shown.join(' ')]).toEqual([stopped, measured]);
});

it('a tuning states each reason of a failure once', () => {
  expect(failureReasons(stepAfter([null, 4, null]))).toEqual(['The compiler is missing.']);
  expect(failureReasons(stepAfter([4]))).toEqual([]);
});

it('the mark of a run shows a failure if a complete measurement has no time, and its progress what it has saved', () => {
  const run = { kind: 'bench', state: 'complete', bestTimeMs: null, valid: 0, invalid: 2, enumerated: 9 } as const;
  const saved = (change: object) => savedProgress({ ...run, state: 'running', ...change } as unknown as RunSummary);
  expect(saved({ valid: 3 })).toMatchObject({ stage: 'measuring', done: 5, total: 9 });
  expect([saved({ invalid: 0 }), saved(run)]).toEqual([null, null]);
  expect(runOutcome(run)).toEqual({ mark: 'failed', text: 'complete, nothing measured' });
  const marks = [{ bestTimeMs: 2 }, { state: 'running' }, { kind: 'sweep' }] as const;
  expect(marks.map((change) => runOutcome({ ...run, ...change }).mark)).toEqual(['complete', 'running', 'complete']);
});
