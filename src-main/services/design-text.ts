import type { Design } from '../../src-workers/domain/design.ts';

/** A design in one line, as exports and lists write it. */
export function designText(design: Design): string {
  const { threadsPerUnit, unitsPerThread, blockThreads, gridBlocks, loop, balancing, registerCap } = design;
  const flattened = loop === 'flattened' ? ' flattened' : '';
  const cap = registerCap === null ? '' : ` cap=${registerCap}`;
  return `u=${threadsPerUnit} m=${unitsPerThread} block=${blockThreads} grid=${gridBlocks} order=${balancing}${flattened}${cap}`;
}
