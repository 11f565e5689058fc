import type { Failure, Result } from '../src-workers/domain/result.ts';
import type { Store } from './store-api.ts';

export interface ThreadOptions {
  readonly file: string;
  readonly migrationsFolder: string;
  readonly reads?: boolean | undefined;
}

export type ToThread =
  | { readonly kind: 'call'; readonly id: number; readonly method: keyof Store; readonly args: readonly unknown[] }
  | { readonly kind: 'close' };

export type FromThread =
  | { readonly kind: 'opened'; readonly methods: readonly (keyof Store)[] }
  | { readonly kind: 'refused'; readonly error: Failure }
  | { readonly kind: 'answer'; readonly id: number; readonly result: Result<unknown> }
  | { readonly kind: 'external-change' };
