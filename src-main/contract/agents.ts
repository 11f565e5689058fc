import type { MeasuringTarget } from './measuring.ts';

/** Machines that take work of this one's runs, by a Redis that both know. */
export type AgentsState =
  /** No Redis is set: this machine computes and measures. */
  | { readonly kind: 'off' }
  | { readonly kind: 'failed'; readonly message: string }
  | {
      readonly kind: 'connected';
      /** Address of the Redis, without a secret. */
      readonly place: string;
      /** Versions of this program and its models: agents must have the same. */
      readonly versions: string;
      readonly agents: readonly Agent[];
      /** Tasks of all runs that no agent has taken yet. */
      readonly waiting: number;
      /** Tasks of all runs that are under way. */
      readonly active: number;
    };

export interface Agent {
  readonly id: string;
  readonly name: string;
  readonly host: string;
  readonly versions: string;
  /** Whether it has the versions that it needs to take work. */
  readonly fits: boolean;
  /** Tasks at once. */
  readonly workers: number;
  /** The devices that it measures on, with ids such as `cuda:0@HOST`. */
  readonly devices: readonly MeasuringTarget[];
  /** Runs that it works for now, and the numbers of their databases. */
  readonly runs: readonly number[];
  /** Tasks and measurements since it started. */
  readonly done: number;
}
