import type { Judged } from '../../src-workers/evidence/judge.ts';
import type { SpmvParameter, SpmvParameters } from '../../src-workers/evidence/spmv-parameters.ts';
import type { MeasuredGpu } from '../../src-workers/models/spmv/datasets.ts';
import { median } from '../../src-workers/numeric/statistics.ts';
import { LAUNCH_FLOOR_MS } from '../../src-workers/predict/constants.ts';

/**
 * Returns the parameters that a sweep uses to predict for a GPU. With `catalogue`, they come from the catalogue, and
 * are `null` if the GPU has none there. With `assumed`, they are the medians of the other GPUs, as for a GPU without a
 * measured bandwidth. The start time of a launch depends on the driver and the timing method, so it is always the
 * median of the values fitted on this GPU.
 */
export function sweptParameters(
  { dataset, devices, kept }: Pick<Judged, 'dataset' | 'devices' | 'kept'>,
  gpu: MeasuredGpu,
  by: 'catalogue' | 'assumed',
): (SpmvParameters & { readonly startMicroseconds: number }) | null {
  const middle = (gpus: readonly MeasuredGpu[], name: SpmvParameter): number =>
    median(
      Float64Array.from(
        gpus.flatMap(({ implementations }) => implementations),
        ({ column }) => kept[dataset.id][column].values[name]!,
      ),
    );
  const startMicroseconds = dataset.gpus.includes(gpu)
    ? Number(middle([gpu], 'startMicroseconds').toPrecision(3))
    : LAUNCH_FLOOR_MS * 1e3;
  const { achievedBandwidthFraction: known } = devices.get(gpu.device)!;
  if (by === 'assumed') {
    const others = dataset.gpus.filter(({ device }) => device !== gpu.device);
    return { bandwidthFraction: middle(others, 'bandwidthFraction'), startMicroseconds };
  }
  return known === undefined ? null : { bandwidthFraction: known, startMicroseconds };
}
