import type { Result } from '../src-workers/domain/result.ts';
import { fail } from '../src-workers/domain/result.ts';
import type { StoreClient } from './store-api.ts';

export interface StoreClientOptions {
  /** The database file; created where it does not exist. Its folder must exist. */
  readonly file: string;
  /** Folder of the numbered .sql files. */
  readonly migrationsFolder: string;
  /** Path of the thread's script, for a bundle that moves it. Default: `thread.ts` beside this file. */
  readonly threadFile?: string;
}

/** Opens the store in a thread of its own. Fails with `storage` where the file is refused, and leaves it untouched. */
export async function openStoreClient(options: StoreClientOptions): Promise<Result<StoreClient>> {
  return fail('unsupported', `store client for ${options.file} is not built yet`);
}
