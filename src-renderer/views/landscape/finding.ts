import type { LandscapeGrid } from '../../../src-main/contract/api.ts';
import { NBSP, count, counted, fixed } from '../../format/numbers.ts';
import { tiedCells } from './grid.ts';
import { axisLabels } from './slices.ts';

/** What a map shows, for who does not see it: the best cell, how many are as good, the slowest, and which cannot run. */
export function mapFinding(grid: LandscapeGrid, decimals: number): string {
  const { timeMs, xAxis, yAxis, xValues, yValues, best, bestDesign, designIndex } = grid;
  const at = designIndex.indexOf(bestDesign);
  let slowest = best;
  let invalid = 0;
  for (const time of timeMs) {
    if (Number.isNaN(time)) invalid += 1;
    else if (time > slowest) slowest = time;
  }
  const place = `${axisLabels(xAxis, xValues)[at % xValues.length]} × ${axisLabels(yAxis, yValues)[Math.floor(at / xValues.length)]}`;
  const ties = tiedCells(grid).length;
  return [
    `best ${fixed(best, decimals)}${NBSP}ms at ${place}`,
    ...(ties > 0 ? [`${count(ties)} more tied with it`] : []),
    `slowest ${fixed(slowest, decimals)}${NBSP}ms`,
    ...(invalid > 0 ? [`${counted(invalid, 'cell')} cannot run`] : []),
  ].join(', ');
}
