import { parseBalancing } from '../../../src-workers/domain/balancing.ts';
import type { Device } from '../../../src-workers/domain/device.ts';
import { fail, ok, unwrap, type Result } from '../../../src-workers/domain/result.ts';
import { AXIS } from '../../../src-workers/domain/space.ts';
import { rowPosition } from '../../../src-workers/space/axes.ts';
import { axisPosition, rankedDesigns } from '../../../src-workers/sweep/ranking.ts';
import type { RankRow } from '../../contract/api.ts';
import { LOOPS, NUMBERED } from '../imports/numbered.ts';
import type { Pool } from '../pool.ts';
import { ALL_VALID, rankRow } from '../ranking/rows.ts';
import type { RunView } from '../runs/run-view.ts';
import { renumbered, restrictionsOf, type WordedAxis } from './restrictions.ts';
import type { KernelTunerSpace, TunedDesign, TunerSource, UnitsTable } from './tuners.ts';

/** Chooses the designs of a run for a tuner. */

/** Designs, the best for the study's number of units, that are predicted at other numbers for Triton. */
const TRITON_CANDIDATES = 400;
/** Designs that a file for another tuner lists at most. */
const MAX_TUNER_DESIGNS = 10_000;

/** Numbers of units that are predicted for Triton, over those of the study. */
const UNITS_FACTORS = [1 / 256, 1 / 64, 1 / 16, 1 / 4, 1, 4, 16, 64];
/** Units in a given order are predicted one by one, so larger launches are predicted up to this many units only. */
const MAX_ORDERED_UNITS = 2 ** 22;

/**
 * The best designs of the device of `chosen` that a tuner can launch, and what is left out. Triton varies neither the
 * order of the units nor the loop, so its designs have those of `chosen`, or of the fastest design that it can launch.
 */
export function tunerDesigns(
  view: RunView,
  tuner: 'triton' | 'kernel-tuner' | 'optuna',
  device: Device,
  chosen: RankRow,
  limit: number,
): Result<Pick<TunerSource, 'designs' | 'of' | 'leftOut'> & { readonly most: number }> {
  const { ranking } = view;
  const { axes } = ranking;
  const balancings = axes.balancing.flatMap((text, at) =>
    tuner !== 'optuna' && unwrap(parseBalancing(text)).kind === 'mixed' ? [] : [at],
  );
  const blocks = axes.blockThreads.flatMap((threads, at) => {
    const groups = threads / threadGroupWidth(device);
    return tuner !== 'triton' || (groups >= 1 && Number.isInteger(Math.log2(groups))) ? [at] : [];
  });
  const widths = axes.blockWidth ?? [null];
  const rows = widths.flatMap((width, at) => (width === null ? [at] : []));
  const positions: Record<number, ReadonlySet<number>> = {
    [AXIS.device]: new Set([view.devices.indexOf(device)]),
    [AXIS.balancing]: new Set(balancings),
    [AXIS.blockThreads]: new Set(blocks),
    [AXIS.blockWidth]: new Set(rows),
  };
  const isLaunchable = (design: number): boolean =>
    Object.entries(positions).every(([axis, at]) => at.has(axisPosition(ranking, Number(axis), design)));
  const launchable = rankedDesigns(ranking, { ...ALL_VALID, positions }, 'timeMs');
  if (launchable.length === 0)
    return fail(
      'conflict',
      `Run ${view.run.id} has no design on ${device.name} that ${TUNER_NAMES[tuner]} can launch. ${LAUNCHABLE[tuner]}`,
    );
  let leftOut = [
    balancings.length < axes.balancing.length ? 'Mixed designs, of several launches, are left out.' : '',
    rows.length < widths.length ? 'Designs whose blocks are tiles are left out.' : '',
  ]
    .filter(Boolean)
    .join(' ');
  if (tuner === 'triton') {
    const like = isLaunchable(chosen.designIndex) ? chosen.designIndex : launchable[0];
    for (const axis of [AXIS.implementation, AXIS.loop, AXIS.balancing])
      positions[axis] = new Set([axisPosition(ranking, axis, like)]);
    const { design } = rankRow(view, like, 0, false);
    const named = design.implementation === undefined ? '' : `written as ${design.implementation}, `;
    leftOut = `Only designs ${named}with the order ${design.balancing} and a ${design.loop} loop: Triton does not vary these. ${LAUNCHABLE.triton}`;
  }
  const list = rankedDesigns(ranking, { ...ALL_VALID, positions }, 'timeMs');
  const most = tuner === 'triton' ? TRITON_CANDIDATES : Math.min(limit, MAX_TUNER_DESIGNS);
  const seen = new Set<string>();
  const designs: TunedDesign[] = [];
  for (const index of list) {
    if (designs.length === most) break;
    const launch = axes.launch[axisPosition(ranking, AXIS.launch, index)];
    const row = rankRow(view, index, 0, false);
    const { threadsPerUnit, loop, balancing, blockThreads, gridBlocks, registerCap, implementation } = row.design;
    const isFixed = launch.kind !== 'units-per-thread';
    const own = { unitsPerThread: isFixed ? 0 : launch.value, gridBlocks: isFixed ? gridBlocks : 0 };
    // One launch written in two ways is listed once. Only Triton asks for other numbers of units, where the two differ.
    const launched = tuner === 'triton' ? Object.values(own) : [gridBlocks, row.design.unitsPerThread];
    const key = [implementation, threadsPerUnit, loop, balancing, blockThreads, registerCap, ...launched];
    if (seen.has(key.join('|'))) continue;
    seen.add(key.join('|'));
    designs.push({ row, ...own });
  }
  return ok({ designs, of: list.length, leftOut, most: tuner === 'triton' ? TRITON_CANDIDATES : MAX_TUNER_DESIGNS });
}

/** Axes of Kernel Tuner's whole space. A launch is two of its parameters. */
const WHOLE_AXES = [
  'implementation',
  'threadsPerUnit',
  'loop',
  'balancing',
  'launch',
  'registerCap',
  'blockThreads',
] as const;

/** All designs of a device that Kernel Tuner can launch: values of its parameters, and what leaves out the others. */
export function kernelTunerSpace({ ranking }: RunView, device: Device): KernelTunerSpace | null {
  const { axes } = ranking;
  // The best alone do not say which others can run.
  if (ranking.designs) return null;
  const deviceAt = axes.devices.findIndex(({ id }) => id === device.id);
  const mixed = axes.balancing.map((text) => unwrap(parseBalancing(text)).kind === 'mixed');
  const launches = axes.launch.map(({ kind, value }): readonly [rounds: number, blocks: number] =>
    kind === 'units-per-thread'
      ? [value, 0]
      : [0, kind === 'per-multiprocessor' && device.kind === 'gpu' ? value * device.multiprocessors : value],
  );
  // One number of blocks may be written in two ways.
  const launchAt = launches.map((launch) => launches.findIndex((one) => one.join() === launch.join()));
  const positions = { [AXIS.device]: new Set([deviceAt]), [AXIS.blockWidth]: new Set([rowPosition(axes)]) };
  const designs: number[][] = [];
  for (const design of rankedDesigns(ranking, { ...ALL_VALID, positions }, 'timeMs')) {
    const at = WHOLE_AXES.map((axis) => axisPosition(ranking, AXIS[axis], design));
    if (mixed[at[WHOLE_AXES.indexOf('balancing')]]) continue;
    designs.push(at.map((place, axis) => (WHOLE_AXES[axis] === 'launch' ? launchAt[place] : place)));
  }
  const places = WHOLE_AXES.map((_, axis) => [...new Set(designs.map((one) => one[axis]))].sort((a, b) => a - b));
  const numbers: Readonly<Record<(typeof WHOLE_AXES)[number], (place: number) => number>> = {
    implementation: (place) => place,
    threadsPerUnit: (place) => axes.threadsPerUnit[place],
    loop: (place) => LOOPS.indexOf(axes.loop[place]),
    balancing: (place) => place,
    launch: (place) => launches[place][0],
    registerCap: (place) => axes.registerCap[place] ?? 0,
    blockThreads: (place) => axes.blockThreads[place],
  };
  const lacking = (name: string, values: readonly number[]): string =>
    values.length === 1 ? `${name} != ${values[0]}` : `${name} not in (${values.join(', ')})`;
  const worded = WHOLE_AXES.map((axis, i): WordedAxis => ({
    count: places[i].length,
    lacks: (some) => {
      const own = some.map((place) => places[i][place]);
      if (axis !== 'launch') return lacking(WHOLE_NAMES[axis], own.map(numbers[axis]));
      const rounds = own.map((place) => launches[place][0]).filter((value) => value > 0);
      const blocks = own.map((place) => launches[place][1]).filter((value) => value > 0);
      const both = [lacking('units_per_thread', rounds), lacking('fixed_blocks', blocks)];
      return rounds.length === 0 ? both[1] : blocks.length === 0 ? both[0] : `(${both.join(' and ')})`;
    },
  }));
  const { conditions, wrong } = restrictionsOf(worded, renumbered(designs, places));
  const used = places[WHOLE_AXES.indexOf('launch')].map((place) => launches[place]);
  const values = WHOLE_AXES.flatMap((axis, i) =>
    axis === 'launch'
      ? ([0, 1] as const).map((side) => [['units_per_thread', 'fixed_blocks'][side], used.map((one) => one[side])] as const)
      : [[WHOLE_NAMES[axis], places[i].map(numbers[axis])] as const],
  ); // prettier-ignore
  const sorted = values.map(([name, list]) => [name, [...new Set(list)].sort((a, b) => a - b)] as const);
  const isEither = used.some(([rounds]) => rounds > 0) && used.some(([rounds]) => rounds === 0);
  return {
    values: new Map(sorted),
    restrictions: [...(isEither ? ['(units_per_thread == 0) != (fixed_blocks == 0)'] : []), ...conditions],
    wrong,
  };
}

const WHOLE_NAMES: Readonly<Record<(typeof WHOLE_AXES)[number], string>> = {
  implementation: NUMBERED.implementation[0],
  threadsPerUnit: 'threads_per_unit',
  loop: NUMBERED.loop[0],
  balancing: NUMBERED.balancing[0],
  launch: '',
  registerCap: 'register_cap',
  blockThreads: 'block_size_x',
};

export const TUNER_NAMES = { triton: 'Triton', 'kernel-tuner': 'Kernel Tuner', optuna: 'Optuna' } as const;
const LAUNCHABLE = {
  triton: 'Its blocks have 1, 2, 4, 8, 16 or 32 thread groups, and a mixed design is several launches.',
  'kernel-tuner': 'A mixed design is several launches.',
  optuna: 'Blocks are of one row.',
} as const;

export function threadGroupWidth(device: Device): number {
  return device.kind === 'gpu' ? device.threadGroupWidth : 1;
}

/**
 * Predicts designs at several numbers of units, in a worker. Keeps those that come nearest to the best for at least one
 * number. The first design is always kept, because it is the best for the units of the study.
 */
export async function unitsTable(
  pool: Pool,
  view: RunView,
  designs: readonly TunedDesign[],
  limit: number,
): Promise<{ readonly designs: readonly TunedDesign[]; readonly table: UnitsTable }> {
  const { plan } = view.predictor;
  const most = plan.ordered?.given ? Math.max(plan.units, MAX_ORDERED_UNITS) : Number.MAX_SAFE_INTEGER;
  const wanted = UNITS_FACTORS.map((factor) => Math.max(1, Math.round(plan.units * factor)));
  const units = [...new Set(wanted)].filter((value) => value <= most);
  const timesMs = await pool.run('vary', {
    plan,
    key: plan.id,
    designs: Uint32Array.from(designs, ({ row }) => row.designIndex),
    changes: units.map((value) => (value === plan.units ? null : { input: 'workload.units', value })),
  });
  const best = timesMs.map((times) => times.reduce((least, time) => (time < least ? time : least), Infinity));
  // A design that cannot run has no time, and no ratio.
  const ratio = designs.map((_, at) =>
    timesMs.reduce(
      (least, times, i) => Math.min(least, Number.isNaN(times[at]) ? Infinity : times[at] / best[i]),
      Infinity,
    ),
  );
  const kept = [...designs.keys()]
    .sort((a, b) => ratio[a] - ratio[b])
    .slice(0, limit)
    .sort((a, b) => a - b);
  return {
    designs: kept.map((at) => designs[at]),
    table: { units, timesMs: timesMs.map((times) => kept.map((at) => times[at])) },
  };
}
