import type { Unknown } from '../../../src-workers/advise/unknown.ts';
import { KERNEL_INPUTS, kernelInput } from '../../../src-workers/domain/provenance.ts';
import { midSentence } from '../../../src-workers/domain/text.ts';
import { sortedQuantile } from '../../../src-workers/numeric/statistics.ts';
import type { UnknownInput } from '../../contract/advice.ts';
import { assumedRange, lawSource } from '../../../src-workers/advise/assumed.ts';
import { BANDWIDTH, decidingUnknown, GATHERS, assumedGathers } from '../studies/inputs.ts';
import type { AdvisedDevice, AdvisedStudy } from './prepare.ts';

export const DRAWS = 20;

export function unknownIn({ study, axes }: AdvisedStudy, { device }: AdvisedDevice): Unknown {
  return decidingUnknown(study, axes, device);
}

const DEVICE_LABELS: Readonly<Record<string, readonly [string, string]>> = {
  achievedBandwidthFraction: [BANDWIDTH.label, ''],
  memoryLatencyCycles: ['Memory latency', 'cycles'],
  dependentIssueLatencyCycles: ['Arithmetic latency', 'cycles'],
};

export function unknownInput(
  study: AdvisedStudy,
  { device, plan }: AdvisedDevice,
  unknown: Unknown,
  path: string,
): UnknownInput {
  const { laws, kernel } = unknown;
  const gathers = path === GATHERS.path ? assumedGathers(study.study, laws) : null;
  const law = gathers?.law ?? laws[path];
  const source = lawSource(study.study, path);
  const figure = (rank: number): number => Number(sortedQuantile(law, rank).toPrecision(3));
  const field = kernelInput(path)?.field;
  const drawn = assumedRange(study.study, device, unknown, path);
  const known = study.facts(device).find((fact) => fact.field === path);
  const assumed = { field: path, origin: 'assumed', note: '', usual: null } as const;
  if (!field) {
    const name = path.slice('device.'.length);
    const [label, unit] = DEVICE_LABELS[name];
    const value = (device as unknown as Readonly<Record<string, number | undefined>>)[name];
    return { input: known ?? { ...assumed, label, value: value ?? figure(0.5), unit }, range: drawn!, source };
  }
  const { label, unit } =
    field === 'accesses'
      ? { label: GATHERS.label, unit: '' }
      : field === 'sharing'
        ? { label: 'Sharing of a unit', unit: '' }
        : KERNEL_INPUTS[field as keyof typeof KERNEL_INPUTS];
  // The law of the longest chain gives fractions of the instructions of an iteration.
  const scale = field === 'chainInstructions' ? plan.kernel.instructionsPerIteration : 1;
  const isKnown = kernel.some((one) => one.field === field && one.stated) && field !== 'accesses';
  const value = field === 'sharing' ? 'unknown' : (gathers?.value ?? figure(0.5) * scale);
  return {
    input: isKnown && known ? known : { ...assumed, label, value, unit },
    range: drawn ?? [figure(0) * scale, figure(1) * scale],
    source,
  };
}

export function drawnText(unknown: readonly UnknownInput[]): string {
  const [first, second, ...others] = unknown.map(({ input }) => midSentence(input.label));
  return (
    [first, second].filter(Boolean).join(others.length > 0 ? ', ' : ' and ') +
    (others.length > 0 ? ' and other assumed inputs' : '')
  );
}
