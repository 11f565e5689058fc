import type { Study } from '../../../src-main/contract/study.ts';
import type { InvalidReason } from '../../../src-workers/domain/design.ts';
import { sentenceCase, type Term } from '../../../src-workers/domain/terms.ts';
import { axisCount } from './axis-text.ts';

/** Counts the values of each axis. All ways to choose the grid together form one axis, `launch`. */
export function axisCounts(study: Study): { readonly axis: string; readonly count: number }[] {
  const { axes, devices } = study;
  const launch = [axes.unitsPerThread, axes.gridBlocks, axes.blocksPerMultiprocessor, axes.cores].reduce(
    (sum, axis) => sum + (axis ? axisCount(axis) : 0),
    0,
  );
  return [
    { axis: 'device', count: devices.length },
    ...(study.implementations ? [{ axis: 'implementation', count: study.implementations.length }] : []),
    ...(axes.blockWidth ? [{ axis: 'blockWidth', count: axes.blockWidth.length }] : []),
    { axis: 'threadsPerUnit', count: axisCount(axes.threadsPerUnit) },
    { axis: 'loop', count: axes.loop.length },
    { axis: 'balancing', count: axes.balancing.length },
    { axis: 'launch', count: Math.max(1, launch) },
    { axis: 'registerCap', count: axes.registerCap.length },
    { axis: 'blockThreads', count: axisCount(axes.blockThreads) },
  ];
}

const REASONS: Readonly<Record<InvalidReason, (say: Term) => string>> = {
  valid: () => 'Valid',
  'block-threads': (say) => `${say('block')} too large for the device`,
  registers: (say) => `Too many ${say('register', 'many')} in a ${say('block')}`,
  'shared-memory': (say) => `Too much ${say('sharedMemory')} in a ${say('block')}`,
  'grid-blocks': (say) => `More ${say('block', 'many')} than can be launched`,
  'block-not-multiple': (say) => `${say('block')} is not a multiple of ${say('thread', 'many')} per unit`,
  'lengths-unknown': () => 'Lengths unknown before launch',
  'group-width': (say) => `Units do not divide a ${say('threadGroup')}`,
  constraint: () => 'Removed by constraints',
  'no-residency': (say) => `No ${say('block')} fits on a ${say('multiprocessor', 'short')}`,
  'idle-blocks': (say) => `More ${say('block', 'many')} than units of work`,
  'not-on-device': () => 'Setting of another kind of device',
  cores: () => 'More cores than the device has',
  implementation: () => 'Not allowed by the implementation',
  'block-shape': (say) => `${say('block')} cannot have this shape`,
  'thread-registers': (say) => `Too many ${say('register', 'many')} in a ${say('thread')}`,
  classes: (say) => `Classes set their own ${say('thread', 'many')} per unit`,
};
export const reasonLabel = (reason: InvalidReason, say: Term): string => sentenceCase(REASONS[reason](say));
