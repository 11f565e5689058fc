import { parseBalancing } from '../domain/balancing.ts';
import type { GpuDevice } from '../domain/device.ts';
import type { PipelineParameters } from '../domain/kernel.ts';
import { kernelPhase } from '../domain/provenance.ts';
import { unwrap } from '../domain/result.ts';
import { axisCounts, type Implementation, type SpaceAxes } from '../domain/space.ts';
import type { LengthLaw } from '../domain/workload.ts';
import { bandwidthCycles, pipelineParameters } from '../models/pipeline/derive.ts';
import { compactNumbers, type CompactNumbers } from '../numeric/compact.ts';
import { createOwnedCache, createSizedCache } from '../numeric/budget.ts';
import { getOrMake, kept, keptWith } from '../numeric/kept.ts';
import { mappedLaw, moments } from '../models/workload/laws.ts';
import { createCaches, getLawCaches } from './caches.ts';
import { ORDER_BYTES, ORDER_MS, PACE_BYTES, ROUND_COST_BYTES } from './constants.ts';
import { createCpuLoads } from './cpu.ts';
import { countMostTiles, orderByTiles, type Tile } from './dealing/tiles.ts';
import { makeCoresShape, makeShape } from './design/shapes.ts';
import { makeRoomForOrders, threadBudget } from './memory.ts';
import { makeGivenLengths } from './ordered.ts';
import { getGivenOrder, type SweepPlan } from './plan.ts';
import type { Allowed, Caches, Predictor } from './tables.ts';

const PACE_MS = 0.005;
const ROUND_COST_MS = 0.02;
/** `openStep` skips a gap between lengths if the longest unit is below it, or above it, with less than this chance. */
const OPEN_PROBABILITY = 1e-3;

/** @param caches caches of another predictor whose plan has the same units (see `Predictor`) */
export function createPredictor(plan: SweepPlan, caches: Caches = createCaches(), isClass = false): Predictor {
  const { implementations } = plan.axes;
  // A plan without an order keeps the memory of the last order, to which the user may return.
  if (!isClass && plan.ordered) makeRoomForOrders(plan.ordered.iterations.length);
  if (!implementations) return makePredictor(plan, caches, null, isClass);
  const own = implementations.map(({ name, kernel, allows }) =>
    makePredictor({ ...plan, id: `${plan.id}|${name}`, kernel }, caches, markAllowed(plan.axes, allows)),
  );
  return { ...own[0], plan, implementations: own };
}

function markAllowed(axes: SpaceAxes, allows: Implementation['allows']): Allowed {
  const among = <T>(values: readonly T[], kept: readonly T[] | undefined): readonly boolean[] =>
    values.map((value) => kept === undefined || kept.includes(value));
  return {
    threadsPerUnit: among(axes.threadsPerUnit, allows.threadsPerUnit),
    loop: among(axes.loop, allows.loop),
    balancing: among(axes.balancing, allows.balancing),
    registerCap: among(axes.registerCap, allows.registerCap),
    blockThreads: among(axes.blockThreads, allows.blockThreads),
  };
}

/** The tables that a predictor of lanes or tiles takes over from the predictor of whole units. */
type OfUnits = Partial<Pick<Predictor, 'shapes' | 'elements' | 'cpuLoads'>>;

function makePredictor(
  plan: SweepPlan,
  caches: Caches,
  allowed: Allowed | null,
  isClass = false,
  ofUnits: OfUnits = {},
): Predictor {
  const { axes, kernel } = plan;
  const registers = (cap: number | null): number =>
    cap === null ? kernel.registersPerThread : Math.min(cap, kernel.registersPerThread);
  const meanLength = moments(plan.law).mean;
  const implementations: Predictor[] = [];
  const predictor: Predictor = {
    plan,
    implementations,
    allowed,
    counts: axisCounts(axes),
    balancing: axes.balancing.map((text) => unwrap(parseBalancing(text))),
    shapes:
      ofUnits.shapes ??
      axes.devices.map((device) =>
        device.kind === 'cpu'
          ? axes.launch.map((launch) => makeCoresShape(device, launch))
          : axes.threadsPerUnit.flatMap((threadsPerUnit) =>
              axes.registerCap.flatMap((cap) =>
                axes.blockThreads.map((blockThreads) =>
                  makeShape(plan, device, registers(cap), blockThreads, threadsPerUnit, meanLength),
                ),
              ),
            ),
      ),
    meanLength,
    elements: ofUnits.elements ?? meanLength,
    dealt: new Map(),
    tiled: new Map(),
    paces: {
      hasNoPhases: !kernel.prologue && !kernel.unit && !kernel.refill,
      combines: kernelPhase(kernel, 'combine') !== undefined,
      plain: [],
      known: createSizedCache(caches.budget, PACE_MS, () => PACE_BYTES),
      rounds: createSizedCache(caches.budget, ROUND_COST_MS, () => ROUND_COST_BYTES),
      tables: new Map(),
    },
    ...findLongest(plan.law, plan.units),
    longestGiven: plan.law.support[plan.law.support.length - 1],
    cpuLoads:
      ofUnits.cpuLoads ??
      (plan.ordered && axes.devices.some((device) => device.kind === 'cpu')
        ? createCpuLoads(kernel, plan.units, plan.ordered)
        : null),
    paddedLaws: new Map(),
    isClass,
    classes: new Map(),
    fetchedOrders: new Map(),
    stackFactors: new Map(),
    laws: axes.balancing.map((text) => getLawCaches(caches, text)),
    caches,
  };
  implementations.push(predictor);
  return predictor;
}

/** Returns the predictor for u threads per unit. If iterations are dealt, each thread gets ⌈length / u⌉. */
export function getDealtPredictor(predictor: Predictor, threadsAt: number): Predictor {
  const { dealt, caches, allowed, isClass } = predictor;
  const threads = predictor.plan.axes.threadsPerUnit[threadsAt];
  const own = predictor.plan.kernelsByThreads?.[threads];
  const plan = own ? { ...predictor.plan, kernel: own, pipelineKernel: predictor.plan.kernel } : predictor.plan;
  const isDealt = plan.kernel.sharing === 'deal' && threads > 1;
  if (!isDealt && !own) return predictor;
  return getOrMake(dealt, threadsAt, () => {
    if (!isDealt) return makePredictor(plan, caches, allowed, isClass);
    const lane = (length: number): number => Math.ceil(length / threads);
    const given = getGivenOrder(plan);
    const ofUnits = given && getCompact(given);
    const ordered = ofUnits && makeGivenLengths(getLaneOrder(ofUnits, threads, () => ofUnits.map(lane)));
    const law = getLaneLaw(plan.law, threads, () => mappedLaw(plan.law, lane));
    // Implementations of one workload share the laws of its lanes.
    const ofLanes = getOrMake(caches.dealt, threads, () => createCaches(caches.budget));
    return makePredictor({ ...plan, law, ordered }, ofLanes, allowed, isClass, predictor);
  });
}

/** Returns the predictor for blocks that take units by tiles; `predictor` itself if units have no order or rows. */
export function getTiledPredictor(predictor: Predictor, tile: Tile): Predictor {
  const { plan, tiled, caches, shapes, cpuLoads } = predictor;
  const given = getGivenOrder(plan);
  if (given === null || plan.width === undefined) return predictor;
  const { width } = plan;
  const key = `${tile.width} ${tile.height}`;
  const most = countMostTiles(given.length);
  return kept(tiled, most, key, () => {
    const { law, units, lengths } = orderByTiles(getCompact(given), plan.units, plan.law, width, tile);
    const places = { ...plan, law, units, ordered: makeGivenLengths(lengths) };
    const own = kept(caches.tiled, most, key, () => createCaches(caches.budget));
    return makePredictor(places, own, predictor.allowed, predictor.isClass, { shapes, cpuLoads });
  });
}

/** Keeps a given order in the smallest kind of array, because many other orders are derived from it. */
const getCompact = keptWith(compactNumbers);

const getLaneLaw = createOwnedCache<LengthLaw, number, LengthLaw>(
  threadBudget,
  ORDER_MS,
  ({ support, probability }) => ORDER_BYTES + support.byteLength + probability.byteLength,
);
const getLaneOrder = createOwnedCache<CompactNumbers, number, CompactNumbers>(
  threadBudget,
  ORDER_MS,
  ({ byteLength }) => ORDER_BYTES + byteLength,
);

export function preparePipeline(
  plan: SweepPlan,
  device: GpuDevice,
  cap: number | null,
  bytesPerIteration: number,
): PipelineParameters {
  const measured = plan.pipeline[device.id];
  const { transferScale } = measured ?? {};
  const bytes = transferScale === undefined ? bytesPerIteration : 0;
  const derived = pipelineParameters(device, plan.kernel, {
    spilledRegisters: cap === null ? 0 : Math.max(0, plan.kernel.registersPerThread - cap),
    bytesPerIteration: bytes,
  });
  if (!measured) return derived;
  // A register cap or a change of the threads per unit scales measured parameters by the same factor as derived ones.
  const measuredKernel = plan.pipelineKernel ?? plan.kernel;
  const uncapped = pipelineParameters(device, measuredKernel, { spilledRegisters: 0, bytesPerIteration: bytes });
  const issueCycles = measured.issueCycles * (derived.issueCycles / uncapped.issueCycles);
  return {
    latencyCycles: measured.latencyCycles * (derived.latencyCycles / uncapped.latencyCycles),
    issueCycles:
      transferScale === undefined
        ? issueCycles
        : Math.max(issueCycles, transferScale * bandwidthCycles(device, bytesPerIteration)),
    kneeSoftness: measured.kneeSoftness,
    schedulers: measured.schedulers ?? derived.schedulers,
  };
}

function findLongest(
  { support, probability }: LengthLaw,
  units: number,
): Pick<Predictor, 'longestLength' | 'openStep'> {
  let longestLength = support[0];
  let openStep = 0;
  let below = 0;
  for (let i = 0; i + 1 < support.length; i++) {
    below = Math.min(1, below + probability[i]);
    const none = Math.pow(below, units);
    const step = support[i + 1] - support[i];
    longestLength += step * (1 - none);
    if (none > OPEN_PROBABILITY && none < 1 - OPEN_PROBABILITY) openStep = Math.max(openStep, step);
  }
  return { longestLength, openStep };
}
