import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import { affordableLossDistribution } from '../../../src-workers/models/imbalance/binned.ts';
import { quantile } from '../../../src-workers/models/imbalance/distribution.ts';

/** Quantiles of the loss need its whole distribution, whose computation would block the page. */

export interface QuantileRequest {
  readonly id: number;
  readonly law: LengthLaw;
  readonly groupSizes: readonly number[];
  readonly levels: readonly number[];
}
export interface QuantileReply {
  readonly id: number;
  readonly n: number;
  readonly values: readonly number[];
}

let latest = 0;
addEventListener('message', (event: MessageEvent<QuantileRequest>) => {
  const { id, law, groupSizes, levels } = event.data;
  latest = id;
  let next = 0;
  const step = () => {
    if (id !== latest || next >= groupSizes.length) return;
    const n = groupSizes[next++];
    const distribution = affordableLossDistribution(law, n);
    postMessage({ id, n, values: levels.map((level) => quantile(distribution, level)) } satisfies QuantileReply);
    setTimeout(step);
  };
  step();
});
