import type { EnginePlaces } from '../services/engine.ts';

/** The messages between the desktop host and the engine's process, except those of the pages. */

export interface OpenOptions extends EnginePlaces {
  /** `null` means the default file in the user's data folder. */
  readonly databaseFile: string | null;
}

export type ToEngine =
  | { readonly kind: 'open'; readonly options: OpenOptions }
  /** Announces a new page. A utility process also receives its port, a Node process its messages as 'message'. */
  | { readonly kind: 'page'; readonly page: number }
  | { readonly kind: 'message'; readonly page: number; readonly message: unknown }
  | { readonly kind: 'page-closed'; readonly page: number }
  | { readonly kind: 'stop' };

export type FromEngine =
  /** The process listens. Its modules load asynchronously, so earlier messages may be lost. */
  | { readonly kind: 'listening' }
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'message'; readonly page: number; readonly message: unknown };
