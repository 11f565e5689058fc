import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { classLanes, mixedLanes } from '../../../src-workers/models/pipeline/instruction-classes.ts';
import { NVIDIA_COMPUTE_CAPABILITIES } from '../../../src-workers/models/occupancy/nvidia.ts';
import { pipelineParameters } from '../../../src-workers/models/pipeline/derive.ts';
import { studyAxes } from '../../../src-main/services/studies/plan.ts';
import { parseStudy } from '../../../src-main/contract/parse.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { KERNEL, oneDesign, planOf } from '../sweep-plans.ts';
import { gpu } from '../../catalogue.ts';
import { forAll, real } from '../../for-all.ts';

const [v100, a100, h100, ada, mi300] =
  'nvidia-v100-sxm2-16gb nvidia-a100-sxm4-40gb nvidia-h100-sxm5-80gb nvidia-rtx-4090 amd-mi300x'.split(' ').map(gpu);

describe('lanes for each class of instructions', () => {
  // Sources: CUDA C++ Programming Guide 13.0, Throughput of Native Arithmetic Instructions; AMD CDNA 3 ISA guide.
  it.each([
    [v100, { fp32: 64, integer: 64, fp64: 32, special: 16, threeRegisters: 64, issue: 128 }],
    [a100, { fp32: 64, integer: 64, fp64: 32, special: 16, threeRegisters: 64, issue: 128 }],
    [h100, { fp32: 128, integer: 64, fp64: 64, special: 16, threeRegisters: 64, issue: 128 }],
    [ada, { fp32: 128, integer: 64, fp64: 2, special: 16, threeRegisters: 64, issue: 128 }],
    [mi300, { fp32: 64, integer: 64, fp64: 64, special: 16, threeRegisters: 64, issue: 64 }],
  ])('$0.name', (device, lanes) => expect(classLanes(device)).toEqual(lanes));

  it('are known for every compute capability, and at most as many as are issued', () => {
    for (const computeCapability of NVIDIA_COMPUTE_CAPABILITIES) {
      const lanes = classLanes({ ...h100, occupancy: { family: 'nvidia', computeCapability } });
      expect(lanes.special, computeCapability).toBeLessThan(128);
    }
  });

  it('issue at half the rate if they read three registers and a scheduler could issue one each cycle', () => {
    expect(mixedLanes(h100, { threeRegisterShare: 1 })).toBe(64);
    // Up to a share of one half, other instructions fill the gaps.
    expect(mixedLanes(h100, { threeRegisterShare: 0.5 })).toBe(mixedLanes(h100, {}));
    for (const device of [v100, a100, mi300])
      expect(mixedLanes(device, { threeRegisterShare: 1 }), device.id).toBe(mixedLanes(device, {}));
  });

  it('make an integer loop slower on an H100, and a mixed one faster on a V100 and an A100', () => {
    const time = (device: typeof h100, shares: object) => mixedLanes(device, {}) / mixedLanes(device, shares);
    expect(time(h100, { integerShare: 0.85 })).toBeCloseTo(1.7, 12);
    expect(time(ada, { integerShare: 1 })).toBe(2);
    expect(time(a100, { integerShare: 0.5 })).toBe(0.5);
    expect(time(v100, { integerShare: 1 })).toBe(1);
    expect(time(ada, { fp64Share: 0.1 })).toBeCloseTo(6.4, 12);
  });

  it('are those of FP32 if nothing is stated, and no mix is faster than the issue rate', () =>
    forAll(fc.constantFrom(v100, a100, h100, ada, mi300), real(0, 1), real(0, 1), (device, integerShare, rest) => {
      expect(mixedLanes(device, {})).toBe(device.fp32LanesPerMultiprocessor);
      const shares = { integerShare, fp64Share: (1 - integerShare) * rest };
      expect(mixedLanes(device, shares)).toBeLessThanOrEqual(classLanes(device).issue);
    }));
});

describe('a study with shares of instructions', () => {
  const study = (kernel: object) => oneDesign({ kernel: { ...KERNEL, bytesPerIteration: 0, ...kernel } });

  it('has the issue cycles that follow from the shares', async () => {
    const { kernel } = await planOf(study({ integerShare: 1 }));
    const [plain, integer] = [{ ...kernel, integerShare: 0 }, kernel].map(
      (each) => pipelineParameters(h100, each, { spilledRegisters: 0 }).issueCycles,
    );
    expect(integer).toBe(2 * plain);
  });

  it.each([
    ['kernel', { integerShare: 0.8, fp64Share: 0.5 }],
    ['kernel.unit', { unit: { instructions: 9, integerShare: 0.8, fp64Share: 0.5 } }],
  ])('is refused if the shares of %s sum to more than 1', (place, kernel) => {
    const axes = studyAxes(unwrap(parseStudy(JSON.stringify(study(kernel)))), [h100]);
    expect(!axes.ok && axes.error.message).toBe(
      `${place}.integerShare, fp64Share and specialShare sum to 1.3. Their sum must be at most 1; the rest is FP32.`,
    );
  });
});
