import { isPartition, type Balancing } from '../../../src-workers/domain/design.ts';
import type { Device } from '../../../src-workers/domain/device.ts';
import { PHASES, type Phase } from '../../../src-workers/domain/kernel.ts';
import {
  implementationKernel,
  ownFields,
  type KernelChange,
  type PredictionInputs,
} from '../../../src-workers/domain/provenance.ts';
import { ok, type Result, badInput } from '../../../src-workers/domain/result.ts';
import { type Implementation, type Launch, type SpaceAxes, spaceSize } from '../../../src-workers/domain/space.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import { formatBalancing, parseBalancing } from '../../../src-workers/domain/balancing.ts';
import { parseWorkload } from '../../../src-workers/parse/grammar.ts';
import { formatLaunch } from '../../../src-workers/predict/design/launch.ts';
import { makeUnitLaw, type CompactOrder } from '../../../src-workers/predict/ordered.ts';
import type { SweepPlan } from '../../../src-workers/predict/plan.ts';
import { BEST_DESIGNS, TOO_MANY_TEXT } from '../../contract/counts.ts';
import { MAX_AXIS_VALUES, MAX_DESIGNS, MAX_SPACE, type CountAxis, type Study } from '../../contract/study.ts';
import { sharedLaw } from './workloads.ts';
import type { RunAxes } from '../../../db/records.ts';

function expandAxis(axis: CountAxis, field: string): Result<readonly number[]> {
  if ('from' in axis) {
    const step = axis.step ?? 1;
    if (axis.to < axis.from)
      return badInput(`${field}: "to" must be at least "from" (${axis.from}), not ${axis.to}.`, { field });
    const count = Math.floor((axis.to - axis.from) / step) + 1;
    if (count > MAX_AXIS_VALUES)
      return badInput(`${field} has ${count} values, which is more than the limit of ${MAX_AXIS_VALUES}.`, { field });
    return ok(Array.from({ length: count }, (_, i) => axis.from + i * step));
  }
  return ok([...new Set(axis)].sort((a, b) => a - b));
}

function expandAxes<Name extends string>(
  axes: Readonly<Partial<Record<Name, CountAxis | undefined>>>,
  names: readonly Name[],
  place: string,
): Result<Readonly<Partial<Record<Name, readonly number[]>>>> {
  const expanded: Partial<Record<Name, readonly number[]>> = {};
  for (const name of names) {
    const axis: CountAxis | undefined = axes[name];
    if (axis === undefined) continue;
    const values = expandAxis(axis, `${place}.${name}`);
    if (!values.ok) return values;
    expanded[name] = values.value;
  }
  return ok(expanded);
}

function parseBalancings(texts: readonly string[], place: string): Result<readonly Balancing[]> {
  const balancings: Balancing[] = [];
  for (const [at, text] of texts.entries()) {
    const parsed = parseBalancing(text);
    const field = `${place}[${at}]`;
    if (!parsed.ok) return badInput(`${field}: ${parsed.error.message}`, { field });
    balancings.push(parsed.value);
  }
  return ok(balancings);
}

const COUNT_AXES = [
  'threadsPerUnit',
  'blockThreads',
  'unitsPerThread',
  'gridBlocks',
  'blocksPerMultiprocessor',
  'cores',
] as const;

function shares({ integerShare = 0, fp64Share = 0, specialShare = 0 }: Partial<Phase> = {}): number {
  return integerShare + fp64Share + specialShare;
}

/** Without this check, all designs on a CPU would be invalid, or take no time. */
function checkCpu(study: Study, device: Device, balancing: readonly Balancing[]): Result<null> {
  const { axes, kernel } = study;
  if (!axes.cores)
    return badInput(`axes.cores is missing. Specify numbers of cores for ${device.id}, which is a CPU.`, {
      field: 'axes.cores',
    });
  if (!balancing.some(isPartition))
    return badInput(
      `axes.balancing has only ${axes.balancing.join(', ')}. Add row-split, nonzero-split or merge-path for ${device.id}, which is a CPU.`,
      { field: 'axes.balancing' },
    );
  if (kernel.accesses)
    return badInput(
      `kernel.accesses describes how the lanes of a GPU read memory, but ${device.id} is a CPU. Specify kernel.bytesPerIteration instead, or remove the CPU.`,
      { field: 'kernel.accesses' },
    );
  if (kernel.bytesPerIteration === 0 && kernel.bytesPerUnit === 0)
    return badInput(
      `kernel.bytesPerIteration and bytesPerUnit are both 0. The prediction for a CPU (${device.id}) counts bytes, so specify at least one of the two.`,
      { field: 'kernel.bytesPerIteration' },
    );
  return ok(null);
}

function checkTraffic(
  { accesses, bytesPerIteration }: Pick<KernelChange, 'accesses' | 'bytesPerIteration'>,
  place: string,
): Result<null> {
  const at = accesses?.findIndex((one) => one.missFraction !== undefined && one.pattern !== 'scattered') ?? -1;
  if (at >= 0) {
    const { pattern } = accesses![at];
    return badInput(
      `${place}.accesses[${at}] has missFraction, which only scattered reads have, but its pattern is ${pattern}. Remove missFraction.`,
      { field: `${place}.accesses` },
    );
  }
  if (!accesses || !bytesPerIteration) return ok(null);
  return badInput(
    `${place} has both accesses and bytesPerIteration (${bytesPerIteration} B). Remove bytesPerIteration: the traffic follows from the accesses.`,
    { field: `${place}.bytesPerIteration` },
  );
}

function studyImplementations(
  { implementations, kernel }: Study,
  offered: ReadonlySet<string>,
): Result<readonly Implementation[] | null> {
  if (!implementations) return ok(null);
  const made: Implementation[] = [];
  for (const [at, own] of implementations.entries()) {
    const field = `implementations[${at}]`;
    if (made.some(({ name }) => name === own.name))
      return badInput(`${field}.name: there are two implementations named "${own.name}". Rename one.`, {
        field: `${field}.name`,
      });
    const traffic = checkTraffic(own.kernel, `${field}.kernel`);
    if (!traffic.ok) return traffic;
    const counts = expandAxes(own.axes ?? {}, ['threadsPerUnit', 'blockThreads'], `${field}.axes`);
    if (!counts.ok) return counts;
    const balancing = parseBalancings(own.axes?.balancing ?? [], `${field}.axes.balancing`);
    if (!balancing.ok) return balancing;
    const allows = {
      ...counts.value,
      loop: own.axes?.loop,
      balancing: own.axes?.balancing && balancing.value.map(formatBalancing),
      registerCap: own.axes?.registerCap,
    };
    const { origins: _origins, ...full } = implementationKernel(kernel, own);
    made.push({ name: own.name, kernel: full, own: ownFields(own.kernel), allows });
  }
  for (const [at, { allows }] of made.entries()) {
    const missing = allows.balancing?.find((text) => !offered.has(text));
    if (missing !== undefined) {
      const field = `implementations[${at}].axes.balancing`;
      return badInput(
        `The implementation "${made[at].name}" allows ${missing}, which is not in axes.balancing. Add it there, or remove it from ${field}.`,
        { field },
      );
    }
  }
  return ok(made);
}

function rowWidth({ lengths, width }: Study['workload']): number | undefined {
  if (width !== undefined) return width;
  const parsed = parseWorkload(lengths);
  const workload = parsed.ok ? parsed.value : null;
  return workload?.kind === 'example' && workload.example.kind === 'mandelbrot' ? workload.example.width : undefined;
}

export function studyAxes(study: Study, devices: readonly Device[]): Result<SpaceAxes> {
  const { axes } = study;
  const counts = expandAxes(axes, COUNT_AXES, 'axes');
  if (!counts.ok) return counts;
  const expanded = counts.value;
  const odd = expanded.threadsPerUnit!.find((value) => !Number.isInteger(Math.log2(value)));
  if (odd !== undefined)
    return badInput(`axes.threadsPerUnit must be powers of two, not ${odd}.`, { field: 'axes.threadsPerUnit' });
  const balancing = parseBalancings(axes.balancing, 'axes.balancing');
  if (!balancing.ok) return balancing;
  const traffic = checkTraffic(study.kernel, 'kernel');
  if (!traffic.ok) return traffic;
  const offered = new Set(balancing.value.map(formatBalancing));
  const implementations = studyImplementations(study, offered);
  if (!implementations.ok) return implementations;
  for (const [at, kernel] of [study.kernel, ...(implementations.value ?? []).map((one) => one.kernel)].entries()) {
    const place = at === 0 ? 'kernel' : `implementations[${at - 1}].kernel`;
    for (const [part, sum] of [
      [place, shares(kernel)] as const,
      ...PHASES.map((name) => [`${place}.${name}`, shares(kernel[name])] as const),
    ])
      if (sum > 1 + 1e-9)
        return badInput(
          `${part}.integerShare, fp64Share and specialShare sum to ${Number(sum.toFixed(6))}. Their sum must be at most 1; the rest is FP32.`,
          { field: `${part}.integerShare` },
        );
  }
  const tile = axes.blockWidth?.find((width) => width !== null);
  if (tile !== undefined && rowWidth(study.workload) === undefined)
    return badInput(
      `axes.blockWidth has ${tile}, but the units of ${study.workload.lengths} are not in rows. Specify workload.width, the number of units in a row, or remove axes.blockWidth.`,
      { field: 'axes.blockWidth' },
    );
  const cpu = devices.find((device) => device.kind === 'cpu');
  const checked = cpu ? checkCpu(study, cpu, balancing.value) : ok(null);
  if (!checked.ok) return checked;
  const launch: Launch[] = [
    ...(expanded.unitsPerThread ?? []).map((value) => ({ kind: 'units-per-thread', value }) as const),
    ...(expanded.gridBlocks ?? []).map((value) => ({ kind: 'grid', value }) as const),
    ...(expanded.blocksPerMultiprocessor ?? []).map((value) => ({ kind: 'per-multiprocessor', value }) as const),
  ];
  if (launch.length === 0 && (devices.some((device) => device.kind === 'gpu') || !expanded.cores))
    launch.push({ kind: 'units-per-thread', value: 1 });
  launch.push(...(expanded.cores ?? []).map((value) => ({ kind: 'cores', value }) as const));
  const result: SpaceAxes = {
    devices,
    ...(implementations.value && { implementations: implementations.value }),
    ...(axes.blockWidth && { blockWidth: [...new Set(axes.blockWidth)] }),
    threadsPerUnit: expanded.threadsPerUnit!,
    loop: [...new Set(axes.loop)],
    balancing: [...offered],
    launch,
    registerCap: [...new Set(axes.registerCap)],
    blockThreads: expanded.blockThreads!,
  };
  const size = spaceSize(result);
  if (size > MAX_SPACE)
    return badInput(
      `The axes span ${size.toLocaleString('en')} designs, which is more than the limit of ${MAX_SPACE.toLocaleString('en')}.`,
      { field: 'axes' },
    );
  return ok(result);
}

export function tooLarge(axes: SpaceAxes): Result<never> | null {
  const size = spaceSize(axes);
  return size > MAX_DESIGNS
    ? badInput(
        `The axes span ${size.toLocaleString('en')} designs. ${TOO_MANY_TEXT} (On the command line: lockstep sweep --best ${BEST_DESIGNS}.)`,
        { field: 'axes' },
      )
    : null;
}

export function predictionInputs(
  { workload, kernel, implementations, pipeline }: Study,
  axes: SpaceAxes,
): PredictionInputs {
  return {
    workload,
    kernel,
    axes,
    pipeline,
    implementations: axes.implementations?.map(({ name, allows }, at) => ({
      name,
      kernel: implementations![at].kernel,
      allows,
    })),
  };
}

export function storedAxes(axes: SpaceAxes): RunAxes {
  return {
    device: axes.devices.map((device) => device.id),
    threadsPerUnit: axes.threadsPerUnit,
    loop: axes.loop,
    balancing: axes.balancing,
    launch: axes.launch.map(formatLaunch),
    registerCap: axes.registerCap,
    blockThreads: axes.blockThreads,
  };
}

/** Returns the plan of a sweep. If the units have an order, their lengths replace `law`. */
export function sweepPlan(
  id: string,
  study: Study,
  axes: SpaceAxes,
  law: LengthLaw,
  ordered: CompactOrder | null = null,
): SweepPlan {
  const { units } = study.workload;
  return {
    id,
    axes,
    law: sharedLaw(ordered?.given ? makeUnitLaw(law.label, ordered, units) : law),
    ordered,
    width: rowWidth(study.workload),
    units,
    kernel: study.kernel,
    constraints: study.constraints,
    pipeline: study.pipeline,
  };
}
