import { isPartition, type Design } from '../../src-workers/domain/design.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { parseBalancing } from '../../src-workers/models/balancing/parse.ts';

/** A design in one line, as exports and lists write it. */
export function designText(design: Design): string {
  const { threadsPerUnit, unitsPerThread, blockThreads, gridBlocks, loop, balancing, registerCap } = design;
  if (isPartition(unwrap(parseBalancing(balancing)))) return `cores=${gridBlocks} partition=${balancing}`;
  const flattened = loop === 'flattened' ? ' flattened' : '';
  const cap = registerCap === null ? '' : ` cap=${registerCap}`;
  return `u=${threadsPerUnit} m=${unitsPerThread} block=${blockThreads} grid=${gridBlocks} order=${balancing}${flattened}${cap}`;
}
