import { allocateChunk, type PredictionColumns } from '../domain/columns.ts';
import { isEvenShare } from '../domain/design.ts';
import { examine, lockstepBalancing, type Candidate } from '../predict/design/candidate.ts';
import {
  aloneIterations,
  balancingMs,
  iterationCost,
  setupIterations,
  stackFactor,
  type TimedDesign,
} from '../predict/pipeline.ts';
import { cyclesOf } from '../predict/predictor.ts';
import { predictInto } from '../predict/ranges.ts';
import type { Predictor } from '../predict/tables.ts';
import { decodeInto } from '../space/axes.ts';

/**
 * A predicted time may be less than the bound by the error of its method: 2 % at most over all designs of the examples, where lengths
 * hardly differ.
 */
const SLACK = 0.05;

/**
 * The shortest time that each design can have, ms: no lane ever waits for another, all multiprocessors do as much, and each always holds
 * as many work groups as it can; or the longest unit alone. Takes no law of depths. NaN where a design is invalid, 0 on a CPU.
 */
export function shortestTimes(predictor: Predictor, designs: Uint32Array): Float64Array {
  const { plan, counts, meanLength } = predictor;
  const positions = new Int32Array(counts.length);
  const candidate = {} as Candidate;
  return Float64Array.from(designs, (design) => {
    decodeInto(positions, counts, design);
    const own = examine(predictor, positions, candidate);
    const { invalid, device, shape, workingBlocks, unitsPerGroup } = candidate;
    if (invalid !== 0) return NaN;
    if (device.kind === 'cpu') return 0;
    const cycles = cyclesOf(own, candidate);
    const { multiprocessors } = device;
    // Several lanes may set up at once where shares are even.
    const setup = isEvenShare(lockstepBalancing(own, candidate)) ? 0 : setupIterations(own, candidate);
    const blocks = Math.min(shape.residentBlocks, Math.ceil(workingBlocks / multiprocessors));
    const groups = blocks * shape.groupsPerBlock;
    const groupIterations = ((plan.units / unitsPerGroup) * (meanLength + setup)) / multiprocessors;
    const least = Math.max((groupIterations * cycles[groups]) / groups, aloneIterations(own, candidate) * cycles[1]);
    const factor = iterationCost(own, candidate) * stackFactor(own, candidate, device);
    return (1 - SLACK) * ((least * factor) / (device.clockMhz * 1e3)) + balancingMs(own, candidate, device);
  });
}

/**
 * Predicts the designs of a list that can be within `fraction` of the fastest of it, one entry per design; the time of every other is NaN.
 * What may be fastest comes first, so that most of the others need no prediction.
 */
export function predictPromising(predictor: Predictor, designs: Uint32Array, fraction: number): PredictionColumns {
  const columns = allocateChunk(0, designs.length);
  columns.timeMs.fill(NaN);
  const shortest = shortestTimes(predictor, designs);
  const entries = Uint32Array.from(designs.keys())
    .filter((at) => !Number.isNaN(shortest[at]))
    .sort((a, b) => shortest[a] - shortest[b]);
  const positions = new Int32Array(predictor.counts.length);
  const candidate = {} as Candidate;
  const timed = {} as TimedDesign;
  let best = Infinity;
  for (const at of entries) {
    if (shortest[at] > best * (1 + fraction)) break;
    decodeInto(positions, predictor.counts, designs[at]);
    predictInto(columns, at, predictor, positions, candidate, timed);
    best = Math.min(best, columns.timeMs[at]);
  }
  return columns;
}
