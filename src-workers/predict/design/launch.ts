import type { GridLaunch, Launch } from '../../domain/space.ts';

export interface ResolvedLaunch {
  readonly gridBlocks: number;
  readonly unitsPerThread: number;
  readonly meanUnitsPerThread: number;
  readonly everyBlockWorks: boolean;
}

/** @param slotsPerBlock units in flight in one block: blockThreads / threadsPerUnit, ≥ 1 */
export function resolveLaunch(
  launch: GridLaunch,
  units: number,
  slotsPerBlock: number,
  multiprocessors: number,
): ResolvedLaunch {
  if (launch.kind === 'units-per-thread') {
    const gridBlocks = Math.ceil(units / (slotsPerBlock * launch.value));
    // The last block may be partly empty, so the mean can be below `launch.value`, which no slot exceeds.
    return {
      gridBlocks,
      unitsPerThread: launch.value,
      meanUnitsPerThread: units / (gridBlocks * slotsPerBlock),
      everyBlockWorks: true,
    };
  }
  const gridBlocks = launch.kind === 'grid' ? launch.value : launch.value * multiprocessors;
  const slots = gridBlocks * slotsPerBlock;
  return {
    gridBlocks,
    unitsPerThread: Math.ceil(units / slots),
    meanUnitsPerThread: units / slots,
    everyBlockWorks: (gridBlocks - 1) * slotsPerBlock < units,
  };
}

export function formatLaunch({ kind, value }: Launch): string {
  return `${kind} ${value}`;
}
