import type { ContentionFindings, MeasuredCase, MeasuredDevice } from '../../../src-main/contract/measuring.ts';
import type { CaseOf } from '../../../src-workers/domain/benchmark.ts';
import type { Device } from '../../../src-workers/domain/device.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import { fitDivergence } from '../../../src-workers/models/calibration/divergence.ts';
import { CONTENTION_MODELS } from '../../../src-workers/models/contention/time.ts';
import { runLoops } from '../../../src-workers/models/divergence/figures.ts';
import { EXCHANGE_LATENCY_CYCLES } from '../../../src-workers/models/pipeline/derive.ts';
import { classLanes } from '../../../src-workers/models/pipeline/instruction-classes.ts';
import { lossMoments } from '../../../src-workers/models/imbalance/closed-form.ts';
import { median } from '../../../src-workers/numeric/statistics.ts';
import { NBSP, bytes, count, plain, signed } from '../../format/numbers.ts';
import { isSameDevice } from './setup.ts';

export function valueOf(each: MeasuredCase, name: string): number | null {
  const value = each.values[name];
  if (value === undefined) return null;
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  return value.length === 0 ? null : median(Float64Array.from(value));
}

function casesOf<Id extends MeasuredCase['case']['benchmark']>(cases: readonly MeasuredCase[], id: Id) {
  return cases.flatMap((each) =>
    each.case.benchmark === id ? [{ each, parameters: each.case.parameters as CaseOf<Id>['parameters'] }] : [],
  );
}

const WORKLOADS = {
  triangular: { title: 'Triangular matrix', note: 'even rows: core i has work ∝ 2i − 1' },
  amdahl: { title: 'One busier core', note: 'core 1 has P + 1 shares, each other core has one' },
} as const;

export function contentionTables({ workloads }: ContentionFindings) {
  return (['triangular', 'amdahl'] as const).flatMap((workload) => {
    const own = workloads.filter((each) => each.workload === workload);
    if (own.length === 0) return [];
    const models = [...new Set(own.flatMap((each) => each.models.map(({ model }) => model)))];
    const rows = [...own]
      .sort((a, b) => a.cores - b.cores)
      .map((each) => {
        const least = Math.min(...each.models.map(({ error }) => Math.abs(error)));
        return {
          cores: each.cores,
          measuredMs: each.measuredMs,
          models: models.map((name) => {
            const found = each.models.find(({ model }) => model === name);
            return found ? { timeMs: found.timeMs, error: found.error, best: Math.abs(found.error) === least } : null;
          }),
        };
      });
    const labels = models.map((model) => CONTENTION_MODELS.find(({ id }) => id === model)?.label ?? model);
    return [{ workload, ...WORKLOADS[workload], models: labels, rows }];
  });
}

export type MatrixPowerRow = ReturnType<typeof matrixPowerRows>[number];

export function matrixPowerRows(cases: readonly MeasuredCase[], laws: Readonly<Record<string, LengthLaw>>) {
  const seen = new Set<string>();
  return casesOf(cases, 'matrix-power').flatMap(({ each, parameters }) => {
    const measuredMean = valueOf(each, 'meanLoss');
    const measuredAggregate = valueOf(each, 'aggregateLoss');
    if (measuredMean === null && measuredAggregate === null) return [];
    // A row comes from two cases: units in lockstep, and units in separate groups. The first case with losses counts.
    const key = `${parameters.lengths} ${parameters.unitsPerGroup} ${parameters.synchronised}`;
    if (seen.has(key)) return [];
    seen.add(key);
    const law = laws[parameters.lengths];
    const model = law ? lossMoments(law, [parameters.unitsPerGroup])[0] : null;
    return [
      {
        lengths: parameters.lengths,
        n: parameters.unitsPerGroup,
        synchronised: parameters.synchronised,
        measuredAggregate,
        measuredMean,
        modelAggregate: model?.aggregateLoss ?? null,
        modelMean: model?.meanLoss ?? null,
      },
    ];
  });
}

/** Fits the model only if `complete` (all times have arrived), because emulating the stack takes long. */
export function loopFindings(cases: readonly MeasuredCase[], complete: boolean) {
  const own = casesOf(cases, 'divergent-loops');
  const unit = own.some(({ each }) => valueOf(each, 'cycles') !== null) ? 'cycles' : 'ns';
  const runs = own.flatMap(({ each, parameters }) => {
    const cycles = unit === 'cycles' ? valueOf(each, 'cycles') : each.measured && each.measured.medianMs * 1e6;
    return cycles === null ? [] : [{ loops: parameters.loops, divergentLanes: parameters.divergentLanes, cycles }];
  });
  const fitted = complete ? fitDivergence(runs.filter(({ divergentLanes }) => divergentLanes < 32)) : null;
  const fit = fitted?.ok ? fitted.value : null;
  const curves = (['single', 'double'] as const).flatMap((loops) => {
    const points = runs
      .filter((run) => run.loops === loops)
      .map((run) => [run.divergentLanes, run.cycles] as const)
      .sort((a, b) => a[0] - b[0]);
    if (points.length === 0) return [];
    const base = fit?.baseCycles[loops] ?? null;
    const model =
      fit === null || base === null
        ? []
        : points.map(([lanes]) => {
            const stack = runLoops(loops, lanes);
            return [
              lanes,
              base +
                fit.cyclesPerDivergentBranch * stack.divergentBranches +
                (fit.cyclesPerSpillAndLoad ?? 0) * stack.spills,
            ] as const;
          });
    return [{ loops, points, model }];
  });
  return { curves, fit, unit };
}

export function launchTimes(cases: readonly MeasuredCase[]) {
  const own = casesOf(cases, 'launch-grid').filter(({ each }) => each.measured !== null);
  if (own.length === 0) return null;
  const sorted = (values: readonly number[]) => [...new Set(values)].sort((a, b) => a - b);
  const blocks = sorted(own.map(({ parameters }) => parameters.blocks));
  const threadsPerBlock = sorted(own.map(({ parameters }) => parameters.threads));
  const values = new Float64Array(blocks.length * threadsPerBlock.length).fill(NaN);
  for (const { each, parameters } of own)
    values[blocks.indexOf(parameters.blocks) * threadsPerBlock.length + threadsPerBlock.indexOf(parameters.threads)] =
      each.measured!.medianMs;
  const times = own.map(({ each }) => each.measured!.medianMs);
  return { blocks, threadsPerBlock, values, bestMs: Math.min(...times), worstMs: Math.max(...times) };
}

const isBytes = (name: string) => /bytes/i.test(name) || /^max\w*(Buffer|Binding|Storage)Size$/.test(name);

function spaced(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/[-_.]/g, ' ')
    .toLowerCase()
    .replace(/\bgb s\b/, 'GB/s')
    .replace(/\bmhz\b/, 'MHz');
}

function catalogueValues(device: Device | null): Readonly<Record<string, number>> {
  if (device === null) return {};
  if (device.kind === 'cpu') return { cores: device.cores, bandwidthGbS: device.fullBandwidthGbS };
  const { limits } = device;
  return {
    multiprocessors: device.multiprocessors,
    schedulers: device.schedulersPerMultiprocessor,
    threadGroupWidth: device.threadGroupWidth,
    clockMhz: device.clockMhz,
    bandwidthGbS: device.memoryBandwidthGbS,
    threadsPerBlock: limits.maxThreadsPerBlock,
    blockSlots: limits.maxBlocksPerMultiprocessor,
    threadGroupSlots: limits.maxThreadGroupsPerMultiprocessor,
    registers: limits.registersPerMultiprocessor,
    sharedBytes: limits.sharedMemoryBytesPerMultiprocessor,
    sharedBytesPerBlockOptIn: limits.maxSharedMemoryBytesPerBlock,
    gridX: limits.maxGridBlocks,
    maxComputeInvocationsPerWorkgroup: limits.maxThreadsPerBlock,
    maxComputeWorkgroupStorageSize: limits.maxSharedMemoryBytesPerBlock,
    subgroupMinSize: device.threadGroupWidth,
    subgroupMaxSize: device.threadGroupWidth,
  };
}

const PROBED_CLASSES: Readonly<Record<string, 'fp32' | 'integer' | 'fp64' | 'special'>> = {
  'float-add': 'fp32',
  'float-multiply': 'fp32',
  'float-multiply-add': 'fp32',
  'double-multiply-add': 'fp64',
  'integer-add': 'integer',
  'integer-multiply-add': 'integer',
  logic: 'integer',
  special: 'special',
};

function catalogueValue(device: Device | null, probe: string, name: string): number | null {
  if (device?.kind !== 'gpu') return catalogueValues(device)[name] ?? null;
  const probed = PROBED_CLASSES[probe];
  switch (`${probe} ${name}`) {
    case 'cache-l2 capacityBytes':
      return device.l2Bytes;
    case 'cache-l2 missLatencyCycles':
      return device.memoryLatencyCycles;
    case 'shuffle latencyCycles':
    case 'shared-memory latencyCycles':
      return EXCHANGE_LATENCY_CYCLES;
  }
  if (name === 'lanesPerCycle') return probed === undefined ? null : classLanes(device)[probed];
  // The model has only one latency of arithmetic, for FP32 and integer instructions.
  if (name === 'latencyCycles')
    return probed === 'fp32' || probed === 'integer' ? device.dependentIssueLatencyCycles : null;
  return catalogueValues(device)[name] ?? null;
}

const TOLERANCE = 0.1;

/** Returns whether the two values agree, or a note why they may differ although both are right. */
function compareProbe(probe: string, name: string, found: number, stated: number) {
  const ratio = found / stated;
  if (probe === 'bandwidth' && name === 'bandwidthGbS' && ratio >= 0.5 && ratio <= 1)
    return { agrees: null, note: `${plain(100 * ratio, 3)} % of the peak` };
  const agrees = Math.abs(ratio - 1) <= TOLERANCE;
  // In an L2 cache of two halves, a multiprocessor's data stays in the nearer half, so a probe finds half the size.
  if (!agrees && probe === 'cache-l2' && name === 'capacityBytes' && Math.abs(2 * ratio - 1) <= 2 * TOLERANCE)
    return { agrees: null, note: 'One multiprocessor sees only the nearer half of the cache.' };
  return { agrees, note: '' };
}

export function catalogueDevice(devices: readonly Device[], measuredName: string): Device | null {
  return devices.find(({ name }) => isSameDevice(name, measuredName)) ?? null;
}

const FIELD_NAMES: Readonly<Record<MeasuredDevice['changes'][number]['field'], string>> = {
  achievedBandwidthFraction: 'achieved part of the bandwidth',
  randomSectorsGbS: 'random sectors from memory, GB/s',
  cachedSectorsGbS: 'random sectors from the level-2 cache, GB/s',
};

export function changeTexts({ changes }: MeasuredDevice): readonly string[] {
  return changes
    .filter(({ before, after }) => before !== after)
    .map(({ field, before, after }) => {
      const change = before === null ? '' : ` (${signed((after / before - 1) * 100)}${NBSP}%)`;
      return `${FIELD_NAMES[field]} ${before === null ? 'not known' : plain(before, 4)} → ${plain(after, 4)}${change}`;
    });
}

/** Returns probed values beside those of predictions. `agrees` is null if only one is known, or both may be right. */
export function probeRows(cases: readonly MeasuredCase[], device: Device | null) {
  const write = (name: string, value: number) =>
    isBytes(name) ? bytes(value) : Number.isInteger(value) ? count(value) : plain(value, 4);
  return casesOf(cases, 'probe').flatMap(({ each, parameters }) => {
    const probe = spaced(parameters.probe);
    if (each.failure !== null)
      return [{ probe, property: '', found: each.failure, catalogue: '', agrees: null, note: '' }];
    return Object.entries(each.values)
      .filter((entry): entry is [string, number] => typeof entry[1] === 'number')
      .map(([name, value]) => {
        const stated = catalogueValue(device, parameters.probe, name);
        return {
          probe,
          property: spaced(name),
          found: write(name, value),
          catalogue: stated === null ? '' : write(name, stated),
          ...(stated === null ? { agrees: null, note: '' } : compareProbe(parameters.probe, name, value, stated)),
        };
      });
  });
}
