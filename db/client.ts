import { Worker } from 'node:worker_threads';

import { errorText, badInput, fail, ok, type Result } from '../src-workers/domain/result.ts';
import { handOver } from './columns.ts';
import type { FromThread, ThreadOptions, ToThread } from './messages.ts';
import type { PredictionChunk } from './records.ts';
import type { AsyncStore, Store, StoreClient } from './store-api.ts';

export interface StoreClientOptions extends ThreadOptions {
  readonly threadFile?: string | URL;
}

/** Starts a thread that opens the database and keeps the process alive until `close`. Fails with `storage`. */
export async function openStoreClient(options: StoreClientOptions): Promise<Result<StoreClient>> {
  const { file, migrationsFolder, reads, threadFile = new URL('./thread.ts', import.meta.url) } = options;
  const workerData: ThreadOptions = { file, migrationsFolder, reads };
  const worker = new Worker(threadFile, { workerData, name: 'lockstep-store' });

  const pending = new Map<number, (result: Result<unknown>) => void>();
  const listeners = new Set<() => void>();
  let ended: Result<never> | undefined;
  let lastId = 0;

  const exited = new Promise<void>((resolve) => {
    worker.once('exit', (exitCode) => {
      ended ??= fail(
        'storage',
        `The store's thread ended unexpectedly (exit code ${exitCode}). Everything that was reported as saved is safe.`,
      );
      for (const answer of pending.values()) answer(ended);
      pending.clear();
      resolve();
    });
  });
  worker.once('error', (error: unknown) => {
    const message = errorText(error);
    ended ??= fail('storage', `The store's thread failed: ${message}. Everything that was reported as saved is safe.`);
  });

  const post = (message: ToThread, transfer: ArrayBuffer[] = []): void => worker.postMessage(message, transfer);

  function call(method: keyof Store, args: readonly unknown[]): Promise<Result<unknown>> {
    return new Promise((resolve) => {
      if (ended) return resolve(ended);
      const id = ++lastId;
      try {
        const { message, transfer } =
          method === 'savePredictionChunk' ? chunkCall(args) : { message: args, transfer: [] };
        post({ kind: 'call', id, method, args: message }, transfer);
      } catch (error) {
        const reason = errorText(error);
        return resolve(badInput(`${method}: an argument cannot be sent to the store: ${reason}`));
      }
      pending.set(id, resolve);
    });
  }

  const opening = new Promise<Result<readonly (keyof Store)[]>>((resolve) => {
    worker.on('message', (message: FromThread) => {
      switch (message.kind) {
        case 'opened':
          return resolve(ok(message.methods));
        case 'refused':
          return resolve({ ok: false, error: message.error });
        case 'answer': {
          const answer = pending.get(message.id);
          pending.delete(message.id);
          return answer?.(message.result);
        }
        case 'external-change':
          return listeners.forEach((listener) => listener());
      }
    });
    void exited.then(() => resolve(ended!));
  });

  const result = await opening;
  if (!result.ok) {
    await exited;
    return result;
  }

  const methods = Object.fromEntries(
    result.value.map((method) => [method, (...args: readonly unknown[]) => call(method, args)]),
  ) as unknown as AsyncStore;

  return ok({
    ...methods,
    onExternalChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      if (!ended) {
        ended = fail('storage', 'The store is closed.');
        post({ kind: 'close' });
      }
      await exited;
    },
  });
}

function chunkCall(args: readonly unknown[]): {
  readonly message: readonly unknown[];
  readonly transfer: ArrayBuffer[];
} {
  const [runId, chunk] = args as Parameters<Store['savePredictionChunk']>;
  const { message, transfer } = handOver<PredictionChunk>(chunk);
  return { message: [runId, message], transfer };
}
