import { sentenceCase, type Term } from './terms.ts';

export interface GlossaryEntry {
  readonly id: GlossaryId;
  readonly term: string;
  readonly definition: string;
}

export type GlossaryId = keyof ReturnType<typeof makeEntries>;

function makeEntries(say: Term) {
  const thread = say('thread');
  const threads = say('thread', 'many');
  const group = say('threadGroup');
  const block = say('block');
  const blocks = say('block', 'many');
  const multiprocessor = say('multiprocessor');
  const lanes = say('lane', 'many');
  const register = say('register');
  return {
    unit: ['unit', 'One independent piece of work: a particle, a matrix row, a pixel. A launch processes many.'],
    length: ['length', 'How many iterations of the loop one unit needs.'],
    distribution: ['distribution', 'How likely each length is. All predictions depend on it.'],
    lane: [say('lane'), `One of the ${threads} that a ${group} runs in lockstep.`],
    threadGroup: [group, `${sentenceCase(threads)} that run the same instruction at the same time. Their number is the width of the device.`],
    depth: ['depth', `The length of the longest unit that a ${group} runs at once. All its ${lanes} wait for that unit.`],
    loss: ['loss', `Depth divided by the mean length, at least 1: the cost of lockstep. 2 means that the ${lanes} wait half of the time.`],
    design: ['design', 'One choice of every setting: how work is laid out and launched.'],
    designSpace: ['design space', 'All designs of a study: the product of its axes and devices.'],
    threadsPerUnit: [`${threads} per unit`, `How many ${threads} share one unit, up to the whole ${block}. With more threads, a unit takes less time and the group becomes less uneven, but combining the results costs more. Either the iterations are dealt to the threads, ⌈length / u⌉ to each, or every iteration is split among the threads.`],
    unitsPerThread: [`units per ${thread}`, `How many units each ${thread} (or the ${threads} that share a unit) processes, one after another.`],
    block: [block, `${sentenceCase(threads)} that are launched together on one ${multiprocessor}.`],
    blockWidth: [`${block} width`, `How many ${threads} of a ${block} lie side by side, if the units form an image or a grid. The others lie above them, so that the ${block} takes a tile of the units. This decides which units share a ${group}, and so how long its ${lanes} wait.`],
    launch: ['launch', `How many ${blocks} run: given as units per ${thread}, as a grid, or per ${multiprocessor}.`],
    wave: ['wave', `All the ${blocks} that the device holds at once. If latency limits a launch, 1.1 waves take nearly as long as 2 waves.`],
    occupancy: ['occupancy', `${sentenceCase(say('threadGroup', 'many'))} that a ${multiprocessor} holds, as a fraction of the maximum. ${sentenceCase(say('register', 'many'))}, ${say('sharedMemory')} and ${block} size limit it.`],
    loop: ['loop', `Nested: one loop over units and one over iterations; ${lanes} meet after each unit. Flattened: one loop over all iterations; ${lanes} meet at the end.`],
    balancing: ['balancing', `How units are ordered, handed out, padded or cut, so that ${threads} wait less for each other.`],
    dynamicFetch: ['dynamic fetch', `${sentenceCase(threads)} that are done take the next unit from a common counter.`],
    evenShare: ['even share', `Every slot runs the same number of iterations (non-zero split), or the same number of iterations and unit ends together (merge path). For this, units are cut: a search finds the start of a share, and a carry passes the part of a cut unit on to the next slot.`],
    padding: ['padding', 'Every lane runs as long as the longest unit of all, or of a slice of consecutive units. Memory accesses stay regular; the added iterations do nothing.'],
    blockReduction: ['block reduction', `Combines the results of a unit whose ${threads} span several ${say('threadGroup', 'many')}, by ${say('sharedMemory')} and barriers, once per unit.`],
    sorting: ['sorting', 'Units are ordered by length before the launch: either all of them, or within windows. The time of the sort counts.'],
    buckets: ['buckets', 'Units are put into a few classes of length before the launch. This is cheaper than sorting.'],
    registerCap: [`${register} cap`, `A limit on ${say('register', 'many')} per ${thread} for the compiler. More ${blocks} fit, but some values are spilled to memory.`],
    serialFraction: ['serial fraction σ', `Part of a split iteration that does not get faster when ${threads} share a unit, 0 to 1.`],
    cooperation: ['cooperation step κ', `Cost of one exchange between ${threads} that share a unit and split its iterations, as a fraction of an iteration.`],
    setup: ['once per unit', 'Instructions of a thread for each unit besides its iterations: they find the unit and store its result. Every lane runs all of them, even if several share the unit.'],
    dependentLoad: ['dependent load', 'A load from device memory that must wait for another load. Each adds a memory latency to an iteration.'],
    spill: ['spill', `A value that a ${register} cap moves to memory; each costs extra instructions.`],
    latencyFloor: ['latency floor', `Time of one iteration on an otherwise empty ${multiprocessor}, determined by the latency of its instructions and loads.`],
    knee: ['knee', `With more resident ${say('threadGroup', 'many')} than this number, an iteration is limited by issuing instructions and not by waiting. The softness of the knee says how sharp the change is: a larger number is a sharper change.`],
    tail: ['tail', `The end of a launch, when some ${blocks} still run and the rest of the device is idle.`],
    baseline: ['baseline', 'The design with which other designs are compared: a pinned design, or the plain way to launch.'],
    expectedRegret: ['expected regret', 'How much slower a design is expected to be than the best design, over draws of the assumed inputs and of the model’s own errors.'],
    regime: ['regime', 'The formula that computed a time. Most formulas were compared with the event simulation.'],
    assumed: ['assumed', 'A usual value, because none was given. The recommendation names the assumed values that decide it.'],
    calibration: ['calibration', 'Parameters of a device that were fitted to its measurements.'],
    simulation: ['simulation', `Runs a design ${block} by ${block} on drawn units. It is slower than a prediction, but has none of its approximations.`],
    spearman: ['Spearman’s rank correlation', 'How similarly two runs order the same designs: 1 is the same order, 0 is unrelated.'],
    cores: ['cores', 'How many cores of a CPU a design uses.'],
  } satisfies Readonly<Record<string, readonly [term: string, definition: string]>>; // prettier-ignore
}

export function glossary(say: Term): readonly GlossaryEntry[] {
  return Object.entries(makeEntries(say))
    .map(([id, [term, definition]]) => ({ id: id as GlossaryId, term, definition }))
    .sort((a, b) => a.term.localeCompare(b.term, 'en'));
}

export const definition = (id: GlossaryId, say: Term): string => makeEntries(say)[id][1];
