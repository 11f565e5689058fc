/// <reference types="@webgpu/types" />
import type { BenchRecord } from '../../domain/benchmark.ts';
import type { Launch } from './launcher.ts';

/** A case with a compiled kernel and buffers on the device. */
export interface PreparedCase {
  /** Prepares the next launch with about this fraction of the work, above 0 and up to 1. */
  launch(share: number): Launch | readonly Launch[];
  /** Runs before the first counted launch. */
  begin?(): void;
  /** The findings of the case, from the times of the counted launches (ns). */
  finish(timesNs: readonly number[]): Promise<readonly BenchRecord[]>;
  release(): void;
}
