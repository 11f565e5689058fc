/* Runs tasks of a pool under test. The file has the name of the pool's own worker. */
import { threadId, workerData } from 'node:worker_threads';
import { countStep, shareSteps, viewSteps } from '../../src-workers/numeric/steps.ts';

shareSteps(viewSteps(workerData as Int32Array, threadId));

export function predict(): never {
  countStep();
  for (;;);
}

export function loss(): never {
  for (;;);
}

export function survey(): never {
  for (;;) countStep();
}

/** Makes steps without end, but only the first time. @param begun counts the starts, in shared memory */
export function vary({ begun }: { readonly begun: Int32Array }): number {
  Atomics.add(begun, 0, 1);
  while (Atomics.load(begun, 0) === 1) countStep();
  return begun[0];
}

export function explain(): number {
  return threadId;
}
