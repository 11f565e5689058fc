import type { EnginePlaces } from '../services/engine.ts';

export interface OpenOptions extends EnginePlaces {
  readonly databaseFile: string | null;
}

export type ToEngine =
  | { readonly kind: 'open'; readonly options: OpenOptions }
  /** A utility process also receives the port of the page. A Node process gets the page's messages as 'message'. */
  | { readonly kind: 'page'; readonly page: number }
  | { readonly kind: 'message'; readonly page: number; readonly message: unknown }
  | { readonly kind: 'page-closed'; readonly page: number }
  | { readonly kind: 'stop' };

export type FromEngine =
  /** Messages that are sent to the engine before it listens may be lost, because its modules load asynchronously. */
  | { readonly kind: 'listening' }
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'message'; readonly page: number; readonly message: unknown };
