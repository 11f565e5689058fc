import { coarseAxes, coarseDesigns } from '../../../src-workers/advise/coarse.ts';
import { bestMaps, type BestMaps } from '../../../src-workers/advise/maps.ts';
import { pickColumns, surveyColumns, type DesignPart, type Survey } from '../../../src-workers/advise/survey.ts';
import { allocateChunk, type PredictionColumns } from '../../../src-workers/domain/columns.ts';
import { AXIS, axisCounts } from '../../../src-workers/domain/space.ts';
import { keep } from '../../../src-workers/numeric/kept.ts';
import { AGREEMENT_FRACTION, tieFraction, type TieTable } from '../../../src-workers/sweep/ties.ts';
import type { Pool } from '../pool.ts';
import type { RunView } from '../runs/run-view.ts';
import type { AdvisedDevice } from './prepare.ts';

/** The designs of a device to predict: a subset, all that could equal the fastest, or all. */
export type Look = 'coarse' | 'fastest' | 'all';

/** The best designs of one device. Other designs are not kept. */
export interface DevicePrediction {
  /** The number of designs that were predicted, or excluded by their lower bound. */
  readonly predicted: number;
  readonly invalid: number;
  /** The designs whose predicted time equals that of the fastest, ascending in time. Empty if none is valid. */
  readonly equal: Uint32Array;
  /** The predictions of the `equal` designs. */
  readonly columns: PredictionColumns;
  /** Results for designs other than the fastest. Null if only the fastest were needed. */
  readonly others: {
    /** The best of every group in an exact prediction, see `Survey`. */
    readonly near: Uint32Array;
    /** The designs tied with the fastest, before the rule of the pick: their number, and at most 20 of them by time. */
    readonly ties: { readonly count: number; readonly first: readonly number[] };
    /** Maps. In a coarse prediction, a cell without a predicted design has the time of the nearest one. */
    readonly landscape: BestMaps;
  } | null;
}

export interface Predictions {
  /** Returns an earlier prediction of all designs of the device, or null. */
  known(device: AdvisedDevice): DevicePrediction | null;
  /** Predicts designs of a device. Throws when the turn ends; the next call reuses the laws made until then. */
  of(device: AdvisedDevice, look: Look, turn: AbortSignal): Promise<DevicePrediction>;
}

const MAX_LISTED = 20;
/** The number of results to keep, each a few kilobytes. */
const MAX_KEPT = 64;
/** The number of designs in one task, about ten milliseconds of work. A newer call may start after each task. */
const MIN_TASK_DESIGNS = 128;
const MAX_TASK_DESIGNS = 2048;
/** A coarse subset includes at most this many of the designs that were best before an edit. */
const MAX_REMEMBERED = 192;

export function createPredictions(pool: Pool): Predictions {
  const kept = new Map<string, DevicePrediction>();
  const best = new Map<string, Uint32Array>();
  /** The fastest time of a coarse subset, ms, by plan. */
  const coarseMs = new Map<string, number>();

  /** Surveys the parts, in any order. `bestMs`: see `surveyFastest`. */
  async function surveyParts(
    { plan, key, ties }: AdvisedDevice,
    parts: readonly DesignPart[],
    turn: AbortSignal,
    bestMs?: number,
  ): Promise<readonly Survey[]> {
    const surveys: Survey[] = [];
    let knownMs = bestMs;
    // A worker first takes the parts that it had before the last edit, because it still has their laws. Then it takes
    // parts that other workers have not started.
    const lanes = Array.from({ length: pool.workers }, (_, worker) =>
      parts.filter((_part, at) => at % pool.workers === worker),
    );
    const predict = async (own: DesignPart[], worker: number): Promise<void> => {
      for (const lane of [own, ...lanes])
        for (let part = lane.shift(); part; part = lane.shift()) {
          const known = knownMs === undefined ? {} : { bestMs: knownMs };
          const survey = await pool.run('survey', { plan, key, part, ties, ...known }, { worker, signal: turn });
          surveys.push(survey);
          if (knownMs !== undefined) knownMs = Math.min(knownMs, findFastest(survey));
        }
    };
    await Promise.all(lanes.map(predict));
    return surveys;
  }

  /** Returns the time of some fast design, ms. The closer it is to the fastest, the fewer designs must be predicted. */
  async function reachedMs(device: AdvisedDevice, before: Uint32Array | undefined, turn: AbortSignal): Promise<number> {
    const known = coarseMs.get(device.plan.id);
    if (known !== undefined) return known;
    const designs = before ?? coarseDesigns(device.plan.axes);
    const surveys = await surveyParts(device, workerParts(device, designs, pool.workers), turn, Infinity);
    return Math.min(Infinity, ...surveys.map(findFastest));
  }

  return {
    known: ({ plan }) => kept.get(plan.id) ?? null,
    async of(device, look, turn) {
      const { plan, size } = device;
      const known = kept.get(plan.id);
      if (known && (look !== 'all' || known.others)) return known;
      const space = JSON.stringify({ ...plan.axes, devices: plan.axes.devices.map(({ id }) => id) });
      const before = best.get(space);
      const parts = {
        coarse: () => coarseParts(device, before, pool.workers),
        fastest: () => fastestParts(device, pool.workers),
        all: () => exactParts(device),
      }[look]();
      const bestMs = look === 'fastest' ? await reachedMs(device, before, turn) : undefined;
      const surveys = await surveyParts(device, parts, turn, bestMs);
      const prediction = joined(device, surveys, look);
      if (prediction.predicted === size) {
        keep(kept, MAX_KEPT, plan.id, prediction);
        keep(best, MAX_KEPT, space, prediction.equal.slice(0, MAX_REMEMBERED));
      } else if (prediction.equal.length > 0) keep(coarseMs, MAX_KEPT, plan.id, prediction.columns.timeMs[0]);
      return prediction;
    },
  };
}

/** Infinity if no design is valid or fast enough. */
function findFastest({ columns }: Survey): number {
  return columns.timeMs.reduce((least, time) => Math.min(least, time), Infinity);
}

export function savedPredictions({ ranking: { columns } }: RunView): Predictions {
  const of = (device: AdvisedDevice): DevicePrediction => {
    const { plan, size, firstDesign } = device;
    const own = slice(columns, firstDesign, firstDesign + size);
    const waiting = own.timeMs.filter((time, at) => Number.isNaN(time) && own.invalidReason[at] === 0).length;
    return {
      ...joined(device, [surveyColumns(axisCounts(plan.axes), own, 0, device.ties)], 'all'),
      predicted: size - waiting,
    };
  };
  return { known: of, of: async (device) => of(device) };
}

function slice(columns: PredictionColumns, from: number, to: number): PredictionColumns {
  const own = Object.entries(columns).map(([name, column]) => [
    name,
    ArrayBuffer.isView(column) ? (column as Float64Array).subarray(from, to) : column,
  ]);
  return Object.fromEntries(own) as PredictionColumns;
}

/**
 * Divides designs among the workers. If a space fits one task, few families take most of the time. The parts are
 * therefore split by launches or block sizes, so that no two workers compute the same laws.
 */
function workerParts({ plan, size }: AdvisedDevice, designs: Uint32Array, workers: number): readonly Uint32Array[] {
  const counts = axisCounts(plan.axes);
  const [launches, caps, blocks] = [counts[AXIS.launch], counts[AXIS.registerCap], counts[AXIS.blockThreads]];
  const placeOf = (design: number): number =>
    launches < workers ? design % blocks : Math.floor(design / (blocks * caps)) % launches;
  const isOwn = size <= MAX_TASK_DESIGNS;
  const parts = Array.from({ length: workers }, (_, worker) =>
    designs.filter((design, at) => (isOwn ? placeOf(design) : at) % workers === worker),
  );
  return parts.filter((part) => part.length > 0);
}

/** Divides all designs into parts when only the fastest one is needed. */
function fastestParts(device: AdvisedDevice, workers: number): readonly DesignPart[] {
  const parts = exactParts(device, MAX_TASK_DESIGNS);
  const all = (): Uint32Array => Uint32Array.from({ length: device.size }, (_, design) => design);
  return parts.length > 1 ? parts : workerParts(device, all(), workers);
}

/** Divides all designs into parts of about `wanted` designs that share laws. */
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

function coarseParts(
  { plan, size }: AdvisedDevice,
  before: Uint32Array | undefined,
  workers: number,
): readonly DesignPart[] {
  const coarse = coarseDesigns(plan.axes);
  const designs = before ? Uint32Array.from(new Set([...coarse, ...before])) : coarse;
  if (designs.length >= size) return [{ first: 0, count: size }];
  const length = Math.ceil(designs.length / (2 * workers));
  return Array.from({ length: Math.ceil(designs.length / length) }, (_, at) =>
    designs.slice(at * length, (at + 1) * length),
  );
}

/** Returns the number of designs tied with the fastest, and the first ones by time. */
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

/** Combines the surveys of several parts. */
function joined({ plan, size, ties }: AdvisedDevice, surveys: readonly Survey[], look: Look): DevicePrediction {
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
  const fastest = all.timeMs.reduce((least, time) => Math.min(least, time), Infinity);
  const entries = Array.from(names.keys())
    .filter((entry) => all.timeMs[entry] <= fastest * (1 + AGREEMENT_FRACTION))
    .sort((a, b) => all.timeMs[a] - all.timeMs[b] || names[a] - names[b]);
  const predicted = surveys.reduce((sum, { predicted }) => sum + predicted, 0);
  return {
    predicted,
    invalid: surveys.reduce((sum, { invalid }) => sum + invalid, 0),
    equal: Uint32Array.from(entries, (entry) => names[entry]),
    columns: pickColumns(all, entries),
    others:
      look === 'fastest'
        ? null
        : {
            ties:
              entries.length === 0 ? { count: 0, first: [] } : tiedDesigns(ties, surveys, fastest, names[entries[0]]),
            near: Uint32Array.from(surveys.flatMap(({ near }) => [...near])),
            landscape: bestMaps(
              axisCounts(plan.axes),
              surveys.map(({ cells }) => cells),
              predicted < size ? coarseAxes(plan.axes) : null,
            ),
          },
  };
}
