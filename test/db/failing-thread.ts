import { parentPort } from 'node:worker_threads';

// This thread stands in for the store's. It opens, and ends at the first call.
parentPort?.on('message', () => {
  throw new Error('on purpose');
});
parentPort?.postMessage({ kind: 'opened', methods: ['listStudies', 'listSettings'] });
