import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';

/** Time limit of a prediction. It takes a second at most, but may take some minutes on a very busy machine. */
const LIMIT_MS = 240_000;

/** Predicts random studies in a worker, which is terminated if a prediction does not end. */
async function predictAll(seeds: readonly number[]): Promise<{ readonly predicted: number; readonly stuck?: number }> {
  const worker = new Worker(new URL('endless-worker.ts', import.meta.url), { workerData: seeds });
  let predicted = 0;
  try {
    return await new Promise((resolve, reject) => {
      const stuck = (): void => resolve({ predicted, stuck: seeds[predicted] });
      let limit = setTimeout(stuck, LIMIT_MS);
      worker.on('message', () => {
        predicted += 1;
        clearTimeout(limit);
        limit = setTimeout(stuck, LIMIT_MS);
      });
      worker.on('error', reject);
      worker.on('exit', () => resolve({ predicted }));
    });
  } finally {
    await worker.terminate();
  }
}

it('a prediction ends for all lengths, balancings and loops', async () => {
  const seeds = Array.from({ length: 24 }, (_, seed) => seed);
  expect(await predictAll(seeds)).toEqual({ predicted: seeds.length });
});
