import type { Study } from '../../../src-main/contract/study.ts';
import type { InvalidReason } from '../../../src-workers/domain/design.ts';
import { sentenceCase, type Term } from '../../../src-workers/domain/terms.ts';
import { axisCount } from './axis-text.ts';

/** All ways to choose the grid form one axis, `launch`. */
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

export function reasonLabel(reason: InvalidReason, say: Term): string {
  const block = say('block');
  switch (reason) {
    case 'valid':
      return 'Valid';
    case 'block-threads':
      return `${sentenceCase(block)} too large for the device`;
    case 'registers':
      return `Too many ${say('register', 'many')} in a ${block}`;
    case 'shared-memory':
      return `Too much ${say('sharedMemory')} in a ${block}`;
    case 'grid-blocks':
      return `More ${say('block', 'many')} than can be launched`;
    case 'block-not-multiple':
      return `${sentenceCase(block)} no multiple of ${say('thread', 'many')} per unit`;
    case 'lengths-unknown':
      return 'Lengths unknown before launch';
    case 'group-width':
      return `Units do not divide a ${say('threadGroup')}`;
    case 'constraint':
      return 'Removed by constraints';
    case 'no-residency':
      return `No ${block} fits on a ${say('multiprocessor', 'short')}`;
    case 'idle-blocks':
      return `More ${say('block', 'many')} than units of work`;
    case 'not-on-device':
      return 'Setting of another kind of device';
    case 'cores':
      return 'More cores than the device has';
    case 'implementation':
      return 'Not allowed by the implementation';
    case 'block-shape':
      return `${sentenceCase(block)} cannot have this shape`;
    case 'classes':
      return `Classes set their own ${say('thread', 'many')} per unit`;
  }
}
