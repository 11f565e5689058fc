import {
  blockText,
  blockWord,
  implementationText,
  isCpuDesign,
  isLockstep,
  type Design,
  type DesignClass,
} from '../../../src-workers/domain/design.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { parseBalancing } from '../../../src-workers/domain/balancing.ts';
import { AXIS, axisCounts, decodeInto, type SpaceAxes } from '../../../src-workers/domain/space.ts';
import { formatLaunch } from '../../../src-workers/predict/design/launch.ts';
import { counted } from '../export/text.ts';

export function designWords(design: Design): string {
  const { threadsPerUnit, gridBlocks, balancing, loop, registerCap, classes } = design;
  const named = implementationText(design);
  if (isCpuDesign(design)) return `${named}${counted(gridBlocks, 'core')}, ${balancing}`;
  const threads = classes ? [] : [`${counted(threadsPerUnit, 'thread')} per unit`];
  return `${named}${[
    ...threads,
    `blocks of ${blockText(design)} threads`,
    counted(gridBlocks, 'block'),
    ...(balancing === 'none' ? [] : [balancing]),
    ...(loop === 'flattened' ? ['one loop over all units'] : []),
    ...(registerCap === null ? [] : [`registers capped at ${registerCap}`]),
  ].join(', ')}`;
}

/** The launch is written as in the study, so the text is the same on all devices. */
export function launchedText(design: Design, axes: SpaceAxes, index: number): string {
  const counts = axisCounts(axes);
  const positions = new Int32Array(counts.length);
  decodeInto(positions, counts, index);
  const launch = formatLaunch(axes.launch[positions[AXIS.launch]]);
  const named = implementationText(design);
  if (isCpuDesign(design)) return `${named}${launch} partition=${design.balancing}`;
  const flattened = design.loop === 'flattened' ? ' flattened' : '';
  const cap = design.registerCap === null ? '' : ` cap=${design.registerCap}`;
  return `${named}u=${design.threadsPerUnit} block=${blockWord(design)} ${launch} order=${design.balancing}${flattened}${cap}`;
}

/** Returns what differs in `to`, such as `no balancing, 64 blocks`. An invalid design has no number of blocks. */
export function differenceText(from: Design, to: Design): string {
  const cap = to.registerCap === null ? 'no register cap' : `registers capped at ${to.registerCap}`;
  const cpu = isCpuDesign(to);
  const parts: readonly [keyof Design, string][] = [
    ['implementation', `the implementation ${to.implementation}`],
    ['threadsPerUnit', `${counted(to.threadsPerUnit, 'thread')} per unit`],
    ['balancing', to.balancing === 'none' ? 'no balancing' : to.balancing],
    ['loop', `a ${to.loop} loop`],
    ['registerCap', cap],
    [from.blockThreads === to.blockThreads ? 'blockWidth' : 'blockThreads', `blocks of ${blockText(to)} threads`],
    ['gridBlocks', `${to.gridBlocks.toLocaleString('en')} ${cpu ? 'cores' : 'blocks'}`],
  ];
  const differing = parts
    .filter(([field]) => from[field] !== to[field] && !(field === 'gridBlocks' && to.gridBlocks === 0))
    .map(([, text]) => text);
  return differing.length === 0 ? 'the same design' : differing.join(', ');
}

function classSentences(classes: readonly DesignClass[]): readonly string[] {
  return [
    'Units are divided into classes by length. Each class keeps its order and has its own launch; the launches run one after another.',
    ...classes.map(({ upTo, threadsPerUnit, units, gridBlocks }, at) => {
      const lengths = upTo !== null ? `up to ${upTo} iterations` : at === 0 ? 'all' : 'all longer units';
      const threads = counted(threadsPerUnit, 'thread');
      return `Class ${at}: ${lengths}, ${threads} per unit; here ${units} units in ${gridBlocks} blocks.`;
    }),
  ];
}

/** Describes the arrangement of the units in a GPU program that the prediction assumes. */
export function layoutSentences(design: Design): readonly string[] {
  const { balancing, loop } = design;
  const order = unwrap(parseBalancing(balancing));
  if (design.classes) return classSentences(design.classes);
  if (isCpuDesign(design) || !isLockstep(order)) return [];
  const dealt = (arrangement: string): readonly string[] => [
    arrangement,
    'In round j, slot s takes the unit at position j * slots + s of the order.',
    ...(loop === 'flattened' ? ['One loop runs over the iterations of all units of a slot.'] : []),
  ];
  const cut = (kept: string, items: string): readonly string[] => [
    `Units keep their order${kept}; slot s takes the ${items} from s * share on, where share is all ${items} divided by the slots, rounded up.`,
    'A slot searches for the unit in which its share starts. If its share ends within a unit, the partial result is added to the rest of that unit.',
  ];
  const given =
    design.blockWidth === undefined
      ? 'Units keep their order.'
      : `Units lie in tiles of ${blockText(design)} threads: row by row within a tile, and tiles row by row over the image. Places beyond the edges of the image stay empty.`;
  const shuffled = 'The blocks take random positions in this order.';
  switch (order.kind) {
    case 'none':
      return dealt(given);
    case 'shuffle':
      return dealt('Units are in random order. Permute them before the launch.');
    case 'window-sort':
      return dealt(`Every ${order.units} consecutive units are sorted by length, the shortest first.`);
    case 'full-sort':
      return dealt(`All units are sorted by length, the shortest first. ${shuffled}`);
    case 'quantile-buckets':
    case 'best-buckets':
      return dealt(`Units are in ${order.k} classes of length, the shortest first. ${shuffled}`);
    case 'padded':
      return dealt('Units keep their order, and all are padded to the longest unit.');
    case 'padded-slice':
      return dealt(
        `Units keep their order, and each ${order.units} consecutive units are padded to the longest of them.`,
      );
    case 'nonzero-split':
      return cut('', 'iterations');
    case 'merge-path':
      return cut(', each with one item for its end', 'items');
    case 'dynamic-fetch': {
      const { fetch } = order;
      const slot = fetch === undefined ? 'a unit takes the next one' : `takes the next ${fetch} units`;
      const takes =
        fetch === 'group'
          ? 'a thread group that has finished takes the next units, one for each of its slots,'
          : `a slot that has finished ${slot}`;
      return [`Units keep their order; ${takes} from a common counter.`];
    }
  }
}
