import { pickDesign } from '../../../src-workers/advise/pick.ts';
import { bestOfGroups, groupOf, variantsOf } from '../../../src-workers/advise/promising.ts';
import { gainOfKnowing, GOOD_FRACTION, regretsOf, type DesignRegret } from '../../../src-workers/advise/uncertainty.ts';
import { drawsOf, unknownPaths, type Draw, type Unknown } from '../../../src-workers/advise/unknown.ts';
import { ok, type Result } from '../../../src-workers/domain/result.ts';
import { describeDesign } from '../../../src-workers/predict/designs.ts';
import { axisCounts } from '../../../src-workers/space/axes.ts';
import { AGREEMENT_FRACTION } from '../../../src-workers/sweep/ties.ts';
import type { UncertainDesign, Uncertainty, WorthKnowing } from '../../contract/advice.ts';
import type { Context } from '../context.ts';
import type { Pool } from '../pool.ts';
import { percent } from '../export/text.ts';
import { designText } from '../ranking/design-text.ts';
import type { Predictions } from './predictions.ts';
import type { AdvisedDevice, AdvisedStudy } from './prepare.ts';
import { advise } from './recommend.ts';
import { ASSUMED_LAWS, DRAWS, unknownIn, unknownInput } from './unknown.ts';

export interface UncertaintyOptions {
  readonly deviceId?: string | undefined;
  readonly designs?: readonly number[] | undefined;
}

/** Draws under which groups and their variants compete for a place among the designs that meet all draws. */
const FIRST_DRAWS = 8;
/** Groups that lead, of which other block sizes and launches are tried; and of these the best of each draw so many. */
const LEADING = 4;
const VARIANTS_OF_DRAW = 3;
const MAX_LISTED = 40;
/** Gains below this are not worth a line. */
const LEAST_GAIN = 0.001;

/** See the contract's `advice.uncertainty`. */
export async function uncertainty(
  { pool }: Context,
  predictions: Predictions,
  study: AdvisedStudy,
  options: UncertaintyOptions,
  turn: AbortSignal,
): Promise<Result<Uncertainty>> {
  const start = performance.now();
  const advised = await advise(predictions, study, { deviceId: options.deviceId, look: 'all' }, turn);
  if (!advised.ok) return advised;
  const { device, prediction, picked } = advised.value;
  const unknown = unknownIn(study, device);
  const isOpen = unknownPaths(unknown).length > 0;
  const times = timesUnder(pool, device, unknown, turn);

  const near = Uint32Array.from(new Set([...prediction.equal, ...prediction.others!.near]));
  const [nearMs] = await times(near, [{}]);
  const groups = bestOfGroups(device.plan.axes, near, nearMs);
  const draws = isOpen ? drawsOf(unknown, DRAWS) : [{}];
  const asked = (options.designs ?? []).map((design) => design - device.firstDesign);
  const variants = isOpen ? await promisingVariants(device, groups, draws, times) : [];
  const designs = Uint32Array.from(
    new Set([picked, ...prediction.equal.slice(0, MAX_LISTED), ...groups, ...variants, ...asked]),
  ).filter((design) => design >= 0 && design < device.size);
  const [middleMs] = await times(designs, [{}]);
  const timeMs = isOpen ? await times(designs, draws) : [middleMs];
  const regrets = regretsOf(timeMs);

  const chosen = choose(device, designs, regrets) ?? picked;
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
    worthKnowing: isOpen ? worthKnowing(study, device, unknown, draws, timeMs, at.get(chosen)!) : [],
    separation: null,
    elapsedMs: performance.now() - start,
  });
}

type TimesUnder = (designs: Uint32Array, draws: readonly Draw[]) => Promise<readonly Float64Array[]>;

/** Times of designs under draws, by draw: each worker has some of the draws, or where there is one all designs. */
function timesUnder(pool: Pool, { plan, key }: AdvisedDevice, unknown: Unknown, turn: AbortSignal): TimesUnder {
  return async (designs, draws) => {
    if (draws.length === 1 && Object.keys(draws[0]).length === 0)
      return pool.run('vary', { plan, key, designs, changes: [null] }, { signal: turn });
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

/** Other block sizes and launches of the groups that lead under some draws. */
async function promisingVariants(
  { plan }: AdvisedDevice,
  groups: readonly number[],
  draws: readonly Draw[],
  times: TimesUnder,
): Promise<readonly number[]> {
  const step = draws.length / FIRST_DRAWS;
  const first = Array.from({ length: FIRST_DRAWS }, (_, at) => draws[Math.floor(at * step)]);
  const groupMs = await times(Uint32Array.from(groups), first);
  const regrets = regretsOf(groupMs);
  const order = [...groups.keys()].sort(
    (a, b) => (regrets[a]?.expected ?? Infinity) - (regrets[b]?.expected ?? Infinity),
  );
  const winners = groupMs.map((ms) => ms.indexOf(ms.reduce((least, time) => (time < least ? time : least), Infinity)));
  const leading = [...new Set([...order.slice(0, LEADING), ...winners])].slice(0, 2 * LEADING).map((at) => groups[at]);
  const variants = Uint32Array.from(new Set(variantsOf(plan.axes, leading)));
  const few = first.filter((_, at) => at % 2 === 0);
  const ms = await times(variants, few);
  const group = groupOf({ counts: axisCounts(plan.axes) });
  // Of each draw the fastest, and of each group of it.
  const kept = new Set<number>();
  for (const own of ms) {
    const best = [...variants.keys()].filter((at) => !Number.isNaN(own[at])).sort((a, b) => own[a] - own[b]);
    for (const at of best.slice(0, VARIANTS_OF_DRAW)) kept.add(variants[at]);
    const seen = new Set<number>();
    for (const at of best) {
      if (seen.has(group(variants[at]))) continue;
      seen.add(group(variants[at]));
      kept.add(variants[at]);
    }
  }
  return [...kept];
}

/** Of the designs with the least expected regret, alike as far as the model can say, the simplest: what the rule picks of means of times. */
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
  ask: 'Look into the source: whether threads that share a unit are dealt its iterations or split each.',
} as const;

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
      const { learn } = ASSUMED_LAWS[path];
      const how = HOW[learn];
      const described = unknownInput(study, device, unknown, path);
      const sentence = `Knowing "${described.input.label}" is expected to save ${percent(gain)} of the time. ${how}`;
      return [{ ...described, gain, learn, how, sentence }];
    })
    .sort((a, b) => b.gain - a.gain);
}
