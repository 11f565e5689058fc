import type { MeasuringTarget } from './measuring.ts';

/** The machines that take work from this machine's runs. They are connected by a Redis. */
export type AgentsState =
  /** No Redis is set, so this machine itself computes and measures. */
  | { readonly kind: 'off' }
  | { readonly kind: 'failed'; readonly message: string }
  | {
      readonly kind: 'connected';
      /** The address of the Redis, without a secret. */
      readonly place: string;
      /** The versions of this program and its models. An agent must have the same versions. */
      readonly versions: string;
      readonly agents: readonly Agent[];
      /** The number of tasks that no agent has taken yet, over all runs. */
      readonly waiting: number;
      readonly active: number;
    };

export interface Agent {
  readonly id: string;
  readonly name: string;
  readonly host: string;
  readonly versions: string;
  readonly fits: boolean;
  /** The number of tasks that the agent runs at once. */
  readonly workers: number;
  /** The devices on which the agent measures, with ids such as `cuda:0@HOST`. */
  readonly devices: readonly MeasuringTarget[];
  /** The runs on which the agent works now, each by the number that it has in its own database. */
  readonly runs: readonly number[];
  /** The number of tasks and measurements that the agent has finished since its start. */
  readonly done: number;
}
