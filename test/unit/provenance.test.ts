import { describe, expect, it } from 'vitest';
import { parseStudy, validate } from '../../src-main/contract/parse.ts';
import { atMiddle } from '../../src-workers/advise/assumed.ts';
import { kernelSchema, studySchema } from '../../src-main/contract/study.ts';
import { predictionInputs, studyAxes } from '../../src-main/services/studies/plan.ts';
import * as provenance from '../../src-workers/domain/provenance.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { cpu, CPUS, exampleStudy, gpu, GPUS } from '../catalogue.ts';

const minimal = unwrap(
  validate(kernelSchema, { name: 'k', registersPerThread: 32, instructionsPerIteration: 10 }, 'kernel'),
);

function example(name: string) {
  const study = unwrap(parseStudy(JSON.stringify(exampleStudy(name))));
  const devices = [...GPUS, ...CPUS].filter(({ id }) => study.devices.includes(id));
  return predictionInputs(study, unwrap(studyAxes(study, devices)));
}

describe('origins of a kernel', () => {
  it('are assumed for default values of a study, and given for others, unless the study states them', () => {
    const { name: _name, registersPerThread: _r, instructionsPerIteration: _i, ...rest } = minimal;
    expect(rest).toEqual(provenance.KERNEL_DEFAULTS);
    expect(provenance.kernelOrigin(minimal, 'serialFraction')).toBe('assumed');
    expect(provenance.kernelOrigin({ ...minimal, serialFraction: 0.1 }, 'serialFraction')).toBe('given');
    expect(provenance.kernelOrigin(minimal, 'registersPerThread')).toBe('given');
    expect(provenance.kernelOrigin(minimal, 'lengthsKnownBeforeLaunch')).toBe('assumed');
    const kernel = { ...minimal, origins: { serialFraction: 'measured', registersPerThread: 'assumed' } } as const;
    expect(provenance.kernelOrigin(kernel, 'serialFraction')).toBe('measured');
    expect(provenance.kernelOrigin(kernel, 'registersPerThread')).toBe('assumed');
  });

  it('are marked in the study format, and refused if a field or an origin is unknown', () => {
    const isRead = (origins: unknown) => validate(kernelSchema, { ...minimal, origins }, 'kernel').ok;
    const origins = [{ serialFractoin: 'given' }, { serialFraction: 'guessed' }, { serialFraction: 'imported' }];
    expect(origins.map(isRead)).toEqual([false, false, true]);
    const study = exampleStudy('acts');
    const kernel = { ...study.kernel, origins: { registersPerThread: 'assumed' } };
    expect(unwrap(validate(studySchema, { ...study, kernel }, 'study'))).toMatchObject({ kernel });
  });
});

it('usual values have defaults in their usual ranges, which the study format allows', () => {
  for (const [field, { assumed, usual }] of Object.entries(provenance.KERNEL_INPUTS)) {
    expect(usual[0], field).toBeLessThanOrEqual(assumed);
    expect(usual[1], field).toBeGreaterThanOrEqual(assumed);
    for (const value of usual) {
      const kernel = provenance.withKernelValue(minimal, field as provenance.KernelNumber, value);
      expect(validate(kernelSchema, kernel, field), field).toMatchObject({ ok: true });
    }
  }
});

it('usual values make a kernel in which every field is marked as assumed', () => {
  const kernel = unwrap(validate(kernelSchema, { name: 'kernel', ...provenance.assumedKernel() }, 'kernel'));
  for (const field of provenance.KERNEL_FIELDS) expect(provenance.kernelOrigin(kernel, field), field).toBe('assumed');
  // A prediction assumes the same values.
  const { kernel: predicted } = atMiddle({ kernel }, [gpu('nvidia-a100-sxm4-40gb')]);
  expect({ ...predicted, chainInstructions: undefined }).toEqual(kernel);
});

describe('facts of a prediction', () => {
  it('name the assumed fields of an example, and no others', () => {
    const facts = provenance.inputFacts(example('acts'), gpu('nvidia-a100-sxm4-40gb'));
    const names = provenance.assumedFacts(facts).map(({ field }) => field);
    expect(names).toContain('kernel.kneeSoftness');
    // A zero in the file counts as a given value.
    for (const given of ['cooperationCost', 'serialFraction', 'bytesPerUnit'])
      expect(names).not.toContain(`kernel.${given}`);
    expect(facts.find(({ field }) => field === 'workload.lengths')).toMatchObject({ origin: 'imported' });
    expect(provenance.assumedPhrase(facts)).toMatch(/Knee softness = 6.5/);
  });

  it('mark an estimate of a device as assumed, with its note', () => {
    const facts = provenance.inputFacts(example('collatz'), gpu('amd-rx-7900-xtx'));
    const latency = facts.find(({ field }) => field === 'device.memoryLatencyCycles');
    expect(latency).toMatchObject({ origin: 'assumed', note: /^estimate/ });
  });

  it('leave out inputs that a measured pipeline replaces', () => {
    const { axes, ...other } = example('acts');
    const study = { ...other, axes: { ...axes, registerCap: [null] } };
    const device = gpu('nvidia-a100-sxm4-40gb');
    const measured = { latencyCycles: 2000, issueCycles: 280, kneeSoftness: 6, origin: 'calibrated' } as const;
    const facts = provenance.inputFacts({ ...study, pipeline: { [device.id]: measured } }, device);
    const fields = ['pipeline', 'device.memoryLatencyCycles', 'kernel.kneeSoftness'];
    const origins = fields.map((name) => facts.find(({ field }) => field === name)?.origin);
    expect(origins).toEqual(['calibrated', undefined, undefined]);
    const apart = { [device.id]: { ...measured, transferScale: 1.2 } };
    const traffic = provenance.inputFacts({ ...study, pipeline: apart }, device);
    const moved = [facts, traffic].map((all) => all.some(({ field }) => field === 'kernel.bytesPerIteration'));
    expect(moved).toEqual([false, true]);
  });

  it('are only those of the memory traffic for a CPU', () => {
    const study = example('spmv-cpu');
    const expected = ['bytesPerIteration', 'bytesPerUnit', 'lengthsKnownBeforeLaunch'];
    expect(provenance.decidingFields(study, cpu('amd-epyc-7302p')).map(({ field }) => field)).toEqual(expected);
  });
});
