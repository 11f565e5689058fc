import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pickDesign, simplerFirst } from '../../src-workers/advise/pick.ts';
import { leastRegret } from '../../src-workers/advise/robust.ts';
import { findSharedDesigns } from '../../src-workers/advise/shared-designs.ts';
import { stretchedLaw, stretchedOrder } from '../../src-workers/advise/change.ts';
import { axisCounts, decodeInto, type SpaceAxes } from '../../src-workers/domain/space.ts';
import type { Device } from '../../src-workers/domain/device.ts';
import { moments } from '../../src-workers/models/workload/laws.ts';
import { forAll, real, whole } from '../for-all.ts';

const axes: SpaceAxes = {
  devices: [{ kind: 'gpu' } as Device],
  threadsPerUnit: [1, 2, 4],
  loop: ['nested', 'flattened'],
  balancing: ['full-sort', 'none', 'dynamic-fetch'],
  launch: [1, 2, 3].map((value) => ({ kind: 'grid', value })),
  registerCap: [64, null, 48],
  blockThreads: [832, 1024, 96, 128, 256],
};
const cores: SpaceAxes = { ...axes, devices: [{ kind: 'cpu' } as Device] };
const counts = axisCounts(axes);
const AXES = counts.length;
const size = counts.reduce((product, count) => product * count, 1);

/** Computes the sort key for the simpler design, which has the smaller value where two keys first differ. */
function order(of: SpaceAxes, design: number, blocks: number, timeMs: number): number[] {
  const [, , , unit, loop, balancing, , cap, threads] = positionsOf(design);
  const work = [[1, 0, 2][cap], [2, 0, 1][balancing], loop, axes.threadsPerUnit[unit]];
  return [...work, [2, 1, 3, 0, 0][threads], ...(of === cores ? [blocks] : []), timeMs];
}
function positionsOf(design: number): number[] {
  const positions = new Int32Array(counts.length);
  decodeInto(positions, counts, design);
  return [...positions];
}
const precedes = (a: number[], b: number[]): boolean => {
  for (const [at, value] of a.entries()) if (value !== b[at]) return value < b[at];
  return false;
};

it.each([
  ['a GPU', axes],
  ['a CPU', cores],
])('the pick of %s is one of the tied designs, and no tied design comes before it by the rule', (_, space) => {
  // The designs of the first launches, caps and blocks have all other values in common, so that blocks decide.
  const alike = axes.launch.length * axes.registerCap.length * axes.blockThreads.length;
  const entry = fc.record({
    design: fc.oneof(fc.nat(alike - 1), fc.nat(size - 1)),
    blocks: whole(1, 4),
    timeMs: whole(100, 101),
  });
  forAll(fc.uniqueArray(entry, { selector: ({ design }) => design, minLength: 1, maxLength: 40 }), (tied) => {
    const of = new Map(tied.map((one) => [one.design, one]));
    const figures = {
      timeMs: (design: number) => of.get(design)!.timeMs,
      gridBlocks: (design: number) => of.get(design)!.blocks,
    };
    const designs = tied.map(({ design }) => design);
    const picked = of.get(pickDesign(space, figures, designs)!)!;
    const place = order(space, picked.design, picked.blocks, picked.timeMs);
    for (const { design, blocks, timeMs } of tied)
      expect(precedes(order(space, design, blocks, timeMs), place)).toBe(false);
    const compare = simplerFirst(space, figures);
    for (const { design } of tied) if (design !== picked.design) expect(compare(picked.design, design)).toBeLessThan(0);
  });
});

it('there is no pick for an empty list of designs', () =>
  expect(pickDesign(axes, { timeMs: () => 1, gridBlocks: () => 1 }, [])).toBeUndefined());

it('the designs that two spaces share have the same values, and are all designs of the later space but the added ones', () => {
  const part = <T>(values: readonly T[]) => fc.shuffledSubarray([...values], { minLength: 1 });
  const space = fc.record({
    devices: fc.constant(axes.devices),
    threadsPerUnit: part(axes.threadsPerUnit),
    loop: part(axes.loop),
    balancing: part(axes.balancing),
    launch: part(axes.launch),
    registerCap: part(axes.registerCap),
    blockThreads: part(axes.blockThreads),
  });

  const valuesOf = (of: SpaceAxes): readonly string[] => {
    const { threadsPerUnit, loop, balancing, launch, registerCap, blockThreads } = of;
    const every = [threadsPerUnit, loop, balancing, launch, registerCap, blockThreads];
    return every.reduce<readonly string[]>(
      (texts, values) => texts.flatMap((text) => values.map((value) => `${text} ${JSON.stringify(value)}`)),
      [''],
    );
  };
  forAll(space, space, (earlier, later) => {
    const [before, after] = [valuesOf(earlier), valuesOf(later)];
    const { renumber, shared, listAdded } = findSharedDesigns(earlier, later);
    const wanted = before.map((text) => (after.includes(text) ? after.indexOf(text) : null));
    expect(before.map((_, design) => renumber(design))).toEqual(wanted);
    expect([...listAdded()]).toEqual([...after.keys()].filter((design) => !before.includes(after[design])));
    expect(shared).toBe(after.length - listAdded().length);
  });
});

describe('a stretched law', () => {
  const law = fc.uniqueArray(whole(1, 500), { minLength: 2, maxLength: 20 }).chain((lengths) =>
    fc.array(whole(1, 50), { minLength: lengths.length, maxLength: lengths.length }).map((weights) => {
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      return {
        label: 'law',
        support: Float64Array.from(lengths).sort(),
        probability: Float64Array.from(weights, (weight) => weight / total),
        truncatedMass: 0,
      };
    }),
  );

  it('keeps the mean, whole lengths and the total probability', () =>
    forAll(law, real(0.25, 3), (one, factor) => {
      const { mean } = moments(one);
      const out = stretchedLaw(one, factor, mean);
      expect(moments(out).mean).toBeNear(mean, 1e-9);
      expect(Math.abs(out.probability.reduce((sum, mass) => sum + mass, 0) - 1)).toBeLessThan(1e-9);
      for (const [at, length] of out.support.entries()) {
        expect(Number.isInteger(length) && length >= 0).toBe(true);
        if (at > 0) expect(length).toBeGreaterThan(out.support[at - 1]);
      }
    }));

  it('has the requested spread if no length would become negative', () => {
    forAll(law, (one) => {
      const before = moments(one);
      const factor = 0.5;
      const after = moments(stretchedLaw(one, factor, before.mean));
      // A length between two whole numbers is split between them, which adds at most 1/4 to the variance.
      const variance = (factor * before.standardDeviation) ** 2;
      expect(after.standardDeviation ** 2).toBeWithin(variance - 1e-6, variance + 0.25 + 1e-6);
    });
  });
});

it('a stretched order has whole lengths next to those of its law, and keeps their sum', () => {
  const lengths = fc.array(whole(0, 500), { minLength: 1, maxLength: 300 });
  forAll(lengths, real(0.25, 3), (given, factor) => {
    const before = Float64Array.from(given);
    const sum = before.reduce((total, length) => total + length, 0);
    const mean = sum / before.length;
    const after = stretchedOrder(before, factor);
    const moved = before.map((length) => Math.max(0, mean + (length - mean) * factor));
    const movedSum = moved.reduce((total, length) => total + length, 0);
    after.forEach((length, at) => {
      expect(Number.isInteger(length) && length >= 0).toBe(true);
      const exact = movedSum > 0 ? (moved[at] * sum) / movedSum : 0;
      expect(Math.abs(length - exact)).toBeLessThan(1 + 1e-9);
      if (exact === 0) expect(length).toBe(0);
    });
    expect(Math.abs(after.reduce((total, length) => total + length, 0) - sum)).toBeLessThan(0.5 + 1e-6);
  });
});

const space = (blockThreads: readonly number[], threadsPerUnit: readonly number[]): SpaceAxes => {
  return { ...axes, threadsPerUnit, blockThreads, loop: ['nested'], balancing: ['none'], registerCap: [null] };
};
const spaces = [space([64, 128, 256], [1, 2, 4]), space([128, 64, 512], [2, 1, 8])];
const sizes = spaces.map((one) => axisCounts(one).reduce((product, count) => product * count, 1));
const time = fc.oneof({ weight: 6, arbitrary: whole(10, 40) }, { weight: 1, arbitrary: fc.constant(NaN) });
const times = fc.tuple(...sizes.map((size) => fc.array(time, { minLength: size, maxLength: size })));

it('the least regret equals the result of comparing all designs one by one, matched by the values of their axes', () =>
  forAll(times, (given) => {
    const scenarios = spaces.map((one, i) => ({ axes: one, timeMs: Float64Array.from(given[i]) }));
    const named = scenarios.map(({ axes: own, timeMs }) => {
      const of = new Map<string, number>();
      const positions = new Int32Array(AXES);
      for (let design = 0; design < timeMs.length; design += 1) {
        decodeInto(positions, axisCounts(own), design);
        const [, , , unit, , , launch, , block] = positions;
        if (!Number.isNaN(timeMs[design]))
          of.set(`${own.threadsPerUnit[unit]} ${own.launch[launch].value} ${own.blockThreads[block]}`, timeMs[design]);
      }
      return of;
    });
    const best = named.map((of) => Math.min(...of.values()));
    const worst = [...named[0].keys()]
      .filter((name) => named[1].has(name))
      .map((name) => Math.max(...named.map((of, i) => of.get(name)! / best[i] - 1)))
      .sort((a, b) => a - b);
    const found = leastRegret(scenarios, 5);
    expect(found.common).toBe(worst.length);
    expect(found.designs.map((design) => design.worst)).toEqual(worst.slice(0, 5));
    for (const { designs, regret } of found.designs)
      expect(regret).toEqual(designs.map((design, i) => scenarios[i].timeMs[design] / best[i] - 1));
    found.ownBest.forEach((own, i) => {
      const [name] = [...named[i]].find(([, timeMs]) => timeMs === best[i])!;
      if (!named.every((of) => of.has(name))) expect(own).toBeNaN();
      else expect(own).toBe(Math.max(...named.map((of, j) => of.get(name)! / best[j] - 1)));
    });
  }));
