import type { MeasuringPrograms } from '../services/measuring/programs.ts';

/** Messages between the desktop host and the engine's process, besides those between pages and the engine. */

export interface OpenOptions {
  /** `null` for the default under the user's data folder. */
  readonly databaseFile: string | null;
  readonly resourceFolder: string;
  readonly workerFile: string;
  readonly storeThreadFile: string;
  readonly programs: MeasuringPrograms;
}

export type ToEngine =
  | { readonly kind: 'open'; readonly options: OpenOptions }
  /** A new page. In a utility process its port comes along; in a Node process its messages come as 'message'. */
  | { readonly kind: 'page'; readonly page: number }
  | { readonly kind: 'message'; readonly page: number; readonly message: unknown }
  | { readonly kind: 'page-closed'; readonly page: number }
  | { readonly kind: 'stop' };

export type FromEngine =
  /** The process listens. Earlier messages may be lost, since its modules load asynchronously. */
  | { readonly kind: 'listening' }
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'message'; readonly page: number; readonly message: unknown };
