import type { Balancing } from '../../src-workers/domain/design.ts';
import type { GpuDevice } from '../../src-workers/domain/device.ts';
import { fail, ok, type Result } from '../../src-workers/domain/result.ts';
import type { Launch, SpaceAxes } from '../../src-workers/domain/space.ts';
import type { LengthLaw } from '../../src-workers/domain/workload.ts';
import { formatBalancing, parseBalancing } from '../../src-workers/models/balancing/parse.ts';
import { formatLaunch } from '../../src-workers/sweep/launch.ts';
import { spaceSize } from '../../src-workers/space/axes.ts';
import type { SweepPlan } from '../../src-workers/sweep/plan.ts';
import { MAX_AXIS_VALUES, MAX_DESIGNS, type CountAxis, type Study } from '../contract/study.ts';
import type { RunAxes } from '../../db/records.ts';

/** The values of an axis in ascending order, each once. */
function expandAxis(axis: CountAxis, field: string): Result<readonly number[]> {
  if ('from' in axis) {
    const step = axis.step ?? 1;
    if (axis.to < axis.from) return fail('bad-input', `${field}: got from ${axis.from} to ${axis.to}, expected "to" at least "from"`, { field });
    const count = Math.floor((axis.to - axis.from) / step) + 1;
    if (count > MAX_AXIS_VALUES) return fail('bad-input', `${field}: got a range of ${count} values, expected at most ${MAX_AXIS_VALUES}`, { field });
    return ok(Array.from({ length: count }, (_, i) => axis.from + i * step));
  }
  return ok([...new Set(axis)].sort((a, b) => a - b));
}

/** Expands the axes of a study over its devices. Fails with the field that is wrong. */
export function studyAxes(study: Study, devices: readonly GpuDevice[]): Result<SpaceAxes> {
  const { axes } = study;
  const expanded: Partial<Record<'threadsPerUnit' | 'blockThreads' | 'unitsPerThread' | 'gridBlocks' | 'blocksPerMultiprocessor', readonly number[]>> = {};
  for (const name of ['threadsPerUnit', 'blockThreads', 'unitsPerThread', 'gridBlocks', 'blocksPerMultiprocessor'] as const) {
    const axis = axes[name];
    if (axis === undefined) continue;
    const values = expandAxis(axis, `axes.${name}`);
    if (!values.ok) return values;
    expanded[name] = values.value;
  }
  const odd = expanded.threadsPerUnit!.find((value) => !Number.isInteger(Math.log2(value)));
  if (odd !== undefined)
    return fail('bad-input', `axes.threadsPerUnit: got ${odd}, expected powers of two`, { field: 'axes.threadsPerUnit' });
  const balancing: string[] = [];
  for (const [position, text] of axes.balancing.entries()) {
    const parsed: Result<Balancing> = parseBalancing(text);
    const field = `axes.balancing[${position}]`;
    if (!parsed.ok) return fail('bad-input', `${field}: ${parsed.error.message}`, { field });
    balancing.push(formatBalancing(parsed.value));
  }
  const launch: Launch[] = [
    ...(expanded.unitsPerThread ?? []).map((value) => ({ kind: 'units-per-thread', value }) as const),
    ...(expanded.gridBlocks ?? []).map((value) => ({ kind: 'grid', value }) as const),
    ...(expanded.blocksPerMultiprocessor ?? []).map((value) => ({ kind: 'per-multiprocessor', value }) as const),
  ];
  if (launch.length === 0) launch.push({ kind: 'units-per-thread', value: 1 });
  const result: SpaceAxes = {
    devices,
    threadsPerUnit: expanded.threadsPerUnit!,
    loop: [...new Set(axes.loop)],
    balancing: [...new Set(balancing)],
    launch,
    registerCap: [...new Set(axes.registerCap)],
    blockThreads: expanded.blockThreads!,
  };
  const size = spaceSize(result);
  if (size > MAX_DESIGNS)
    return fail('bad-input', `axes: got ${size.toLocaleString('en')} designs, expected at most ${MAX_DESIGNS.toLocaleString('en')}`, { field: 'axes' });
  return ok(result);
}

/** The axes as the store keeps them: text and numbers a person can read. */
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

/** What workers need to predict any design of the study. */
export function sweepPlan(id: string, study: Study, axes: SpaceAxes, law: LengthLaw): SweepPlan {
  return { id, axes, law, units: study.workload.units, kernel: study.kernel, constraints: study.constraints, pipeline: study.pipeline };
}
