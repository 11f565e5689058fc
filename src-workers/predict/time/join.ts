import { CELL_FIELDS, GROUP, PAIR, WIDTH, type ActivityProfile } from './activity.ts';
import { estimateNormalMaximum } from './drain.ts';

/**
 * How differently the schedulers of a multiprocessor are loaded by one block. On each scheduler that the block uses, S
 * is the sum of the depths of the block's groups there (work, iterations), and D the longest of them (time).
 */
export class SchedulerShares {
  readonly schedulers: number;
  /** E[the largest D] − E[D]. */
  readonly depthLead: number;
  /** E[the largest S] − E[S]. */
  readonly workLead: number;
  /** The correlation of S and D, 0…1. */
  readonly correlation: number;

  /** The profile is the activity of a block from its start. */
  constructor({ data, cells, groupsPerBlock }: ActivityProfile, schedulers: number) {
    this.schedulers = schedulers;
    const m = groupsPerBlock / schedulers;
    let groupBeyond = 0;
    for (let c = 0; c < cells; c++) groupBeyond += data[c * CELL_FIELDS + WIDTH] * data[c * CELL_FIELDS + GROUP];
    let lead = 0;
    let groupVariance = 0;
    let depthVariance = 0;
    let covariance = 0;
    let groupsAgree = 0;
    let groupsVary = 0;
    let groupEnded = 0;
    let depthEnded = 0;
    for (let c = 0, at = 0; c < cells; c++, at += CELL_FIELDS) {
      const width = data[at + WIDTH];
      const alive = data[at + GROUP];
      const ended = Math.max(0, 1 - alive);
      const othersEnded = Math.pow(ended, m - 1);
      const allEnded = othersEnded * ended;
      groupBeyond -= width * alive;
      lead += width * (allEnded - Math.pow(allEnded, schedulers));
      // Var X = 2∬ P(X ≤ u)·P(X > v) over u < v, and likewise for two variables (Hoeffding).
      const groupBefore = groupEnded + 0.5 * width * ended;
      groupVariance += 2 * width * alive * groupBefore;
      depthVariance += 2 * width * (1 - allEnded) * (depthEnded + 0.5 * width * allEnded);
      covariance += width * othersEnded * (alive * groupBefore + ended * (groupBeyond + 0.5 * width * alive));
      groupsAgree += width * (data[at + PAIR] - alive * alive);
      groupsVary += width * alive * ended;
      groupEnded += width * ended;
      depthEnded += width * allEnded;
    }
    const workDeviation = Math.sqrt(m * groupVariance);
    const depthDeviation = Math.sqrt(depthVariance);
    // What the depths of a block have in common delays all its schedulers alike, so it is left out.
    const apart = groupsVary > 0 ? Math.sqrt(1 - Math.min(1, Math.max(0, groupsAgree / groupsVary))) : 0;
    this.depthLead = apart * lead;
    if (depthDeviation > 0) {
      this.correlation = Math.min(1, (m * covariance) / (workDeviation * depthDeviation));
      // S is taken as a part proportional to D plus a nearly normal part that is independent of D.
      const independent = workDeviation * Math.sqrt(1 - this.correlation * this.correlation);
      this.workLead =
        apart *
        Math.hypot(
          (this.correlation * workDeviation * lead) / depthDeviation,
          estimateNormalMaximum(schedulers) * independent,
        );
    } else {
      this.correlation = 1;
      this.workLead = 0;
    }
  }
}

/**
 * Computes how many cycles longer a block lives because it ends with its last scheduler (README.md, Schedulers). With D
 * and S as in `SchedulerShares`, iterations of a + b·(active groups of this block) cycles take a·D + b·S cycles. A block
 * waits for the largest of these sums, while the mean pace counts the largest D with the mean S.
 * @param own mean number of active groups of the block on each of its schedulers
 * @param pace cycles per iteration at the mean number of active groups
 * @param slope b
 */
export function computeJoinCycles(shares: SchedulerShares, own: number, pace: number, slope: number): number {
  const { depthLead, workLead, correlation } = shares;
  const depth = Math.max(0, pace - slope * own) * depthLead;
  const work = slope * workLead;
  return Math.sqrt(depth * depth + work * work + 2 * correlation * depth * work) - depth;
}
