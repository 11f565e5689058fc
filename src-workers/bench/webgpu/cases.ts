/// <reference types="@webgpu/types" />
import type { BenchRecord } from '../../domain/benchmark.ts';
import type { Launch } from './launcher.ts';

/** A case whose kernel is compiled and whose buffers are on the device. */
export interface PreparedCase {
  /** Prepares the next launch with about `share` of the work, more than 0 and at most 1. */
  launch(share: number): Launch | readonly Launch[];
  /** Runs before the first counted launch. */
  begin?(): void;
  /** Returns the findings of the case, which it computes from the times of the counted launches (ns). */
  finish(timesNs: readonly number[]): Promise<readonly BenchRecord[]>;
  release(): void;
}
