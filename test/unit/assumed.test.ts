import { describe, expect, it } from 'vitest';
import { parseStudy } from '../../src-main/contract/parse.ts';
import type { Study, StudyFile } from '../../src-main/contract/study.ts';
import { ASSUMED_LAWS, atMiddle, unknownOf, withRanges } from '../../src-main/services/studies/assumed.ts';
import { predictionInputs, studyAxes } from '../../src-main/services/studies/plan.ts';
import { locatedStudy } from '../../src-main/services/studies/studies.ts';
import { drawnPlan, makeDraws, unknownPaths } from '../../src-workers/advise/unknown.ts';
import { inputFacts, KERNEL_INPUTS } from '../../src-workers/domain/provenance.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { sortedQuantile } from '../../src-workers/numeric/statistics.ts';
import type { SweepPlan } from '../../src-workers/predict/plan.ts';
import { NOTHING_ELSE, smallStudy } from './export-runs.ts';
import { cpu, gpu } from '../catalogue.ts';

const a100 = gpu('nvidia-a100-sxm4-40gb');
const little = { name: 'k', registersPerThread: 40, instructionsPerIteration: 60 };
const read = (kernel: StudyFile['kernel'], more: Partial<StudyFile> = {}): Study =>
  unwrap(parseStudy(JSON.stringify(smallStudy({ kernel, ...more }))));
const middle = (field: string): number => sortedQuantile(ASSUMED_LAWS[`kernel.${field}`].quantiles, 0.5);

it('the range of an assumed input is that of its law, around the value of the study', () => {
  const filled = atMiddle(read({ ...little, origins: { registersPerThread: 'assumed' } }), [a100]);
  const facts = withRanges(inputFacts(predictionInputs(filled, unwrap(studyAxes(filled, [a100]))), a100), filled, a100);
  const rangeOf = (field: string) => facts.find((fact) => fact.field === field)!.usual;
  const { quantiles } = ASSUMED_LAWS['kernel.prologue'];
  expect(rangeOf('kernel.prologue')).toEqual([quantiles[0], quantiles.at(-1)]);
  // The study states 40 registers, and the law has 36 in the middle.
  expect(rangeOf('kernel.registersPerThread')).toEqual(
    [20, 128].map((end) => Math.round(40 * Math.sqrt(end / middle('registersPerThread')))),
  );
  const chain = ASSUMED_LAWS['kernel.chainInstructions'].quantiles;
  expect(rangeOf('kernel.chainInstructions')).toEqual(
    [chain[0], chain.at(-1)!].map((part) => Number((60 * part).toPrecision(3))),
  );
  expect(rangeOf('device.clockMhz')).toBeNull();
});

it('the range of an assumed input is the same without an open study', () => {
  for (const [field, { usual }] of Object.entries(KERNEL_INPUTS)) {
    const law = ASSUMED_LAWS[`kernel.${field}`];
    if (law && field !== 'chainInstructions') expect(usual, field).toEqual([law.quantiles[0], law.quantiles.at(-1)]);
  }
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
    const known = read({
      ...little,
      serialFraction: 0.1,
      origins: { ...NOTHING_ELSE, search: 'given', carry: 'given' },
    });
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
    expect(kernel).toMatchObject({
      bytesPerIteration: 0,
      serialFraction: 0,
      cooperationCost: middle('cooperationCost'),
    });
    // A study that states the serial fraction implies that iterations are split.
    expect(kernel.sharing).toBeUndefined();
    const { origins: _origins, ...earlier } = written.kernel;
    const kept = unwrap(locatedStudy({ study: { ...written, kernel: earlier } }, 'study 1')).study;
    expect(atMiddle(kept, [a100]).kernel.bytesPerIteration).toBe(middle('bytesPerIteration'));
    expect(unwrap(parseStudy(JSON.stringify(kept))).kernel).toEqual(kept.kernel);
  });
});
