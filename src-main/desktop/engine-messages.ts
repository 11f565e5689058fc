import type { EnginePlaces } from '../services/engine.ts';

/** The messages between the desktop host and the engine's process. `contract/transport.ts` has those of the pages. */

export interface OpenOptions extends EnginePlaces {
  /** The database file. `null` means the default file in the user's data folder. */
  readonly databaseFile: string | null;
}

export type ToEngine =
  | { readonly kind: 'open'; readonly options: OpenOptions }
  /**
   * Announces a new page. A utility process also receives the port of the page. A Node process receives the messages of
   * the page as 'message'.
   */
  | { readonly kind: 'page'; readonly page: number }
  | { readonly kind: 'message'; readonly page: number; readonly message: unknown }
  | { readonly kind: 'page-closed'; readonly page: number }
  | { readonly kind: 'stop' };

export type FromEngine =
  /** The process now receives messages. Earlier messages may be lost, because its modules load asynchronously. */
  | { readonly kind: 'listening' }
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'message'; readonly page: number; readonly message: unknown };
