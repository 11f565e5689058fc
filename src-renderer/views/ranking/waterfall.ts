import { BREAKDOWN_PARTS, type Breakdown } from '../../../src-workers/domain/breakdown.ts';

/** Changes smaller than this fraction of the first time are left out. */
const NEGLIGIBLE = 5e-4;

/** Returns the steps from one design's time to another's: savings first, then losses, each with the largest first. */
export function waterfall(from: Breakdown, to: Breakdown) {
  const changes = BREAKDOWN_PARTS.map(({ id, label }) => ({
    id,
    label,
    changeMs: to.parts[id] - from.parts[id],
  })).filter(({ changeMs }) => Math.abs(changeMs) >= NEGLIGIBLE * from.timeMs);
  changes.sort((a, b) => a.changeMs - b.changeMs);
  const faster = changes.filter(({ changeMs }) => changeMs < 0);
  const slower = changes.filter(({ changeMs }) => changeMs > 0).reverse();
  let at = from.timeMs;
  return [...faster, ...slower].map((change) => {
    const step = { ...change, fromMs: at, toMs: at + change.changeMs };
    at = step.toMs;
    return step;
  });
}
