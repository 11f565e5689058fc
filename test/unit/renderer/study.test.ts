import { describe, expect, it } from 'vitest';
import type { Study } from '../../../src-main/contract/study.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { geometricLaw, moments, uniformLaw, zipfLaw } from '../../../src-workers/models/workload/laws.ts';
import { term, VOCABULARIES, type Term } from '../../../src-workers/domain/terms.ts';
import {
  DISTRIBUTIONS,
  readDistribution,
  supportText,
  writeDistribution,
} from '../../../src-renderer/views/study/distributions.ts';
import { listedDevices, withListed } from '../../../src-renderer/views/study/device-list.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import { pmfBins } from '../../../src-renderer/views/study/pmf-chart.ts';
import { NBSP } from '../../../src-renderer/format/numbers.ts';
import { laneWords, sharingCause, sharingCostText } from '../../../src-renderer/views/study/sharing-text.ts';
import { niceStep, stepDecimals } from '../../../src-workers/numeric/ticks.ts';

it('distributions of the editor start with parameters that their law accepts', () => {
  for (const distribution of DISTRIBUTIONS) {
    const values = distribution.parameters.map(({ start }) => start);
    expect(distribution.law(values), distribution.id).toMatchObject({ ok: true });
    for (const { min, max, start } of distribution.parameters) expect(start >= min && start <= max).toBe(true);
  }
});

it('distributions of the editor accept every value that their sliders can reach', () => {
  for (const distribution of DISTRIBUTIONS)
    distribution.parameters.forEach((parameter, i) => {
      for (const end of [parameter.min, parameter.max]) {
        const values = distribution.parameters.map(({ start, min, max }, j) =>
          // The ends of a uniform law must be in order, whatever the other slider's value is.
          i === j ? end : distribution.id === 'uniform' ? (j === 0 ? min : max) : start,
        );
        expect(distribution.law(values), `${distribution.id}(${values.join(',')})`).toMatchObject({ ok: true });
      }
    });
});

it('distributions of the editor are read back as they were written, and do not change other workloads', () => {
  expect(writeDistribution(readDistribution('negative-binomial( 5 , 0.3 )')!)).toBe('negative-binomial(5,0.3)');
  expect(readDistribution('example:collatz')).toBeNull();
  expect(readDistribution('geometric(0.1,0.2)')).toBeNull();
  expect(readDistribution('mixture(0.5*constant(1),0.5*constant(2))')).toBeNull();
});

it('the lengths of a law are counted as distinct lengths, and only a part that was left out is mentioned', () => {
  const law = (support: readonly number[], truncatedMass = 0) => {
    return { support: Float64Array.from(support), truncatedMass };
  };
  expect(supportText(law([32]))).toBe('1 distinct length');
  expect(supportText(law([1, 2, 5]))).toBe('3 distinct lengths');
  expect(supportText(law([1, 2], 1e-6))).toBe('2 distinct lengths; 1.0e−6 of the units are longer and left out');
});

describe('the list of devices', () => {
  const LISTED = ['v100', 'a100', 'h100'];
  it('keeps the row of an unticked device, and inserts new devices after their predecessor', () => {
    expect(listedDevices(LISTED, ['v100', 'h100'])).toEqual(LISTED);
    expect(listedDevices(LISTED, ['v100', 'mi300', 'h100'])).toEqual(['v100', 'mi300', 'a100', 'h100']);
    expect(listedDevices([], ['h100', 'v100'])).toEqual(['h100', 'v100']);
    expect(listedDevices(['a100'], ['v100'])).toEqual(['v100', 'a100']);
  });
  it('ticks a device in its row again, which restores the same study', () => {
    for (const id of LISTED) {
      const others = LISTED.filter((other) => other !== id);
      expect(withListed(others, id, LISTED)).toEqual(LISTED);
    }
    expect(withListed(LISTED, 'mi300', LISTED)).toEqual([...LISTED, 'mi300']);
  });
});

describe('bars of the lengths', () => {
  const sum = (values: Float64Array) => values.reduce((a, b) => a + b, 0);

  it('contain all of the probability: what the bars omit is stated', () => {
    for (const made of [geometricLaw(0.05), uniformLaw(0, 3), zipfLaw(1.5, 10_000), geometricLaw(0.002)]) {
      const law = unwrap(made);
      const bins = pmfBins({ law, mean: moments(law).mean, depths: [], widthPx: 600 });
      expect(sum(bins.probability) + bins.beyond).toBeCloseTo(1, 9);
      expect(bins.beyond).toBeLessThan(1e-3);
      // A bar is at least 2 px wide.
      expect(bins.probability.length).toBeLessThanOrEqual(300);
    }
  });

  it('have a logarithmic axis if the longest unit exceeds 30 means, so that the tail is more than one bar', () => {
    const binsOf = (law: LengthLaw) => pmfBins({ law, mean: moments(law).mean, depths: [], widthPx: 600 });
    expect(binsOf(unwrap(geometricLaw(0.05))).log).toBe(false);
    const { log, edges, probability, to, beyond } = binsOf(unwrap(zipfLaw(1.5, 100_000)));
    expect({ log, to, beyond, from: edges[0] }).toEqual({ log: true, to: 100_000, beyond: 0, from: 0.5 });
    // Each short length has its own bar, and no bar has a larger probability than the likeliest length.
    expect([...edges.slice(0, 4)]).toEqual([0.5, 1.5, 2.5, 3.5]);
    expect(Math.max(...probability)).toBe(probability[0]);
    expect(probability.filter((p) => p > 0.001).length).toBeGreaterThan(30);
    // Units without an iteration have their own bar at the low end.
    const zeros = { support: Float64Array.of(0, 1, 1000), probability: Float64Array.of(0.5, 0.495, 0.005) };
    const few = binsOf({ ...zeros, label: '', truncatedMass: 0 });
    expect([few.log, few.edges[0], few.probability[0]]).toEqual([true, -0.5, 0.5]);
  });

  it('extend as far as the marks', () => {
    const bins = pmfBins({
      law: unwrap(geometricLaw(0.05)),
      mean: 20,
      depths: [{ at: 200, label: 'depth' }],
      widthPx: 600,
    });
    expect(bins.to).toBeGreaterThanOrEqual(200);
  });
});

it('axis steps are round, and all labels of an axis have the necessary decimals', () => {
  expect(niceStep(0.082, 5)).toBe(0.02);
  expect(niceStep(1, 4)).toBe(0.25);
  expect(niceStep(300, 4)).toBe(100);
  expect([0.02, 0.25, 1, 50, 0.004].map(stepDecimals)).toEqual([2, 2, 0, 0, 3]);
});

it('vocabularies have a word for every term', () => {
  for (const { id } of VOCABULARIES) expect(term('threadGroup', id, 'many')).not.toBe('');
  expect(term('threadGroup', 'cuda')).toBe('warp');
  expect(term('block', 'opencl', 'many')).toBe('work-groups');
  // In a vocabulary that calls a block a work-group, the group in lockstep must have another name.
  for (const { id } of VOCABULARIES)
    expect(term('workGroup', id).replace(/[ -]/, '')).not.toBe(term('block', id).replace(/[ -]/, ''));
});

it('the cost of sharing a unit is described by its cause, and not at all if it costs nothing', () => {
  const kernel = (serialFraction: number, cooperationCost: number, more: Partial<Study['kernel']> = {}) =>
    ({ serialFraction, cooperationCost, ...more }) as Study['kernel'];

  expect(sharingCostText(0.4, kernel(0.05, 0))).toBe(`costs 40${NBSP}% in serial work`);
  expect(sharingCostText(0.4, kernel(0, 0.1))).toBe(`costs 40${NBSP}% in cooperation`);
  expect(sharingCostText(0.4, kernel(0.05, 0.1))).toBe(`costs 40${NBSP}% in serial work and cooperation`);
  expect(sharingCostText(0, kernel(0, 0))).toBe('costs nothing');
  const unit = { instructions: 18 };
  expect(sharingCause(kernel(0.05, 0, { unit }))).toBe('serial work and set-up');
  expect(sharingCause(kernel(0.05, 0.1, { unit, sharing: 'deal' }))).toBe('idle lanes, set-up and combining');
});

it('the lane costs beside the recommendation name the cheapest number of threads, and why another design is recommended', () => {
  const rows = [
    { threadsPerUnit: 1, unitsPerGroup: 32, laneCost: 2 },
    { threadsPerUnit: 2, unitsPerGroup: 16, laneCost: 2.1 },
    { threadsPerUnit: 8, unitsPerGroup: 4, laneCost: 2.5 },
  ];
  const say: Term = (id, form) => term(id, 'cuda', form);

  expect(laneWords(rows, 8, say)).toMatchObject({
    best: '1 thread × 32 units',
    next: `2 threads +5.0${NBSP}%`,
    recommended: `Recommended for the whole launch: 8 threads, +25.0${NBSP}%.`,
    why: expect.stringContaining('memory, on resident blocks'),
  });
  expect(laneWords(rows, 256, say)!.recommended).toBe('Recommended for the whole launch: 256 threads.');
  expect(laneWords(rows, 1, say)!.recommended).toBe('The recommendation is the same.');
  expect(laneWords(rows, null, say)!.recommended).toBe('');
  expect(laneWords([], 8, say)).toBeNull();
});
