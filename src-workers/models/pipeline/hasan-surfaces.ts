import type { PipelineParameters } from '../../domain/kernel.ts';
import { HASAN_IDEAL_TIME_MS, HASAN_TABLE_2, HASAN_THREADS_PER_BLOCK, hasanEfficiency } from './hasan.ts';
import { hasanWaveLaunch } from './reproduce-hasan-kim.ts';
import { wavesTime } from './soft-saturation.ts';

export interface LaunchSurface {
  readonly blocks: readonly number[];
  readonly threadsPerBlock: readonly number[];
  /** One row for each entry of `blocks`; length blocks × threadsPerBlock. */
  readonly values: Float64Array;
}

/** The axes of Fig. 1: 2,496 launches, as many as in the paper. */
const FIGURE_1_BLOCKS: readonly number[] = Array.from({ length: 78 }, (_, i) => 16 * (i + 1));
const FIGURE_1_THREADS: readonly number[] = Array.from({ length: 32 }, (_, i) => 32 * (i + 1));

function surface(
  blocks: readonly number[],
  threadsPerBlock: readonly number[],
  value: (blocks: number, threadsPerBlock: number) => number,
): LaunchSurface {
  const values = Float64Array.from(blocks.flatMap((b) => threadsPerBlock.map((threads) => value(b, threads))));
  return { blocks, threadsPerBlock, values };
}

/** The time by Eq. 1–3, ms, as in Fig. 1 (a): the paper's ideal time divided by the efficiency. */
function equationTimeMs(blocks: number, threadsPerBlock: number): number {
  return HASAN_IDEAL_TIME_MS / hasanEfficiency(blocks, threadsPerBlock);
}

/**
 * Computes the surfaces of Fig. 1 (Hasan et al. 2014, doi:10.1007/978-3-662-44917-2_65) by Eq. 1–3 and by soft
 * saturation: time, ms, and efficiency, 0…1, which is the paper's ideal time divided by the time.
 * @param soft τ and c in ms: `fitHasan()`
 */
export function hasanModelSurfaces(
  soft: PipelineParameters,
  blocks: readonly number[] = FIGURE_1_BLOCKS,
  threadsPerBlock: readonly number[] = FIGURE_1_THREADS,
) {
  const softTimeMs = (b: number, threads: number) => wavesTime(soft, hasanWaveLaunch(b, threads));
  return {
    equationTimeMs: surface(blocks, threadsPerBlock, equationTimeMs),
    equationEfficiency: surface(blocks, threadsPerBlock, hasanEfficiency),
    softTimeMs: surface(blocks, threadsPerBlock, softTimeMs),
    softEfficiency: surface(blocks, threadsPerBlock, (b, threads) => HASAN_IDEAL_TIME_MS / softTimeMs(b, threads)),
  };
}

/** For the launches of Table 2: efficiency as in Fig. 2, and errors, which are predicted minus measured, in points. */
export function hasanMeasuredSurfaces(soft: PipelineParameters) {
  const blocks = HASAN_TABLE_2.map((row) => row.blocks);
  const timeMs = Float64Array.from(HASAN_TABLE_2.flatMap((row) => row.timeMs));
  const efficiency = timeMs.map((time) => HASAN_IDEAL_TIME_MS / time);
  const models = hasanModelSurfaces(soft, blocks, HASAN_THREADS_PER_BLOCK);
  const on = (values: Float64Array): LaunchSurface => ({ blocks, threadsPerBlock: HASAN_THREADS_PER_BLOCK, values });
  const errorOf = (model: LaunchSurface) => on(model.values.map((value, i) => 100 * (value - efficiency[i])));
  return {
    timeMs: on(timeMs),
    efficiency: on(efficiency),
    equationErrorPoints: errorOf(models.equationEfficiency),
    softErrorPoints: errorOf(models.softEfficiency),
  };
}
