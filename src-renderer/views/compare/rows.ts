import { kindsText } from '../../../src-workers/domain/evidence.ts';
import { contradictionText, isContradicted } from '../../../src-main/contract/accuracy.ts';
import type { DesignRange, DeviceBest } from '../../../src-main/contract/api.ts';
import type { Study } from '../../../src-main/contract/study.ts';
import { shownParts } from '../../../src-workers/domain/breakdown.ts';
import { blockText, type Design } from '../../../src-workers/domain/design.ts';
import { listEstimates, type CpuDevice, type Device, type GpuDevice } from '../../../src-workers/domain/device.ts';
import { selectKernel } from '../../../src-workers/domain/provenance.ts';
import { sentenceCase, type Term, type TermKey } from '../../../src-workers/domain/terms.ts';
import { CPU_METRICS } from '../../../src-workers/models/contention/cpu-metrics.ts';
import { DEVICE_METRICS, type DeviceMetric } from '../../../src-workers/models/occupancy/device-metrics.ts';
import { issueWithTraffic, pipelineParameters } from '../../../src-workers/models/pipeline/derive.ts';
import { limitWords } from '../../format/limits.ts';
import { change, count, fixed, plain, timeRange, timeText } from '../../format/numbers.ts';

export type RowGroup = 'result' | 'implementations' | 'why' | 'limits';

export interface CompareRow {
  readonly id: string;
  readonly group: RowGroup;
  readonly label: string;
  readonly unit: string;
  readonly hint: string;
  /** The texts of the cells, one per device; empty if the device has no such value. */
  readonly texts: readonly string[];
  /** The sources of the estimated values in each cell; an empty text for a cell without estimates. */
  readonly estimates: readonly string[];
  /** The numbers to compare, one per device; null if the row has words, or the device has no value. */
  readonly values: readonly (number | null)[];
  /** The direction that is better, for the colours. Limits have no such direction, because they are not results. */
  readonly better: 'higher' | 'lower' | 'none';
  /** The small text under the cells: the range of a time, or an empty text until it is known. */
  readonly ranges?: readonly string[];
  /** The text next to the cells, instead of the change from the reference. */
  readonly beside?: readonly string[];
}

export interface Compared {
  readonly device: Device;
  readonly entry: DeviceBest | null;
}

/** Returns the number of thread groups that hide the latency. More thread groups gain little. */
export function kneeThreadGroups(
  device: GpuDevice,
  study: Study,
  design: Pick<Design, 'implementation' | 'registerCap'>,
): number {
  const { registerCap } = design;
  const kernel = selectKernel(study, design);
  const spilledRegisters = registerCap === null ? 0 : Math.max(0, kernel.registersPerThread - registerCap);
  const measured = study.pipeline[device.id];
  const pipeline = measured ?? pipelineParameters(device, kernel, { spilledRegisters });
  return Math.ceil(pipeline.latencyCycles / issueWithTraffic(device, kernel, pipeline));
}

type Best = NonNullable<DeviceBest['best']>;

interface CellOptions {
  readonly unit?: string;
  readonly hint?: string;
  readonly better?: CompareRow['better'];
  readonly value?: (best: Best, entry: DeviceBest) => number | null;
  readonly text?: (best: Best, entry: DeviceBest) => string;
  readonly format?: (value: number) => string;
  readonly range?: (best: Best) => string;
}

interface Comparison {
  readonly compared: readonly Compared[];
  readonly study: Study;
  readonly term: Term;
  readonly ranges: ReadonlyMap<number, DesignRange>;
}

export function compareRows(
  compared: readonly Compared[],
  study: Study,
  same: boolean,
  term: Term,
  ranges: Comparison['ranges'] = new Map(),
): readonly CompareRow[] {
  const comparison: Comparison = { compared, study, term, ranges };
  return [
    ...resultRows(comparison, same),
    ...(study.implementations ?? []).map(({ name }) => implementationRow(name, comparison)),
    ...reasonRows(comparison),
    ...limitRows(comparison),
  ];
}

function rowMaker({ compared }: Comparison, group: RowGroup) {
  return {
    row(id: string, label: string, options: CellOptions): CompareRow {
      const { unit = '', hint = '', better = 'none', value, text, format = count, range } = options;
      const values = compared.map(({ entry }) => (entry?.best && value ? value(entry.best, entry) : null));
      const texts = compared.map(({ entry }, at) => {
        if (!entry?.best) return '';
        if (text) return text(entry.best, entry);
        return values[at] === null ? '–' : format(values[at]);
      });
      const ranges = range && { ranges: compared.map(({ entry }) => (entry?.best ? range(entry.best) : '')) };
      const estimates = compared.map(() => '');
      return { id, group, label, unit, hint, better, values, texts, estimates, ...ranges };
    },
    onGpu(best: Best, text: (gpu: GpuDevice) => string): string {
      const device = compared.find((each) => each.device.id === best.deviceId)?.device;
      return device?.kind === 'gpu' ? text(device) : '–';
    },
  };
}

function resultRows(comparison: Comparison, same: boolean): readonly CompareRow[] {
  const { compared, study, term, ranges } = comparison;
  const { row, onGpu } = rowMaker(comparison, 'result');
  const group = term('threadGroup');
  const sm = term('multiprocessor', 'short');
  const hasCpu = compared.some(({ device }) => device.kind === 'cpu');
  return [
    row('time', 'Time', {
      better: 'lower',
      value: (best) => best.timeMs,
      format: timeText,
      range: (best) => rangeText(best, ranges),
      hint: `Predicted time of the whole workload. ${RANGE_HINT}`,
    }),
    ...(compared.some(({ entry }) => entry?.best?.simulated)
      ? [
          row('simulated', 'Simulated', {
            better: 'lower',
            value: (best) => best.simulated?.meanMs ?? null,
            text: ({ simulated, predictedMs }) =>
              simulated
                ? `${timeText(simulated.meanMs)}${isContradicted(predictedMs, simulated) ? `, ${contradictionText(predictedMs, simulated)}` : ''}`
                : '–',
            hint: 'Mean time of the replications of the event simulation. If its 95 % interval is more than 10 % away from the prediction, a text in the cell says so. – means that the design was not simulated',
          }),
        ]
      : []),
    ...(study.implementations
      ? [
          row('implementation', 'Implementation', {
            text: (best) => best.design.implementation ?? '–',
            hint: 'The kernel to write',
          }),
        ]
      : []),
    row('throughput', 'Throughput', {
      unit: 'units/µs',
      better: 'higher',
      value: (best) => study.workload.units / best.timeMs / 1000,
      format: (value) => plain(value, 3),
      hint: 'Units of work finished in a microsecond',
    }),
    row('granularity', `Threads × units per ${group}`, {
      text: (best) =>
        onGpu(
          best,
          ({ threadGroupWidth }) => `${best.design.threadsPerUnit} × ${threadGroupWidth / best.design.threadsPerUnit}`,
        ),
      hint: `${sentenceCase(term('thread', 'many'))} that share one unit, and units that run in lockstep`,
    }),
    row('block', sentenceCase(`${term('block')} size`), {
      unit: term('thread', 'many'),
      text: (best) => onGpu(best, () => blockText(best.design)),
    }),
    row('grid', sentenceCase(term('block', 'many')), {
      unit: `per ${sm}`,
      text: (best) => onGpu(best, ({ multiprocessors }) => plain(best.design.gridBlocks / multiprocessors, 3)),
      hint: `Launched ${term('block', 'many')}, divided by the number of ${term('multiprocessor', 'many')}`,
    }),
    ...(hasCpu
      ? [
          row('coresUsed', 'Cores', {
            unit: 'in use',
            text: (best, { device }) =>
              device.kind === 'cpu' ? `${count(best.design.gridBlocks)} of ${count(device.cores)}` : '–',
            hint: 'Cores that share the work, out of all cores of the CPU',
          }),
        ]
      : []),
    row('balancing', 'Balancing', {
      text: (best) => best.design.balancing.replaceAll('-', ' '),
      hint: 'How units are ordered or handed out',
    }),
    row('cap', sentenceCase(`${term('register')} cap`), {
      text: (best) => onGpu(best, () => (best.design.registerCap === null ? 'none' : count(best.design.registerCap))),
    }),
    ...(same
      ? [
          row('rank', 'Rank', {
            unit: 'on the device',
            text: (best) => count(best.rank),
            hint: 'Rank of this design among the valid designs of the device',
          }),
        ]
      : []),
    row('evidence', 'Evidence', {
      text: (best, { evidence }) =>
        evidence && !best.hasEvidence
          ? `not ${kindsText([best.kind])}`
          : (evidence?.agreement.map(({ dataset }) => dataset).join(', ') ?? 'none'),
      hint: 'Measurements that were compared with predictions for this device. The cell says so if none of them has this way of distributing work. See Models, Evidence',
    }),
  ];
}

function reasonRows(comparison: Comparison): readonly CompareRow[] {
  const { study, term } = comparison;
  const { row, onGpu } = rowMaker(comparison, 'why');
  const groups = term('threadGroup', 'many');
  const oneThread = ({ byThreadsPerUnit }: DeviceBest): number =>
    byThreadsPerUnit.find(({ threadsPerUnit }) => threadsPerUnit === 1)?.timeMs ?? NaN;
  const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);
  return [
    row('resident', `Resident ${groups}`, {
      text: (best) =>
        onGpu(
          best,
          ({ limits }) => `${count(best.residentThreadGroups)} of ${count(limits.maxThreadGroupsPerMultiprocessor)}`,
        ),
      hint: `${sentenceCase(groups)} resident on one ${term('multiprocessor')} at a time, out of its slots`,
    }),
    row('limited', 'Limited by', {
      text: (best) => onGpu(best, () => limitWords(best.limitedBy, term) || 'the launch'),
      hint: `What limits the number of resident ${term('block', 'many')}`,
    }),
    row('knee', sentenceCase(`${groups} to the knee`), {
      value: (best, { device }: { readonly device: Device }) =>
        device.kind === 'gpu' ? kneeThreadGroups(device, study, best.design) : null,
      hint: `The number of active ${groups} above which the issue of instructions, not latency, limits the pace`,
    }),
    row('loss', 'Loss of a group', {
      unit: 'aggregate',
      better: 'lower',
      value: (best) => best.aggregateLoss,
      format: (value) => fixed(value, 3),
      hint: 'Lockstep time over work: 1 is no loss',
    }),
    row('ideal', 'Useful work', {
      unit: '%',
      better: 'higher',
      value: (_, { breakdown }) => (breakdown ? (100 * shownParts(breakdown).idealWork) / breakdown.timeMs : null),
      format: (value) => fixed(value, 1),
      hint: 'Share of the time that even an ideal device without lockstep would need',
    }),
    row('issue', 'Peak instruction issue', {
      unit: '% in use',
      value: (_, { breakdown }) => percentOf(breakdown?.achieved.issueFraction),
      format: (value) => fixed(value, 1),
      hint: 'Share of the peak of instruction issue that the launch uses, including lanes that wait',
    }),
    row('bandwidth', 'Peak bandwidth', {
      unit: '% in use',
      value: (_, { breakdown }) => percentOf(breakdown?.achieved.bandwidthFraction),
      format: (value) => fixed(value, 1),
      hint: 'Traffic of device memory as a share of the peak bandwidth. – means that the study gives no traffic for the kernel',
    }),
    row('gain', 'Gain by sharing units', {
      unit: '×',
      better: 'higher',
      value: (best, entry) => (entry.device.kind === 'gpu' ? finite(oneThread(entry) / best.timeMs) : null),
      format: (value) => fixed(value, 2),
      hint: `Time of the fastest design with one ${term('thread')} per unit, divided by the time of this design`,
    }),
    row('waves', 'Waves', {
      value: (best) => best.waves,
      format: (value) => fixed(value, 2),
      hint: `${sentenceCase(term('block', 'many'))} of the launch, divided by the ${term('block', 'many')} that are resident at once`,
    }),
    row('regime', 'Predicted as', {
      text: (_, { breakdown }) => breakdown?.regime.label.toLowerCase() ?? '–',
      hint: 'How the time was computed. The tooltip of a device’s bar says how far such times are from the simulation',
    }),
  ];
}

function limitRows(comparison: Comparison): readonly CompareRow[] {
  const has = (kind: Device['kind']): boolean => comparison.compared.some(({ device }) => device.kind === kind);
  return [
    ...(has('gpu')
      ? [...DEVICE_METRICS]
          .sort((a, b) => Number(a.id === 'year') - Number(b.id === 'year'))
          .map((metric) => limit(comparison, 'gpu', metric))
      : []),
    ...(has('cpu') ? CPU_METRICS.map((metric) => limit(comparison, 'cpu', metric)) : []),
  ];
}

function limit<Kind extends GpuDevice | CpuDevice>(
  { compared, term }: Comparison,
  kind: Kind['kind'],
  { id, label, unit, value }: DeviceMetric<Kind>,
): CompareRow {
  const own = compared.map(({ device }) => (device.kind === kind ? (device as Kind) : null));
  const values = own.map((device) => device && value(device));
  const whole = values.every((each) => each === null || Number.isInteger(each));
  const text = (each: number): string => (whole ? (id === 'year' ? String(each) : count(each)) : plain(each, 4));
  return {
    id,
    group: 'limits',
    label: spoken(label, term),
    unit: spoken(unit, term),
    hint: '',
    better: 'none',
    values,
    texts: values.map((each) => (each === null ? '' : text(each))),
    estimates: own.map((device) => (device ? estimateText(device, value) : '')),
  };
}

function percentOf(fraction: number | null | undefined): number | null {
  return typeof fraction === 'number' ? 100 * fraction : null;
}

const RANGE_HINT =
  'The range under the time is its 90 % range, as in the recommendation. It follows from measured kernels of this kind and from the usual values of assumed inputs';

function rangeText({ designIndex }: { readonly designIndex: number }, ranges: Comparison['ranges']): string {
  const range = ranges.get(designIndex);
  return range ? timeRange(range.lowMs, range.highMs) : '';
}

function implementationRow(name: string, { compared, ranges }: Comparison): CompareRow {
  const own = compared.map(({ entry }) => entry?.byImplementation.find(({ design }) => design.implementation === name));
  return {
    id: `implementation ${name}`,
    group: 'implementations',
    label: name,
    unit: '',
    hint: RANGE_HINT,
    better: 'none',
    values: own.map((row) => row?.timeMs ?? null),
    texts: own.map((row, at) => (row ? timeText(row.timeMs) : compared[at].entry ? '–' : '')),
    estimates: compared.map(() => ''),
    ranges: own.map((row) => (row ? rangeText(row, ranges) : '')),
    beside: own.map((row, at) => {
      const [fastest] = compared[at].entry?.byImplementation ?? [];
      if (!row || !fastest) return '';
      if (row === fastest) return 'fastest';
      return `${change(row.timeMs, fastest.timeMs, 0)} %`;
    }),
  };
}

function estimateText<Kind extends Device>(device: Kind, value: (device: Kind) => number): string {
  const { sources } = device;
  return sentenceCase(
    listEstimates(device, value)
      .map((field) => sources[field] ?? sources['*'])
      .join('. '),
  );
}

function spoken(label: string, term: Term): string {
  const words: readonly (readonly [RegExp, TermKey])[] = [
    [/thread[- ]group(s?)/gi, 'threadGroup'],
    [/multiprocessor(s?)/gi, 'multiprocessor'],
    [/shared memory()/gi, 'sharedMemory'],
    [/\bregister(s?)/gi, 'register'],
    [/\bblock(s?)/gi, 'block'],
  ];
  let text = label;
  for (const [pattern, key] of words)
    text = text.replace(pattern, (_, plural: string) =>
      key === 'multiprocessor'
        ? label.toLowerCase().startsWith('multiprocessor')
          ? term(key, 'many')
          : term(key, 'short')
        : term(key, plural ? 'many' : 'one'),
    );
  return /^[A-Z]/.test(label) ? sentenceCase(text) : text;
}

export function isEqualRow({ texts }: CompareRow): boolean {
  const said = texts.filter((text) => text !== '');
  return said.length > 0 && said.every((text) => text === said[0]);
}
