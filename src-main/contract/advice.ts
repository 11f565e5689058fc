import type { BreakdownPart } from '../../src-workers/domain/breakdown.ts';
import type { InputFact } from '../../src-workers/domain/provenance.ts';
import type { RankRow } from './api.ts';

/** The recommendation for one device of a study, saved or not. */
export interface Recommendation {
  readonly device: { readonly id: string; readonly name: string };
  /** All devices of the study, in its order. `bestMs` is null of those that this call did not predict, or that have no valid design. */
  readonly devices: readonly { readonly id: string; readonly name: string; readonly bestMs: number | null }[];
  /** The picked design. Its `designIndex` is of the whole study: with all devices. */
  readonly row: RankRow;
  readonly designIndex: number;
  /** Predicted time and its interval, ms, with what the interval covers, in one or two sentences. */
  readonly time: { readonly ms: number; readonly lowMs: number; readonly highMs: number; readonly basis: string };
  /** Designs tied with the fastest (`count`), the band's width, the rule by which one was picked, and the first of them by time, at most 20. */
  readonly ties: {
    readonly count: number;
    readonly fraction: number;
    readonly rule: string;
    readonly designs: readonly number[];
  };
  /**
   * The design that the picked one is compared with: the one asked for, else a plain one (`chosen` false). `change` is −0.58 where the
   * picked one takes 58 % less time.
   */
  readonly baseline: {
    readonly designIndex: number;
    readonly text: string;
    readonly ms: number;
    readonly change: number;
    readonly chosen: boolean;
  } | null;
  /** Differences of the parts of the time, picked less baseline, ms, the largest first; they add up to the whole difference. */
  readonly causes: readonly { readonly part: BreakdownPart; readonly label: string; readonly ms: number }[];
  readonly why: string;
  readonly inputs: readonly InputFact[];
  /** Designs predicted, of how many of the devices that were asked for: equal where exact. */
  readonly predicted: number;
  readonly of: number;
  readonly elapsedMs: number;
}
