/// <reference types="@webgpu/types" />
import type { BenchRecord } from '../../domain/benchmark.ts';
import type { Launch } from './launcher.ts';

export interface PreparedCase {
  /** Prepares the next launch with about `share` of the work, more than 0 and at most 1. */
  launch(share: number): Launch | readonly Launch[];
  begin?(): void;
  /** @param timesNs times of the counted launches */
  finish(timesNs: readonly number[]): Promise<readonly BenchRecord[]>;
  release(): void;
}
