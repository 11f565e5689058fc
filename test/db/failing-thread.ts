import { parentPort } from 'node:worker_threads';

// A thread of the store that opens and ends at the first call.
parentPort?.on('message', () => {
  throw new Error('on purpose');
});
parentPort?.postMessage({ kind: 'opened' });
