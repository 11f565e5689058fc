/* Checks that studies from before kernels had phases still open with their old meaning. */
import { describe, expect, it } from 'vitest';
import { parseStudy, validate } from '../../src-main/contract/parse.ts';
import { newerInput } from '../../src-main/contract/older-kernels.ts';
import { procedures } from '../../src-main/contract/procedures.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { predictChunk } from '../../src-workers/predict/ranges.ts';
import { KERNEL, oneDesign, planOf } from './sweep-plans.ts';

const olderStudy = (kernel: object, implementations?: readonly object[]): object => {
  return { ...oneDesign(), kernel: { ...KERNEL, ...kernel }, ...(implementations && { implementations }) };
};
const opened = (kernel: object, implementations?: readonly object[]) =>
  unwrap(parseStudy(JSON.stringify(olderStudy(kernel, implementations))));
const refusal = (kernel: object, implementations?: readonly object[]): { message: string; field: unknown } => {
  const result = parseStudy(JSON.stringify(olderStudy(kernel, implementations)), 's');
  if (result.ok) throw new Error('It was accepted.');
  return { message: result.error.message, field: result.error.context?.field };
};

describe('a kernel of an older study', () => {
  it('has a set-up as a phase of the same number of iterations, with their loads, bytes and classes', () => {
    const { kernel } = opened({
      setupIterationsPerUnit: 2,
      dependentLoadsPerIteration: 1,
      bytesPerIteration: 8,
      integerShare: 0.5,
      origins: { setupIterationsPerUnit: 'measured', registersPerThread: 'given' },
    });
    expect(kernel.unit).toEqual({ instructions: 80, integerShare: 0.5, dependentLoads: 2, bytes: 16 });
    expect(kernel.origins).toMatchObject({ registersPerThread: 'given', unit: 'measured' });
    expect(kernel.sharing).toBeUndefined();
  });

  it('has searches, carries and reductions as phases', () => {
    const { kernel } = opened({ searchStepIterations: 0.25, carryIterations: 3, blockReductionIterations: 4 });
    const phases = { search: { instructions: 10 }, carry: { instructions: 120 }, combine: { instructions: 20 } };
    expect(kernel).toMatchObject(phases);
    expect(kernel.unit).toBeUndefined();
  });

  it('leaves fields with their default unknown, and keeps given ones', () => {
    const own = { setupIterationsPerUnit: 0, carryIterations: 1 };
    const defaults = { ...own, blockReductionIterations: 0.5, searchStepIterations: 0.5 };
    expect(opened(defaults)).toEqual(opened({}));
    expect(opened({ ...defaults, origins: { setupIterationsPerUnit: 'assumed' } })).toEqual(opened({}));
    const { kernel } = opened({ ...defaults, origins: { setupIterationsPerUnit: 'given' } });
    expect(kernel).toMatchObject({ unit: { instructions: 0 }, origins: { unit: 'given' } });
  });

  it('is the same after this version has written and read it', () => {
    const study = opened({ setupIterationsPerUnit: 2, carryIterations: 3, origins: { carryIterations: 'measured' } });
    expect(unwrap(parseStudy(JSON.stringify(study)))).toEqual(study);
  });

  it('is relative to the kernel of an implementation', () => {
    const { implementations } = opened({ setupIterationsPerUnit: 2, origins: { setupIterationsPerUnit: 'measured' } }, [
      { name: 'own', kernel: { setupIterationsPerUnit: 3 } },
      { name: 'shorter', kernel: { instructionsPerIteration: 10 } },
      { name: 'as the study', kernel: { registersPerThread: 20 } },
      { name: 'none', kernel: { setupIterationsPerUnit: 0 } },
      { name: 'newer', kernel: { instructionsPerIteration: 10, unit: { instructions: 7 } } },
      { name: 'bare' },
    ]);
    expect(implementations!.map(({ kernel }) => kernel.unit?.instructions)).toEqual([120, 20, undefined, 0, 7, undefined]); // prettier-ignore
    expect(implementations![1].kernel.origins).toEqual({ unit: 'measured' });
  });

  it.each([
    [{ setupIterationsPerUnit: -1 }, 'kernel.setupIterationsPerUnit must be a number ≥ 0, not -1'],
    [{ carryIterations: 'many' }, 'kernel.carryIterations must be a number ≥ 0, not "many"'],
    [
      { setupIterationsPerUnit: 1, unit: { instructions: 3 } },
      'kernel.setupIterationsPerUnit must be left out where "unit" is given, not 1',
    ],
  ])('%j is refused with the name of its field', (kernel, message) =>
    expect(refusal(kernel)).toEqual({ message: `s: ${message}.`, field: message.split(' ')[0] }),
  );

  it('is refused with the field of an implementation, or with another field that is wrong', () => {
    const own = refusal({}, [{ name: 'a', kernel: { setupIterationsPerUnit: null } }]);
    expect(own.field).toBe('implementations[0].kernel.setupIterationsPerUnit');
    const other = refusal({ setupIterationsPerUnit: 1, instructionsPerIteration: 'x' });
    expect(other.field).toBe('kernel.instructionsPerIteration');
    expect(refusal({ setupIterations: 1 }).message).toMatch(/kernel.setupIterations is not a known field/);
  });

  it('is read by every command that takes a study', () => {
    const study = olderStudy({ setupIterationsPerUnit: 1 });
    const sent = validate(procedures['studies.save'].input, { study }, 'call');
    expect(unwrap(sent)).toMatchObject({ study: { kernel: { unit: { instructions: 40 } } } });
    const asked = { runIds: [1], vary: [{ input: 'kernel.setupIterationsPerUnit', values: [1] }] };
    expect(unwrap(validate(procedures['advice.robust'].input, asked, 'call')).vary[0].input).toBe('kernel.unit');
    expect(newerInput('kernel.carryIterations')).toBe('kernel.carry');
    expect(newerInput('workload.units')).toBe('workload.units');
  });

  it('takes as long as a longer unit with one thread per unit', async () => {
    const time = async (kernel: object, lengths: string): Promise<number> => {
      const study = { ...olderStudy(kernel), workload: { lengths, units: 3 << 18 } } as ReturnType<typeof oneDesign>;
      return predictChunk(createPredictor(await planOf(study)), 0, 1).timeMs[0];
    };
    const iteration = { dependentLoadsPerIteration: 1 };
    const longer = await time(iteration, 'constant(23)');
    expect(await time({ ...iteration, setupIterationsPerUnit: 3 }, 'constant(20)')).toBeCloseTo(longer, 9);
  });
});
