/// <reference types="@webgpu/types" />
import type { BenchRecord } from '../../domain/benchmark.ts';
import type { Launch } from './launcher.ts';

/** A case whose kernel is compiled and whose buffers are on the device. */
export interface PreparedCase {
  /** Sets up the next launch, with about this share of the work, above 0 and up to 1. */
  launch(share: number): Launch | readonly Launch[];
  /** Before the first launch that counts. */
  begin?(): void;
  /** What it found, from the times of the launches that counted (ns). */
  finish(timesNs: readonly number[]): Promise<readonly BenchRecord[]>;
  release(): void;
}
