import { coarseAxes, coarseDesigns } from '../../../src-workers/advise/coarse.ts';
import { bestMaps, type BestMaps } from '../../../src-workers/advise/maps.ts';
import { createMemory, isComplete, type Memory, type KnownTimes } from '../../../src-workers/advise/earlier.ts';
import { findSharedDesigns } from '../../../src-workers/advise/shared-designs.ts';
import {
  ONLY_FASTEST,
  pickColumns,
  surveyColumns,
  type DesignPart,
  type Survey,
} from '../../../src-workers/advise/survey.ts';
import { allocateChunk, type PredictionColumns } from '../../../src-workers/domain/columns.ts';
import { INVALID_REASONS } from '../../../src-workers/domain/design.ts';
import { AXIS, axisCounts, type SpaceAxes } from '../../../src-workers/domain/space.ts';
import { keep, kept, keptWith } from '../../../src-workers/numeric/kept.ts';
import { AGREEMENT_FRACTION, tieFraction, type TieTable } from '../../../src-workers/sweep/ties.ts';
import type { Pool } from '../pool.ts';
import { sha256 } from '../studies/workloads.ts';
import type { RunView } from '../runs/run-view.ts';
import type { AdvisedDevice } from './prepare.ts';

/**
 * How many designs of a device are examined. `all`: every design is predicted. `fastest`: every design that can be the
 * fastest. `coarse`: a subset. `glance`: as many designs as a short time allows.
 */
export type Look = 'glance' | 'coarse' | 'fastest' | 'all';
/** Ties and the landscape need `whole-coarse`, which predicts every design of the coarse subset. */
type Extent = Look | 'whole-coarse';
const isWhole = (extent: Extent): boolean => extent === 'all' || extent === 'whole-coarse';

export interface DevicePrediction {
  /** The number of designs that were predicted, or excluded by their lower bound. */
  readonly predicted: number;
  readonly invalid: number;
  /** Designs within `AGREEMENT_FRACTION` of the fastest time, ascending in time. */
  readonly equal: Uint32Array;
  readonly columns: PredictionColumns;
  readonly others: {
    /** The designs that are tied with the fastest: at most 20 are listed, fastest first. */
    readonly ties: { readonly count: number; readonly first: readonly number[] };
    /** In a coarse prediction, a cell without a predicted design has the time of the nearest predicted one. */
    readonly landscape: BestMaps;
  } | null;
}

export interface Predictions {
  known(device: AdvisedDevice): DevicePrediction | null;
  /** Throws if `turn` fires. The next call can reuse the laws that were made by then. */
  of(devices: readonly AdvisedDevice[], look: Extent, turn: AbortSignal): Promise<readonly DevicePrediction[]>;
  /** Counts the designs of all these devices together, for each entry of `INVALID_REASONS`. */
  reasons(devices: readonly AdvisedDevice[], turn: AbortSignal): Promise<readonly number[]>;
}

const MAX_LISTED = 20;
const MAX_KEPT = 64;
/** A task takes about ten milliseconds. A newer call may start after each task. */
const MIN_TASK_DESIGNS = 128;
const MAX_TASK_DESIGNS = 2048;
const MAX_REMEMBERED = 192;
/** Enough for the devices of a study and some edits. Each `Memory` takes eight bytes per design. */
const MAX_MEMORIES = 16;
/** The time in which a glance may predict designs, ms. The rest of its answer takes some 30 ms. */
const GLANCE_MS = 60;
/** Number of designs that a glance predicts first, per device and worker: the best designs before the edit. */
const MAX_LEADING = 8;

interface Kept extends Pick<AdvisedDevice, 'inputs'> {
  readonly axes: SpaceAxes;
  readonly prediction: DevicePrediction;
}

interface Recalled {
  readonly designs: Uint32Array;
  readonly columns: PredictionColumns;
  /** The designs that the edit added, if an exact answer needs only these; `null` if it must examine all. */
  readonly added: Uint32Array | null;
}

interface Job {
  readonly device: AdvisedDevice;
  readonly part: DesignPart;
}

export function createPredictions(pool: Pool): Predictions {
  const exact = new Map<string, Kept>();
  const best = new Map<string, Uint32Array>();
  const earlier = new Map<string, KnownTimes>();
  const memories = new Map<string, Memory>();
  const memoryOf = (device: AdvisedDevice): Memory =>
    kept(memories, MAX_MEMORIES, device.plan.id, () =>
      createMemory(device.size, earlier.get(launchesOf(device)) ?? null),
    );
  /** The fastest time found so far for a plan without an exact prediction, ms; Infinity if no valid design is known. */
  const foundMs = new Map<string, number>();

  /** Returns the earlier prediction that covers most designs after an edit of the axes; `null` if none helps. */
  function recall({ device, inputs, plan }: AdvisedDevice): Recalled | null {
    // On a CPU, the first block size stands for all block sizes, and an edit may put another block size first.
    if (device.kind === 'cpu') return null;
    const found = [...exact.values()].flatMap((known) => {
      if (known.inputs !== inputs) return [];
      const { equal, columns } = known.prediction;
      const { renumber, shared, listAdded } = findSharedDesigns(known.axes, plan.axes);
      const first = equal.findIndex((design) => renumber(design) !== null);
      if (first < 0) return [];
      // If the fastest design was removed, designs that the prediction did not keep may now be among the fastest.
      const isComplete = columns.timeMs[first] === columns.timeMs[0];
      return { equal, columns, renumber, listAdded, covered: isComplete ? shared : 0 };
    });
    if (found.length === 0) return null;
    const most = found.reduce((one, other) => (other.covered > one.covered ? other : one));
    const { equal, columns, renumber, listAdded, covered } = most;
    const left = [...equal.entries()].flatMap(([entry, old]) => {
      const design = renumber(old);
      return design === null ? [] : { entry, design };
    });
    return {
      designs: Uint32Array.from(left, ({ design }) => design),
      columns: pickColumns(
        columns,
        left.map(({ entry }) => entry),
      ),
      added: covered > 0 ? listAdded() : null,
    };
  }

  const listCoarse = (device: AdvisedDevice, coarse = coarseDesigns(device.plan.axes)): ReadonlySet<number> =>
    new Set([...(best.get(spaceOf(device)) ?? []), ...coarse]);

  function listParts(
    device: AdvisedDevice,
    look: Extent,
    coarse: Uint32Array,
    recalled: Recalled | undefined,
  ): readonly (readonly DesignPart[])[] {
    if (look === 'all') return deal(exactParts(device), pool.workers);
    const designs =
      look === 'fastest'
        ? (recalled?.added ?? Array.from({ length: device.size }, (_, design) => design))
        : listCoarse(device, coarse);
    return splitByLaws(device, Uint32Array.from(designs), pool.workers);
  }

  async function survey(
    devices: readonly AdvisedDevice[],
    look: Extent,
    recalled: ReadonlyMap<AdvisedDevice, Recalled>,
    turn: AbortSignal,
  ): Promise<ReadonlyMap<AdvisedDevice, readonly Survey[]>> {
    const surveys = new Map(devices.map((device): [AdvisedDevice, Survey[]] => [device, []]));
    const knownMs = new Map(devices.map((device) => [device, foundMs.get(device.plan.id) ?? Infinity]));
    const run = async ({ device, part }: Job, worker: number): Promise<void> => {
      const { plan, key, ties } = device;
      const fastest = { bestMs: knownMs.get(device)!, memory: memoryOf(device) };
      // If the fastest designs are already known, the other designs wait for more urgent tasks.
      const background = look === 'all' && exact.has(plan.id);
      const options = { worker, signal: turn, background };
      const found = await pool.run('survey', { plan, key, part, ties, ...(isWhole(look) ? {} : { fastest }) }, options);
      surveys.get(device)!.push(found);
      knownMs.set(device, Math.min(knownMs.get(device)!, leastOf(found.columns.timeMs)));
    };
    // The devices of a study have all other axes in common, so all of them have the same coarse designs.
    const coarse = devices.length > 0 ? coarseDesigns(devices[0].plan.axes) : new Uint32Array();
    const parts = devices.map((device) => ({ device, parts: listParts(device, look, coarse, recalled.get(device)) }));
    const lanes = Array.from({ length: pool.workers }, (_, worker) => makeLane(parts, worker));
    // A worker first takes its own jobs, because it still has their laws from the last edit. Then it takes other jobs.
    const work = async (own: Job[], worker: number): Promise<void> => {
      for (const lane of [own, ...lanes]) for (let job = lane.shift(); job; job = lane.shift()) await run(job, worker);
    };
    await Promise.all(lanes.map(work));
    // For recalled designs, only the number of invalid designs must still be computed.
    const addRecalled = async (device: AdvisedDevice): Promise<void> => {
      const known = recalled.get(device);
      if (!known?.added) return;
      const { plan, key, size } = device;
      const [valid] = await pool.run('classify', { plan, key }, { signal: turn });
      const own = surveys.get(device)!;
      const invalid = own.reduce((rest, survey) => rest - survey.invalid, size - valid);
      const { designs, columns } = known;
      own.push({ ...ONLY_FASTEST, predicted: size - known.added.length, invalid, designs, columns });
    };
    await Promise.all(devices.map(addRecalled));
    return surveys;
  }

  /** Examines designs for a short time. Each worker gets only one task, because sending a plan takes a millisecond. */
  async function glance(
    devices: readonly AdvisedDevice[],
    turn: AbortSignal,
  ): Promise<ReadonlyMap<AdvisedDevice, readonly Survey[]>> {
    const surveys = new Map(devices.map((device): [AdvisedDevice, Survey[]] => [device, []]));
    if (devices.length === 0) return surveys;
    const untilMs = Date.now() + GLANCE_MS;
    const coarse = coarseDesigns(devices[0].plan.axes);
    const parts = devices.map((device) =>
      splitByLaws(device, Uint32Array.from(listCoarse(device, coarse)), pool.workers),
    );
    const work = async (worker: number): Promise<void> => {
      const jobs = devices.flatMap((device, at) => {
        const remembered = new Set(best.get(spaceOf(device)));
        return parts[at][worker].map((part) => {
          const leading = part.subarray(0, MAX_LEADING).filter((design) => remembered.has(design)).length;
          return { device, part, leading, isNeeded: leading > 0 || remembered.size === 0 };
        });
      });
      // `isNeeded` jobs come first, so that a valid design is found soon.
      jobs.sort((a, b) => Number(b.isNeeded) - Number(a.isNeeded));
      const asked = jobs.map(({ device, ...rest }) => ({
        plan: device.plan,
        key: device.key,
        memory: memoryOf(device),
        ...rest,
      }));
      const found = await pool.run('glance', { parts: asked, untilMs }, { worker, signal: turn });
      for (const [at, { device }] of jobs.entries()) surveys.get(device)!.push(found[at]);
    };
    await Promise.all(Array.from({ length: pool.workers }, (_, worker) => work(worker)));
    return surveys;
  }

  return {
    known: ({ plan }) => exact.get(plan.id)?.prediction ?? null,
    async reasons(devices, turn) {
      const tallies = await Promise.all(
        devices.map(({ plan, key }) => pool.run('classify', { plan, key }, { signal: turn })),
      );
      return INVALID_REASONS.map((_reason, code) => tallies.reduce((sum, tally) => sum + tally[code], 0));
    },
    async of(devices, look, turn) {
      const predictions = new Map<AdvisedDevice, DevicePrediction>();
      const recalled = new Map<AdvisedDevice, Recalled>();
      const predict = async (wanted: readonly AdvisedDevice[], look: Extent): Promise<void> => {
        const found = look === 'glance' ? glance(wanted, turn) : survey(wanted, look, recalled, turn);
        for (const [device, surveys] of await found) {
          const { plan, size, inputs } = device;
          const prediction = joined(device, surveys, look);
          predictions.set(device, prediction);
          if (prediction.predicted === size) {
            keep(exact, MAX_KEPT, plan.id, { inputs, axes: plan.axes, prediction });
            keep(best, MAX_KEPT, spaceOf(device), prediction.equal.slice(0, MAX_REMEMBERED));
            const memory = memories.get(plan.id);
            if (memory && isComplete(memory)) keep(earlier, MAX_MEMORIES, launchesOf(device), memory.own);
          } else keep(foundMs, MAX_KEPT, plan.id, prediction.columns.timeMs[0] ?? Infinity);
        }
      };
      const isKnown = (device: AdvisedDevice): boolean => {
        const known = exact.get(device.plan.id)?.prediction;
        if (!known || (look === 'all' && !known.others)) return false;
        predictions.set(device, known);
        return true;
      };
      const unknown = devices.filter((device) => !isKnown(device));
      if (look === 'fastest' || look === 'glance')
        for (const device of unknown) {
          const known = recall(device);
          if (!known) continue;
          recalled.set(device, known);
          keep(best, MAX_KEPT, spaceOf(device), known.designs.slice(0, MAX_REMEMBERED));
          keep(foundMs, MAX_KEPT, device.plan.id, known.columns.timeMs[0]);
        }
      // If the edit only removed designs, the exact answer needs no prediction.
      if (look === 'glance')
        await predict(
          unknown.filter((device) => recalled.get(device)?.added?.length === 0),
          'fastest',
        );
      if (look === 'fastest')
        await predict(
          unknown.filter(({ plan }) => !foundMs.has(plan.id)),
          'coarse',
        );
      // If the coarse subset of a device has all designs, the answer is exact.
      else if (look !== 'all' && look !== 'glance')
        await predict(
          unknown.filter((device) => listCoarse(device).size === device.size),
          'all',
        );
      await predict(
        unknown.filter((device) => !isKnown(device)),
        look,
      );
      return devices.map((device) => predictions.get(device)!);
    },
  };
}

/** A key of designs, units, resident blocks and registers. The times of an earlier plan help only with an equal key. */
const launchesOf = keptWith((device: AdvisedDevice): string => {
  const { implementations } = device.predictor();
  const launches = implementations.map(({ shapes: [shapes], plan: { kernelsByThreads = {} } }) => [
    shapes.map(({ residentBlocks }) => residentBlocks),
    Object.values(kernelsByThreads).map(({ registersPerThread }) => registersPerThread),
  ]);
  return sha256(JSON.stringify([device.key, spaceOf(device), launches]));
});

/** In spaces with the same key, a number means the same design, whatever the kernels are. */
function spaceOf({ plan: { axes } }: AdvisedDevice): string {
  const implementations = axes.implementations?.map(({ name, allows }) => ({ name, allows }));
  return JSON.stringify({ ...axes, devices: axes.devices.map(({ id }) => id), implementations });
}

export const runPredictions = (view: RunView, own: Predictions): Predictions =>
  view.run.kept ? own : { ...own, ...savedPredictions(view) };

const leastOf = (timesMs: Float64Array): number => timesMs.reduce((least, time) => Math.min(least, time), Infinity);

function savedPredictions({ ranking: { columns } }: RunView): Omit<Predictions, 'reasons'> {
  const of = (device: AdvisedDevice): DevicePrediction => {
    const { plan, size, firstDesign } = device;
    const own = slice(columns, firstDesign, firstDesign + size);
    const waiting = own.timeMs.filter((time, at) => Number.isNaN(time) && own.invalidReason[at] === 0).length;
    return {
      ...joined(device, [surveyColumns(axisCounts(plan.axes), own, device.ties, (at) => at)], 'all'),
      predicted: size - waiting,
    };
  };
  return { known: of, of: async (devices) => devices.map(of) };
}

function slice(columns: PredictionColumns, from: number, to: number): PredictionColumns {
  const own = Object.entries(columns).map(([name, column]) => [
    name,
    ArrayBuffer.isView(column) ? (column as Float64Array).subarray(from, to) : column,
  ]);
  return Object.fromEntries(own) as PredictionColumns;
}

/**
 * Divides designs among the workers so that few laws are computed twice. A space that fits one task is divided by
 * launches, or by block sizes if it has fewer launches than there are workers.
 */
function splitByLaws(
  device: AdvisedDevice,
  designs: Uint32Array,
  workers: number,
): readonly (readonly Uint32Array[])[] {
  const counts = axisCounts(device.plan.axes);
  const [launches, caps, blocks] = [counts[AXIS.launch], counts[AXIS.registerCap], counts[AXIS.blockThreads]];
  const [{ count }] = exactParts(device, MAX_TASK_DESIGNS);
  const placeOf = (design: number): number => {
    if (count < device.size) return Math.floor(design / count);
    return launches < workers ? design % blocks : Math.floor(design / (blocks * caps)) % launches;
  };
  return Array.from({ length: workers }, (_, worker) => {
    const own = designs.filter((design) => placeOf(design) % workers === worker);
    return Array.from({ length: Math.ceil(own.length / count) }, (_part, at) =>
      own.slice(at * count, (at + 1) * count),
    );
  });
}

function deal(parts: readonly DesignPart[], workers: number): readonly (readonly DesignPart[])[] {
  return Array.from({ length: workers }, (_, worker) => parts.filter((_part, at) => at % workers === worker));
}

function makeLane(
  devices: readonly { readonly device: AdvisedDevice; readonly parts: readonly (readonly DesignPart[])[] }[],
  worker: number,
): Job[] {
  const most = Math.max(0, ...devices.map(({ parts }) => parts[worker].length));
  return Array.from({ length: most }, (_, at) =>
    devices.flatMap(({ device, parts }): Job[] =>
      at < parts[worker].length ? [{ device, part: parts[worker][at] }] : [],
    ),
  ).flat();
}

export function exactParts(
  { plan, size }: AdvisedDevice,
  wanted = MIN_TASK_DESIGNS,
): readonly { readonly first: number; readonly count: number }[] {
  const counts = axisCounts(plan.axes);
  const perLaunch = counts[AXIS.registerCap] * counts[AXIS.blockThreads];
  const family = counts[AXIS.launch] * perLaunch;
  const unit = family <= MAX_TASK_DESIGNS ? family : perLaunch;
  const fitting = Math.floor((unit === family ? wanted : MAX_TASK_DESIGNS) / unit);
  const stretch = Math.min(unit * Math.max(1, fitting), MAX_TASK_DESIGNS);
  return Array.from({ length: Math.ceil(size / stretch) }, (_, at) => ({
    first: at * stretch,
    count: Math.min(stretch, size - at * stretch),
  }));
}

function tiedDesigns(
  ties: TieTable,
  surveys: readonly Survey[],
  fastestMs: number,
  fastest: number,
): NonNullable<DevicePrediction['others']>['ties'] {
  let count = 0;
  const first: { readonly design: number; readonly timeMs: number }[] = [];
  const inOrder = (): void => void first.sort((a, b) => a.timeMs - b.timeMs || a.design - b.design).splice(MAX_LISTED);
  for (const { tied, tiedMs } of surveys) {
    for (const [at, design] of tied.entries()) {
      if (!(tiedMs[at] <= fastestMs * (1 + tieFraction(ties, fastest, design)))) continue;
      count += 1;
      first.push({ design, timeMs: tiedMs[at] });
    }
    inOrder();
  }
  return { count, first: first.map(({ design }) => design) };
}

function joined({ plan, size, ties }: AdvisedDevice, surveys: readonly Survey[], look: Extent): DevicePrediction {
  const total = surveys.reduce((sum, { designs }) => sum + designs.length, 0);
  const all = allocateChunk(0, total);
  const names = new Uint32Array(total);
  let at = 0;
  for (const { designs, columns } of surveys) {
    names.set(designs, at);
    for (const [name, column] of Object.entries(columns))
      if (ArrayBuffer.isView(column))
        (all[name as keyof PredictionColumns] as Float64Array).set(column as Float64Array, at);
    at += designs.length;
  }
  const fastest = leastOf(all.timeMs);
  const entries = Array.from(names.keys())
    .filter((entry) => all.timeMs[entry] <= fastest * (1 + AGREEMENT_FRACTION))
    .sort((a, b) => all.timeMs[a] - all.timeMs[b] || names[a] - names[b]);
  const predicted = surveys.reduce((sum, { predicted }) => sum + predicted, 0);
  return {
    predicted,
    invalid: surveys.reduce((sum, { invalid }) => sum + invalid, 0),
    equal: Uint32Array.from(entries, (entry) => names[entry]),
    columns: pickColumns(all, entries),
    others: !isWhole(look)
      ? null
      : {
          ties: entries.length === 0 ? { count: 0, first: [] } : tiedDesigns(ties, surveys, fastest, names[entries[0]]),
          landscape: bestMaps(
            axisCounts(plan.axes),
            surveys.map(({ cells }) => cells),
            predicted < size ? coarseAxes(plan.axes) : null,
          ),
        },
  };
}
