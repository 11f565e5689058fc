import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseStudy } from '../../src-main/contract/parse.ts';
import type { Study, StudyFile } from '../../src-main/contract/study.ts';
import { atMiddle, unknownOf, withLaws } from '../../src-workers/advise/assumed.ts';
import { ASSUMED_LAWS } from '../../src-workers/domain/assumed-laws.ts';
import { listInputs } from '../../src-main/services/studies/inputs.ts';
import { predictionInputs, studyAxes } from '../../src-main/services/studies/plan.ts';
import { locatedStudy } from '../../src-main/services/studies/studies.ts';
import { designsToMeasure, notToldApart, withErrors } from '../../src-workers/advise/separation.ts';
import { computeRegrets, gainOfKnowing } from '../../src-workers/advise/uncertainty.ts';
import { drawnKernel, drawnPlan, makeDraws, unknownPaths } from '../../src-workers/advise/unknown.ts';
import type { GpuDevice } from '../../src-workers/domain/device.ts';
import type { KernelProfile } from '../../src-workers/domain/kernel.ts';
import { KERNEL_DEFAULTS, KERNEL_FIELDS, KERNEL_INPUTS, inputFacts } from '../../src-workers/domain/provenance.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { sortedQuantile } from '../../src-workers/numeric/statistics.ts';
import { makeGivenLengths } from '../../src-workers/predict/ordered.ts';
import type { SweepPlan } from '../../src-workers/predict/plan.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { predictChunk } from '../../src-workers/predict/ranges.ts';
import { launchPlan, readRows, type Row } from '../bench/loop-launches.ts';
import { cpu, gpu } from '../catalogue.ts';
import { NOTHING_ELSE, smallStudy } from './export-runs.ts';

const a100 = gpu('nvidia-a100-sxm4-40gb');
const little = { name: 'k', registersPerThread: 40, instructionsPerIteration: 60 };
const read = (kernel: StudyFile['kernel'], more: Partial<StudyFile> = {}): Study =>
  unwrap(parseStudy(JSON.stringify(smallStudy({ kernel, ...more }))));
const middle = (field: string): number => sortedQuantile(ASSUMED_LAWS[`kernel.${field}`].quantiles, 0.5);

it('the range of an assumed input is that of its law, around the value of the study, and its source is named', () => {
  const filled = atMiddle(read({ ...little, origins: { registersPerThread: 'assumed' } }), [a100]);
  const facts = withLaws(inputFacts(predictionInputs(filled, unwrap(studyAxes(filled, [a100]))), a100), filled, a100);
  const rangeOf = (field: string) => facts.find((fact) => fact.field === field)!.usual;
  const { quantiles } = ASSUMED_LAWS['kernel.prologue'];
  expect(rangeOf('kernel.prologue')).toEqual([quantiles[0], quantiles.at(-1)]);
  // The study states 40 registers, and the law has 36 in the middle.
  const wanted = [20, 128].map((end) => Math.round(40 * Math.sqrt(end / middle('registersPerThread'))));
  expect(rangeOf('kernel.registersPerThread')).toEqual(wanted);
  const chain = ASSUMED_LAWS['kernel.chainInstructions'].quantiles;
  const expected = [chain[0], chain.at(-1)!].map((part) => Number((60 * part).toPrecision(3)));
  expect(rangeOf('kernel.chainInstructions')).toEqual(expected);
  expect(rangeOf('device.clockMhz')).toBeNull();
  expect(Object.fromEntries(facts.map(({ field, note }) => [field, note]))).toMatchObject({
    'kernel.prologue': ASSUMED_LAWS['kernel.prologue'].source,
    'kernel.kneeSoftness': KERNEL_INPUTS.kneeSoftness.source,
    'kernel.instructionsPerIteration': '',
  });
  // Without an open study, the ranges are the same.
  for (const [field, { assumed, source }] of Object.entries(KERNEL_INPUTS)) {
    const law = ASSUMED_LAWS[`kernel.${field}`];
    expect(law?.source ?? source, field).toMatch(/chosen|fitted|loops/);
    if (law && field !== 'chainInstructions') expect(assumed, field).toBe(middle(field));
  }
});

it('the source of an input that no field states is also the study, if the study gives its law', () => {
  const unmeasured = { ...a100, achievedBandwidthFraction: undefined };
  const assumed = { 'device.achievedBandwidthFraction': [0.7, 0.8] };
  const own = read({ ...little, bytesPerIteration: 8 }, { assumed });
  const facts = listInputs(own, unwrap(studyAxes(own, [unmeasured])), unmeasured);
  const bandwidth = facts.find(({ field }) => field === 'device.achievedBandwidthFraction');
  expect(bandwidth).toMatchObject({ usual: [0.7, 0.8], note: 'the study' });
});

describe('a study with the middle of each assumed input', () => {
  it('has the middles of the laws, marked as assumed, and the given values', () => {
    const { kernel } = atMiddle(read(little), [a100]);
    expect(kernel).toMatchObject({
      registersPerThread: 40,
      instructionsPerIteration: 60,
      sharing: 'deal',
      dependentLoadsPerIteration: middle('dependentLoadsPerIteration'),
      bytesPerIteration: middle('bytesPerIteration'),
      unit: { instructions: middle('unit') },
      chainInstructions: 60 * middle('chainInstructions'),
    });
    for (const field of ['sharing', 'bytesPerIteration', 'unit', 'prologue', 'chainInstructions'] as const)
      expect(kernel.origins?.[field], field).toBe('assumed');
    const own = read(little, { assumed: { 'kernel.unit': [5, 7] } });
    expect(atMiddle(own, [a100]).kernel.unit?.instructions).toBe(6);
  });

  it('has the same assumed inputs as before, with the same draws', () => {
    for (const kernel of [little, { ...little, sharing: 'deal' as const, unit: { instructions: 10 } }]) {
      const study = read(kernel);
      const filled = atMiddle(study, [a100]);
      expect(atMiddle(filled, [a100])).toEqual(filled);
      const [before, after] = [unknownOf(study, a100), unknownOf(filled, a100)];
      expect(unknownPaths(after)).toEqual(unknownPaths(before));
      const planOf = (one: Study) =>
        ({ id: '', kernel: one.kernel, axes: { devices: [a100] } }) as unknown as SweepPlan;
      for (const draw of makeDraws(before, 4)) {
        const drawn = (one: Study, unknown: typeof before) => {
          const { origins: _origins, ...kernel } = drawnPlan(planOf(one), unknown, draw, '').kernel as Study['kernel'];
          return kernel;
        };
        expect(drawn(filled, after)).toEqual(drawn(study, before));
      }
    }
  });

  it('is the study itself if all is given, on a CPU, and with measured cycles', () => {
    const origins = { ...NOTHING_ELSE, search: 'given', carry: 'given' } as const;
    const known = read({ ...little, serialFraction: 0.1, origins });
    expect(atMiddle(known, [a100]).kernel).toBe(known.kernel);
    const onCpu = read(little);
    expect(atMiddle(onCpu, [cpu('amd-epyc-7302p')])).toBe(onCpu);
    const pipeline = { [a100.id]: { latencyCycles: 100, issueCycles: 20, kneeSoftness: 6 } };
    const { kernel } = atMiddle(read(little, { pipeline }), [a100]);
    expect([kernel.bytesPerIteration, kernel.chainInstructions]).toEqual([0, undefined]);
  });

  it('has a separate chain for an implementation with its own instructions', () => {
    const implementations = [{ name: 'short', kernel: { instructionsPerIteration: 10 } }];
    const [{ kernel }] = atMiddle(read(little, { implementations }), [a100]).implementations!;
    expect(kernel.chainInstructions).toBeCloseTo(10 * middle('chainInstructions'), 12);
  });

  it('counts a written zero as given, and a zero that an earlier version filled in as assumed', () => {
    const written = read({ ...little, bytesPerIteration: 0, serialFraction: 0 });
    expect(written.kernel.origins).toMatchObject({ bytesPerIteration: 'given', cooperationCost: 'assumed' });
    const { kernel } = atMiddle(written, [a100]);
    const cooperationCost = middle('cooperationCost');
    expect(kernel).toMatchObject({ bytesPerIteration: 0, serialFraction: 0, cooperationCost });
    // A study that states the serial fraction implies that iterations are split.
    expect(kernel.sharing).toBeUndefined();
    const { origins: _origins, ...earlier } = written.kernel;
    const kept = unwrap(locatedStudy({ study: { ...written, kernel: earlier } }, 'study 1')).study;
    expect(atMiddle(kept, [a100]).kernel.bytesPerIteration).toBe(middle('bytesPerIteration'));
    expect(unwrap(parseStudy(JSON.stringify(kept))).kernel).toEqual(kept.kernel);
  });
});

const cycleSim = join(import.meta.dirname, '../data/cycle-sim');
const device = JSON.parse(readFileSync(join(cycleSim, 'turing-2sm.device.json'), 'utf8')) as GpuDevice;
const profile: KernelProfile = {
  ...KERNEL_DEFAULTS,
  name: 'k',
  registersPerThread: 24,
  instructionsPerIteration: 20,
  sharing: 'deal',
};

it('the laws of assumed inputs are ascending, name existing inputs, and state their source', () => {
  for (const [path, { quantiles, dependentLoads = [0], bytes = [0], unsized = [0], source }] of Object.entries(
    ASSUMED_LAWS,
  )) {
    for (const law of [quantiles, dependentLoads, bytes, unsized]) expect([...law].sort((a, b) => a - b)).toEqual(law);
    const [owner, field] = path.split('.');
    if (owner === 'kernel') expect(KERNEL_FIELDS).toContain(field);
    else expect(['achievedBandwidthFraction', 'memoryLatencyCycles', 'dependentIssueLatencyCycles']).toContain(field);
    expect(source.length).toBeGreaterThan(10);
  }
});

it('the assumed inputs of a study are those that neither the user nor the example gave, which may be none', () => {
  const paths = unknownPaths(unknownOf({ kernel: profile }, device));
  expect(paths).toEqual(expect.arrayContaining(['kernel.unit', 'kernel.prologue', 'kernel.chainInstructions']));
  expect(paths).not.toContain('kernel.registersPerThread');
  // A kernel that deals its iterations has neither a serial fraction nor a cost of cooperation.
  expect(paths).not.toContain('kernel.serialFraction');
  const more = { ...profile, unit: { instructions: 9 }, origins: { registersPerThread: 'example' } } as const;
  const fewer = unknownPaths(unknownOf({ kernel: more }, device));
  expect(fewer).toContain('kernel.registersPerThread');
  expect(fewer).not.toContain('kernel.unit');
  const origins = Object.fromEntries(KERNEL_FIELDS.map((field) => [field, 'given' as const]));
  const known = { ...device, achievedBandwidthFraction: 0.8, sources: { '*': 'data sheet' } };
  expect(unknownPaths(unknownOf({ kernel: { ...profile, origins } }, known))).toEqual([]);
  // A study may give a law instead.
  const { laws } = unknownOf({ kernel: profile, assumed: { 'kernel.unit': [5, 7] } }, device);
  expect(sortedQuantile(laws['kernel.unit'], 0.5)).toBe(6);
});

describe('draws', () => {
  const unknown = unknownOf({ kernel: profile }, device);
  const draws = makeDraws(unknown, 32);

  it('take every part of each law once, and do not change for the other inputs if one becomes known', () => {
    for (const path of unknownPaths(unknown))
      expect(draws.map((draw) => draw[path]).sort((a, b) => a - b)).toEqual(draws.map((_, at) => (at + 0.5) / 32));
    const fewer = makeDraws(unknownOf({ kernel: { ...profile, unit: { instructions: 9 } } }, device), 32);
    expect(fewer.map((draw) => draw['kernel.prologue'])).toEqual(draws.map((draw) => draw['kernel.prologue']));
    expect(fewer[0]).not.toHaveProperty(['kernel.unit']);
  });

  it('fill in missing values, and stay closer to stated ones', () => {
    const at = (rank: number, kernel: KernelProfile, stated: boolean): KernelProfile =>
      drawnKernel(kernel, [{ field: 'unit', of: -1, stated }], unknown.laws, () => rank);
    const law = ASSUMED_LAWS['kernel.unit'];
    expect(at(0.5, profile, false).unit).toMatchObject({
      instructions: sortedQuantile(law.quantiles, 0.5),
      bytes: sortedQuantile(law.bytes!, 0.5),
    });
    const stated = { ...profile, unit: { instructions: 10, dependentLoads: 1 } };
    expect(at(0.5, stated, true).unit).toMatchObject({ instructions: 10, dependentLoads: 1 });
    const high = sortedQuantile(law.quantiles, 1) / sortedQuantile(law.quantiles, 0.5);
    expect(at(1, stated, true).unit!.instructions).toBeCloseTo(10 * Math.sqrt(high), 6);
  });

  it('let every gather miss, or none, if the size of the array is unknown', () => {
    const gather = { pattern: 'scattered', elementBytes: 8 } as const;
    const sized = { ...gather, footprintBytes: 1e6 };
    const accesses = [gather, sized, { ...gather, missFraction: 0.3 }];
    const field = { field: 'accesses', of: -1, stated: false } as const;
    const missing = (rank: number) =>
      drawnKernel({ ...profile, accesses }, [field], unknown.laws, () => rank).accesses!.map((one) => one.missFraction);
    const { quantiles } = ASSUMED_LAWS['kernel.accesses'];
    expect([missing(0), missing(1)]).toEqual([
      [0, quantiles[0], 0.3],
      [1, quantiles.at(-1), 0.3],
    ]);
  });
});

describe('expected regret', () => {
  // Two designs are the best in half of the draws each. A third design is never the best, but never far from it.
  const timeMs = Array.from({ length: 32 }, (_, draw) =>
    Float64Array.from(draw < 16 ? [1, 2, 1.1, NaN] : [2, 1, 1.1, 1]),
  );

  it('is least for a design that is never far from the best, even if it is the best in no draw', () => {
    const regrets = computeRegrets(timeMs);
    const near = (value: number) => expect.closeTo(value, 9) as number;
    expect(regrets[0]).toMatchObject({ expected: near(Math.log(2) / 2), worst90: near(Math.log(2)) });
    expect(regrets[2]).toMatchObject({ expected: near(Math.log(1.1)), lowMs: 1.1, highMs: 1.1 });
    expect(regrets.map((one) => one?.chance)).toEqual([0.5, 0.5, 0, undefined]);
  });

  it('falls with knowledge of the inputs that are worth knowing, and of no others', () => {
    const deciding = timeMs.map((_, draw) => (draw + 0.5) / 32);
    const other = timeMs.map((_, draw) => (((draw * 13) % 32) + 0.5) / 32);
    expect(gainOfKnowing(timeMs, 2, deciding)).toBeBetween(0.05, Math.log(1.1) + 0.05);
    expect(gainOfKnowing(timeMs, 2, other)).toBeLessThan(0.03);
  });
});

const launches = readRows(join(cycleSim, 'designs.csv')).filter(
  (row) => row.device === 'turing-2sm' && row.kernel.startsWith('nested'),
);

it.each(['geometric', 'uniform', 'pareto'])(
  'a choice by registers, instructions per iteration and lengths alone is good among the simulated launches of %s lengths',
  (law) => {
    const own = launches.filter((row) => row.law === law);
    const lengths = readFileSync(join(cycleSim, 'lengths', `${law}.csv`), 'utf8');
    const ordered = makeGivenLengths(Float64Array.from(lengths.trim().split('\n').slice(1), Number));
    const unknown = unknownOf({ kernel: profile }, device);
    const draws = makeDraws(unknown, 16);
    const timesOf = (row: Row): readonly number[] => {
      // The loop of these kernels has 18 instructions.
      const kernel = { ...profile, registersPerThread: Number(row.registers), instructionsPerIteration: 18 };
      const plan = launchPlan(row, { device, kernel, units: Number(row.units), ordered });
      return draws.map((draw) => predictChunk(createPredictor(drawnPlan(plan, unknown, draw, 'draw')), 0, 1).timeMs[0]);
    };
    const times = own.map(timesOf);
    const regrets = computeRegrets(draws.map((_, draw) => Float64Array.from(times, (one) => one[draw])));
    const chosen = regrets.reduce((best, one, at) => (one!.expected < regrets[best]!.expected ? at : best), 0);
    const cycles = own.map((row) => Number(row.cycles));
    expect(cycles[chosen] / Math.min(...cycles)).toBeLessThan(1.25);
  },
);

describe('errors of pairs', () => {
  const parts = (shared: string, own: string) => ({ texts: [shared, own], widths: [0.3, 0.05] });
  const samples = withErrors(
    [Float64Array.of(1, 1.02, 1.02, 2)],
    [parts('a', '0'), parts('a', '1'), parts('b', '2'), parts('a', '3')],
    1000,
  );
  const spread = (one: number, other: number): number => {
    const logs = samples.map((times) => Math.log(times[one] / times[other]));
    const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
    return Math.sqrt(logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / logs.length);
  };

  it('are as wide as the differences between two designs require', () => {
    expect(spread(0, 1)).toBeCloseTo(0.05 * Math.SQRT2, 2);
    expect(spread(0, 2)).toBeCloseTo(Math.sqrt(2 * (0.3 ** 2 + 0.05 ** 2)), 1);
  });

  it('do not change the time of a launch without work, and make no launch shorter than that', () => {
    const found = withErrors([Float64Array.of(1, 1, 1.1)], [parts('a', '0'), parts('b', '1'), parts('c', '2')], 20, 1);
    for (const times of found) expect([...times.subarray(0, 2), Math.min(...times)]).toEqual([1, 1, 1]);
    expect(new Set(found.map((times) => times[2])).size).toBeGreaterThan(20);
  });

  it('leave the mean difference of two designs as predicted', () => {
    const regrets = computeRegrets(samples);
    expect(regrets[1]!.expected - regrets[0]!.expected).toBeCloseTo(Math.log(1.02), 12);
    expect(regrets[2]!.expected - regrets[1]!.expected).toBeCloseTo(0, 12);
  });

  it('group designs that they cannot tell apart, and say how many to measure', () => {
    expect(notToldApart(samples, 0)).toEqual([0, 1, 2]);
    expect(designsToMeasure(samples, [0, 1, 2], 1, 3).designs).toHaveLength(1);
    const close = designsToMeasure(samples, [0, 1, 2], 0.02, 3);
    expect(close.designs.length).toBeGreaterThan(1);
    expect(close.regret).toBeLessThan(0.02);
    expect(designsToMeasure(samples, [0, 1, 2], 0, 3).regret).toBeCloseTo(0, 12);
  });
});
