import type { MeasuringTarget } from './measuring.ts';

/** The machines that take work from this machine's runs. They are connected by a Redis. */
export type AgentsState =
  /** No Redis is set, so this machine computes and measures. */
  | { readonly kind: 'off' }
  | { readonly kind: 'failed'; readonly message: string }
  | {
      readonly kind: 'connected';
      /** The address of the Redis, without a secret. */
      readonly place: string;
      /** The versions of this program and its models, which an agent must share. */
      readonly versions: string;
      readonly agents: readonly Agent[];
      /** The tasks of all runs that no agent has taken yet. */
      readonly waiting: number;
      readonly active: number;
    };

export interface Agent {
  readonly id: string;
  readonly name: string;
  readonly host: string;
  readonly versions: string;
  readonly fits: boolean;
  /** The number of tasks that it runs at once. */
  readonly workers: number;
  /** The devices that it measures on, with ids such as `cuda:0@HOST`. */
  readonly devices: readonly MeasuringTarget[];
  /** The runs that it works on now, and the numbers of their databases. */
  readonly runs: readonly number[];
  /** The tasks and measurements that it has finished since its start. */
  readonly done: number;
}
