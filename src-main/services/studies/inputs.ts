import { hasUnsized, type Laws, type Unknown, UNSIZED_GATHERS } from '../../../src-workers/advise/unknown.ts';
import { ACHIEVED_BANDWIDTH, type Device } from '../../../src-workers/domain/device.ts';
import { decidingFields, inputFacts, type InputFact } from '../../../src-workers/domain/provenance.ts';
import { SIZED_MISS_FRACTION, UNSIZED_MISS_FRACTION } from '../../../src-workers/models/memory/accesses.ts';
import type { SpaceAxes } from '../../../src-workers/domain/space.ts';
import type { Study } from '../../contract/study.ts';
import { assumedRange, lawSource, unknownOf, withLaws } from '../../../src-workers/advise/assumed.ts';
import { predictionInputs } from './plan.ts';

export function decidingUnknown(study: Study, axes: SpaceAxes, device: Device): Unknown {
  const unknown = unknownOf(study, device);
  const deciding = new Set(decidingFields(predictionInputs(study, axes), device).map(({ field }) => field));
  // Without a stated chain, all instructions count as one chain, which matters as much as a stated one.
  const kernel = unknown.kernel.filter(({ field }) => deciding.has(field) || field === 'chainInstructions');
  const movesData =
    deciding.has('accesses') ||
    kernel.some(({ field }) => field === 'bytesPerIteration') ||
    [study.kernel, ...(study.implementations ?? []).map((one) => one.kernel)].some(
      ({ accesses, bytesPerIteration = 0 }) => accesses !== undefined || bytesPerIteration > 0,
    );
  return {
    ...unknown,
    kernel,
    device: unknown.device.filter((path) => movesData || path !== BANDWIDTH.path),
  };
}

/** Inputs that have no field of their own in a study. They are drawn like unstated fields. */
export const GATHERS = { path: 'kernel.accesses', label: 'Gathers that miss the cache' } as const;
export const BANDWIDTH = {
  path: 'device.achievedBandwidthFraction',
  label: 'Achieved fraction of the bandwidth',
} as const;

/** Returns which fraction of the gathers is assumed to miss, in all implementations, and the law of this fraction. */
export function assumedGathers({ kernel, implementations = [] }: Study, laws: Laws) {
  const isUnsized = hasUnsized(
    [kernel, ...implementations.map((one) => one.kernel)].flatMap(({ accesses = [] }) => accesses),
  );
  return {
    value: isUnsized ? UNSIZED_MISS_FRACTION : SIZED_MISS_FRACTION,
    law: laws[isUnsized ? UNSIZED_GATHERS : GATHERS.path],
  };
}

/**
 * Lists every input on which the times on a device depend. Unknown inputs have the range in which they are drawn.
 * @param implementation if given, inputs of other implementations are left out
 */
export function listInputs(
  study: Study,
  axes: SpaceAxes,
  device: Device,
  implementation?: string,
): readonly InputFact[] {
  const facts = withLaws(inputFacts(predictionInputs(study, axes), device, implementation), study, device);
  const unknown = decidingUnknown(study, axes, device);
  const gathers = assumedGathers(study, unknown.laws);
  const assumed = (path: string, field: string, label: string, value: number): InputFact => ({
    ...{ field, label, value, unit: '', origin: 'assumed', note: lawSource(study, path) },
    usual: assumedRange(study, device, unknown, path) ?? endsOf(gathers.law),
  });
  const isOf = (of: number): boolean =>
    of < 0 || implementation === undefined || axes.implementations?.[of].name === implementation;
  return [
    ...facts,
    ...(unknown.kernel.some(({ field, of }) => field === 'accesses' && isOf(of))
      ? [assumed(GATHERS.path, `${GATHERS.path}.missFraction`, GATHERS.label, gathers.value)]
      : []),
    ...(unknown.device.includes(BANDWIDTH.path)
      ? [assumed(BANDWIDTH.path, BANDWIDTH.path, BANDWIDTH.label, ACHIEVED_BANDWIDTH)]
      : []),
  ];
}

function endsOf(law: readonly number[]): readonly [number, number] {
  return [law[0], law.at(-1)!];
}
