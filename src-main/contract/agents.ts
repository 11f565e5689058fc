import type { MeasuringTarget } from './measuring.ts';

export type AgentsState =
  | { readonly kind: 'off' }
  | { readonly kind: 'failed'; readonly message: string }
  | {
      readonly kind: 'connected';
      readonly place: string;
      /** An agent must have the same versions of this program and its models. */
      readonly versions: string;
      readonly agents: readonly Agent[];
      readonly waiting: number;
      readonly active: number;
    };

export interface Agent {
  readonly id: string;
  readonly name: string;
  readonly host: string;
  readonly versions: string;
  readonly fits: boolean;
  readonly workers: number;
  /** The ids of these targets are like `cuda:0@HOST`. */
  readonly devices: readonly MeasuringTarget[];
  readonly runs: readonly number[];
  readonly done: number;
}
