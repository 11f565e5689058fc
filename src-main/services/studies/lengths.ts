import { stat } from 'node:fs/promises';
import type { StoreClient } from '../../../db/store-api.ts';
import { ok, type Result } from '../../../src-workers/domain/result.ts';
import { keep } from '../../../src-workers/numeric/kept.ts';
import { fileState, type OpenedFile } from '../../../src-workers/parse/open-file.ts';
import type { Study } from '../../contract/study.ts';
import type { Pool } from '../pool.ts';
import { resolveLengths, type OrderedLaw } from './workloads.ts';

const MAX_KEPT = 8;

/** Keeps the lengths of the last studies. Otherwise each edit of another field would read the file again. */
export function createLengthsCache(context: { readonly store: StoreClient; readonly pool: Pool }) {
  const cache = new Map<string, OrderedLaw & { readonly files: readonly OpenedFile[] }>();
  return {
    async resolve({ workload }: Study, folder: string | null): Promise<Result<OrderedLaw>> {
      const { lengths, truncation } = workload;
      const key = JSON.stringify([lengths, truncation ?? null, folder]);
      const known = cache.get(key);
      if (known && (await isUnchanged(known.files))) return ok(keep(cache, MAX_KEPT, key, known));
      const resolved = await resolveLengths(context, lengths, folder, truncation);
      if (resolved.ok) keep(cache, MAX_KEPT, key, resolved.value);
      return resolved;
    },
  };
}

export type LengthsCache = ReturnType<typeof createLengthsCache>;

async function isUnchanged(files: readonly OpenedFile[]): Promise<boolean> {
  for (const { file, state } of files) if ((await stat(file).then(fileState, () => 'missing')) !== state) return false;
  return true;
}
