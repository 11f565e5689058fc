import type { Study } from '../../../src-main/contract/study.ts';
import { isAssumed, kernelOrigin } from '../../../src-workers/domain/provenance.ts';
import { sortedQuantile } from '../../../src-workers/numeric/statistics.ts';

/** The usual part of an iteration's instructions that is on its longest chain: the median in `db/assumed.json`. */
export const USUAL_CHAIN = 0.688;

export function assumedChain({ assumed }: Pick<Study, 'assumed'>, kernel: Study['kernel']): number {
  const law = assumed?.['kernel.chainInstructions'];
  return kernel.instructionsPerIteration * Math.min(1, law ? sortedQuantile(law, 0.5) : USUAL_CHAIN);
}

/** Returns a kernel with the longest chain that the engine assumes for a prediction, unless the kernel states one. */
export function withAssumedChain(study: Pick<Study, 'assumed'>, kernel: Study['kernel']): Study['kernel'] {
  if (kernel.chainInstructions !== undefined || !isAssumed(kernelOrigin(kernel, 'chainInstructions'))) return kernel;
  const origins = { ...kernel.origins, chainInstructions: 'assumed' as const };
  return { ...kernel, chainInstructions: assumedChain(study, kernel), origins };
}
