import type { Design } from '../../src-workers/domain/design.ts';

/** Columns that every table of designs has, and a design's cells in them. */
export const DESIGN_HEAD = ['threads/unit', 'units/thread', 'balancing', 'block', 'grid'] as const;

export function designCells(design: Design): readonly (string | number)[] {
  const { threadsPerUnit, unitsPerThread, balancing, loop, blockThreads, gridBlocks } = design;
  const order = loop === 'flattened' ? `${balancing}, flattened` : balancing;
  return [threadsPerUnit, unitsPerThread, order, blockThreads, gridBlocks];
}
