import type { LandscapeGrid } from '../../../src-main/contract/api.ts';
import { NOT_SAVED } from '../../../src-workers/domain/columns.ts';
import { counted, timeText } from '../../format/numbers.ts';
import { axisLabels } from './slices.ts';

/** Describes a map for users who cannot see it: its best and slowest cells, and its invalid or unknown cells. */
export function mapFinding(grid: LandscapeGrid): string {
  const { timeMs, xAxis, yAxis, xValues, yValues, best, bestDesign, designIndex, invalidReason } = grid;
  const at = designIndex.indexOf(bestDesign);
  let slowest = best;
  let invalid = 0;
  let notComputed = 0;
  for (const [cell, time] of timeMs.entries()) {
    if (invalidReason[cell] === NOT_SAVED) notComputed += 1;
    else if (Number.isNaN(time)) invalid += 1;
    else if (time > slowest) slowest = time;
  }
  const place = `${axisLabels(xAxis, xValues)[at % xValues.length]} × ${axisLabels(yAxis, yValues)[Math.floor(at / xValues.length)]}`;
  return [
    `best ${timeText(best)} at ${place}`,
    `slowest ${timeText(slowest)}`,
    ...(invalid > 0 ? [`${counted(invalid, 'cell')} cannot run`] : []),
    ...(notComputed > 0 ? [`${counted(notComputed, 'cell')} not computed`] : []),
  ].join(', ');
}
