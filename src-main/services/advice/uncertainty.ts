import { coarseDesigns } from '../../../src-workers/advise/coarse.ts';
import { pickDesign } from '../../../src-workers/advise/pick.ts';
import { bestOfGroups, makeGroupFinder, listNeighbours, listVariants } from '../../../src-workers/advise/promising.ts';
import {
  designsToMeasure,
  errorParts,
  notToldApart,
  withErrors,
  type ErrorPlace,
} from '../../../src-workers/advise/separation.ts';
import {
  gainOfKnowing,
  GOOD_FRACTION,
  computeRegrets,
  type DesignRegret,
} from '../../../src-workers/advise/uncertainty.ts';
import { makeDraws, unknownPaths, type Draw, type Unknown } from '../../../src-workers/advise/unknown.ts';
import { kernelOrigin } from '../../../src-workers/domain/provenance.ts';
import { ok, type Result } from '../../../src-workers/domain/result.ts';
import { describeDesign } from '../../../src-workers/predict/designs.ts';
import { shortestLaunchMs } from '../../../src-workers/predict/launch-costs.ts';
import { axisCounts } from '../../../src-workers/domain/space.ts';
import { AGREEMENT_FRACTION } from '../../../src-workers/sweep/ties.ts';
import type { UncertainDesign, Uncertainty, WorthKnowing } from '../../contract/advice.ts';
import type { Context } from '../context.ts';
import type { Pool } from '../pool.ts';
import { percent } from '../export/text.ts';
import { designText } from '../../../src-workers/domain/design.ts';
import type { Predictions } from './predictions.ts';
import type { AdvisedDevice, AdvisedStudy } from './prepare.ts';
import { advise } from './recommend.ts';
import { ASSUMED_LAWS } from '../../../src-workers/domain/assumed-laws.ts';
import { GATHERS } from '../studies/inputs.ts';
import { DRAWS, unknownIn, unknownInput } from './unknown.ts';

/** This many draws decide which groups have candidates. The designs of a group differ only in block and launch. */
const FIRST_DRAWS = 6;
/**
 * A group is dropped if it is the fastest in none of the first draws, and its expected regret (a logarithm of a ratio)
 * exceeds the least expected regret by more than this.
 */
const FAR = Math.log(1.5);
/** More block sizes and launches are tried for this many groups, with the inputs at their middle values. */
const REFINED = 16;
const LEADING = 4;
const VARIANTS_OF_DRAW = 3;
const MAX_LISTED = 40;
const MAX_EQUAL = 16;
const LEAST_GAIN = 0.001;

export async function uncertainty(
  { pool }: Context,
  predictions: Predictions,
  study: AdvisedStudy,
  options: { readonly deviceId?: string | undefined; readonly designs?: readonly number[] | undefined },
  turn: AbortSignal,
): Promise<Result<Uncertainty>> {
  const start = performance.now();
  const advised = await advise(predictions, study, { deviceId: options.deviceId, look: 'fastest' }, turn);
  if (!advised.ok) return advised;
  const { device, prediction, picked } = advised.value;
  const unknown = unknownIn(study, device);
  const isOpen = unknownPaths(unknown).length > 0;
  const times = timesUnder(pool, device, unknown, turn);

  // A few block sizes and launches show which groups of designs can be the fastest. Trying all takes too long.
  const { axes } = device.plan;
  const few = Uint32Array.from(new Set([...prediction.equal, ...coarseDesigns(axes)]));
  const [fewMs] = await times(few, [{}]);
  const more = Uint32Array.from(new Set(listNeighbours(axes, bestOfGroups(axes, few, fewMs).slice(0, REFINED))));
  const [moreMs] = await times(more, [{}]);
  const groups = bestOfGroups(axes, Uint32Array.of(...few, ...more), Float64Array.of(...fewMs, ...moreMs));
  const draws = isOpen ? makeDraws(unknown, DRAWS) : [{}];
  const asked = (options.designs ?? []).map((design) => design - device.firstDesign);
  const promising = await promisingDesigns(device, groups, draws, times);
  const rivals = new Set([picked, ...prediction.equal.slice(0, MAX_EQUAL), ...promising]);
  const competing = rivals.size;
  // Designs that the caller adds must not change the results of the other designs.
  const designs = Uint32Array.from(new Set([...rivals, ...asked])).filter(
    (design) => design >= 0 && design < device.size,
  );
  const [middleMs] = await times(designs, [{}]);
  const timeMs = isOpen ? await times(designs, draws) : [middleMs];
  const byInputs = computeRegrets(timeMs, competing);
  const chosen = isOpen ? (choose(device, designs.subarray(0, competing), byInputs) ?? picked) : picked;
  const samples = withErrors(
    timeMs,
    errorParts(errorPlaces(device, designs), device.ties),
    Math.ceil(SAMPLES / 2 / draws.length),
    device.device.kind === 'gpu' ? shortestLaunchMs(device.device) : 0,
  );
  const regrets = computeRegrets(samples, competing).map((one, entry) => {
    const own = byInputs[entry];
    // The model's errors describe how designs compare, not how long they take. So the times come from the inputs alone.
    return one && own && { ...one, meanMs: own.meanMs, lowMs: own.lowMs, highMs: own.highMs };
  });
  const at = new Map(Array.from(designs, (design, entry) => [design, entry]));
  const described = (design: number): UncertainDesign =>
    describe(device, design, middleMs[at.get(design)!], regrets[at.get(design)!]);
  const ranked = [...designs]
    .filter((design) => regrets[at.get(design)!] !== null)
    .sort((a, b) => regrets[at.get(a)!]!.expected - regrets[at.get(b)!]!.expected || a - b);
  const listed = [...new Set([chosen, ...ranked.slice(0, MAX_LISTED), ...asked.filter((design) => at.has(design))])];
  return ok({
    device: { id: device.device.id, name: device.device.name },
    draws: draws.length,
    within: GOOD_FRACTION,
    unknown: unknownPaths(unknown).map((path) => unknownInput(study, device, unknown, path)),
    robust: described(chosen),
    point: described(picked),
    designs: listed.map(described),
    worthKnowing: isOpen
      ? worthKnowing(
          study,
          device,
          unknown,
          draws,
          timeMs.map((times) => times.subarray(0, competing)),
          at.get(chosen)!,
        )
      : [],
    separation: computeSeparation(
      device,
      designs,
      samples.map((times) => times.subarray(0, competing)),
      at.get(chosen)!,
    ),
    elapsedMs: performance.now() - start,
  });
}

const SAMPLES = 256;
function errorPlaces({ plan, ties }: AdvisedDevice, designs: Uint32Array): readonly ErrorPlace[] {
  const group = makeGroupFinder(axisCounts(plan.axes));
  const blocks = plan.axes.blockThreads.length;
  return Array.from(designs, (design) => ({
    place: ties.placeOf[Math.floor(design / ties.perFamily)],
    block: `${group(design)} ${design % blocks}`,
    design,
  }));
}

/** The proposed measurement ends when the best design found is expected to be within this fraction of the fastest. */
const GOOD_ENOUGH = 0.02;
const MOST_MEASURED = 12;

function computeSeparation(
  device: AdvisedDevice,
  designs: Uint32Array,
  samples: readonly Float64Array[],
  chosen: number,
): Uncertainty['separation'] {
  const alike = notToldApart(samples, chosen);
  const alone = designsToMeasure(samples, [chosen, ...alike.slice(1)], GOOD_ENOUGH, 1);
  if (alike.length === 1 || (alone.designs[0] === chosen && alone.regret <= GOOD_ENOUGH)) return null;
  const described = alike.map((at) => describeDesign(device.predictor(), designs[at]).design);
  const differ = (of: (design: (typeof described)[number]) => unknown): number => new Set(described.map(of)).size;
  const structures = differ(({ implementation, threadsPerUnit, loop, balancing, registerCap }) =>
    [implementation, threadsPerUnit, loop, balancing, registerCap].join(' '),
  );
  const blocks = differ(({ blockThreads }) => blockThreads);
  const [count, what] = structures === 1 && blocks > 1 ? [blocks, 'block sizes'] : [alike.length, 'designs'];
  const { designs: measured, regret } = designsToMeasure(samples, alike, GOOD_ENOUGH, MOST_MEASURED);
  return {
    count,
    what,
    measure: measured.length,
    within: regret,
    designs: measured.map((at) => device.firstDesign + designs[at]),
    sentence: `The model cannot tell these ${count} ${what} apart. After measuring ${measured.length} of them, the best one found is expected to be within ${percent(Math.max(0.001, regret))} of the fastest.`,
  };
}

type TimesUnder = (designs: Uint32Array, draws: readonly Draw[]) => Promise<readonly Float64Array[]>;

/** Predicts designs with all inputs unchanged. Times are in ms, NaN for invalid designs. */
export async function listedTimes(
  pool: Pool,
  { plan, key }: Pick<AdvisedDevice, 'plan' | 'key'>,
  designs: Uint32Array,
  turn: AbortSignal,
): Promise<Float64Array> {
  const length = Math.max(1, Math.ceil(designs.length / pool.workers));
  const parts = await Promise.all(
    Array.from({ length: Math.ceil(designs.length / length) }, (_, at) => {
      const part = designs.slice(at * length, (at + 1) * length);
      return pool.run('vary', { plan, key, designs: part, changes: [null] }, { signal: turn });
    }),
  );
  return Float64Array.from(parts.flatMap(([times]) => [...times]));
}

function timesUnder(pool: Pool, device: AdvisedDevice, unknown: Unknown, turn: AbortSignal): TimesUnder {
  const { plan, key } = device;
  return async (designs, draws) => {
    if (draws.length === 1 && Object.keys(draws[0]).length === 0)
      return [await listedTimes(pool, device, designs, turn)];
    const lanes = Array.from({ length: Math.min(pool.workers, draws.length) }, (_, lane) =>
      draws.filter((_draw, at) => at % pool.workers === lane),
    );
    const parts = await Promise.all(
      lanes.map((own, worker) =>
        pool.run('draw', { plan, key, designs, unknown, draws: own }, { worker, signal: turn }),
      ),
    );
    return draws.map((_, at) => parts[at % pool.workers][Math.floor(at / pool.workers)]);
  };
}

async function promisingDesigns(
  { plan }: AdvisedDevice,
  groups: readonly number[],
  draws: readonly Draw[],
  times: TimesUnder,
): Promise<readonly number[]> {
  const step = Math.max(1, draws.length / FIRST_DRAWS);
  const first = draws.filter((_draw, at) => Math.floor(at / step) > Math.floor((at - 1) / step));
  const groupMs = await times(Uint32Array.from(groups), first);
  const regrets = computeRegrets(groupMs);
  const order = [...groups.keys()].sort(
    (a, b) => (regrets[a]?.expected ?? Infinity) - (regrets[b]?.expected ?? Infinity),
  );
  const winners = groupMs.map((ms) => ms.indexOf(ms.reduce((least, time) => (time < least ? time : least), Infinity)));
  const leading = [...new Set([...order.slice(0, LEADING), ...winners])].slice(0, 2 * LEADING).map((at) => groups[at]);
  const variants = Uint32Array.from(new Set(listVariants(plan.axes, leading)));
  const few = first.filter((_, at) => at % 2 === 0);
  const ms = await times(variants, few);
  const group = makeGroupFinder(axisCounts(plan.axes));
  // The candidates are the fastest designs of each draw, of each group, and of each block size within the best group.
  const least = regrets[order[0]]?.expected ?? Infinity;
  const near = order.filter((at) => (regrets[at]?.expected ?? Infinity) <= least + FAR);
  const kept = new Set<number>([...near, ...winners].map((at) => groups[at]));
  const blocks = plan.axes.blockThreads.length;
  for (const own of ms) {
    const best = [...variants.keys()].filter((at) => !Number.isNaN(own[at])).sort((a, b) => own[a] - own[b]);
    for (const at of best.slice(0, VARIANTS_OF_DRAW)) kept.add(variants[at]);
    const seen = new Set<string>();
    for (const at of best) {
      const own = group(variants[at]);
      const isBest = own === group(variants[best[0]]);
      const key = isBest ? `${own} ${variants[at] % blocks}` : `${own}`;
      if (seen.has(key)) continue;
      seen.add(key);
      kept.add(variants[at]);
    }
  }
  return [...kept];
}

function choose(
  { plan, predictor }: AdvisedDevice,
  designs: Uint32Array,
  regrets: readonly (DesignRegret | null)[],
): number | undefined {
  const at = new Map(Array.from(designs, (design, entry) => [design, entry]));
  const meanOf = (design: number): number => regrets[at.get(design)!]?.meanMs ?? Infinity;
  const least = designs.reduce((best, design) => Math.min(best, meanOf(design)), Infinity);
  const alike = designs.filter((design) => meanOf(design) <= least * (1 + AGREEMENT_FRACTION));
  return pickDesign(
    plan.axes,
    { timeMs: meanOf, gridBlocks: (design) => describeDesign(predictor(), design).design.gridBlocks ?? 0 },
    alike,
  );
}

function describe(device: AdvisedDevice, design: number, timeMs: number, regret: DesignRegret | null): UncertainDesign {
  const described = describeDesign(device.predictor(), design).design;
  return {
    designIndex: device.firstDesign + design,
    design: described,
    text: designText(described),
    timeMs,
    lowMs: regret?.lowMs ?? NaN,
    highMs: regret?.highMs ?? NaN,
    expectedRegret: regret?.expected ?? NaN,
    chanceBest: regret?.chance ?? 0,
    worst90: regret?.worst90 ?? NaN,
  };
}

const HOW = {
  inspect: "Read the kernel's code: lockstep kernel inspect SOURCE --into STUDY.",
  probe: 'Measure a few designs on the device and calibrate: lockstep bench, then lockstep calibrate.',
  ask: 'Check in the source whether threads that share a unit take different iterations, or divide each iteration.',
  gathers:
    'State the size of the arrays that are read at scattered places (footprintBytes), and how many of these reads need a sector each (missFraction, 1 at random places).',
  enter: 'The imported code does not show this value. Enter it for your kernel.',
} as const;

/** Whether code was imported, which shows what an iteration needs. A profile does not. */
const isCodeRead = ({ study: { kernel } }: AdvisedStudy): boolean =>
  kernelOrigin(kernel, 'instructionsPerIteration') === 'imported' && kernelOrigin(kernel, 'unit') === 'imported';

function worthKnowing(
  study: AdvisedStudy,
  device: AdvisedDevice,
  unknown: Unknown,
  draws: readonly Draw[],
  timeMs: readonly Float64Array[],
  chosen: number,
): readonly WorthKnowing[] {
  return unknownPaths(unknown)
    .flatMap((path): WorthKnowing[] => {
      const ranks = draws.map((draw) => draw[path]);
      const gain = gainOfKnowing(timeMs, chosen, ranks);
      if (gain < LEAST_GAIN) return [];
      const described = unknownInput(study, device, unknown, path);
      const isMissing = ASSUMED_LAWS[path].learn === 'inspect' && isCodeRead(study);
      const learn = isMissing ? 'ask' : ASSUMED_LAWS[path].learn;
      const how = HOW[isMissing ? 'enter' : path === GATHERS.path ? 'gathers' : learn];
      const sentence = `Knowing "${described.input.label}" is expected to save ${percent(gain)} of the time. ${how}`;
      return [{ ...described, gain, learn, how, sentence }];
    })
    .sort((a, b) => b.gain - a.gain);
}
