import { parentPort, workerData } from 'node:worker_threads';

import { errorText, type Result, fail } from '../src-workers/domain/result.ts';
import { handOver } from './columns.ts';
import type { FromThread, ThreadOptions, ToThread } from './messages.ts';
import { HEARTBEAT_MS } from './ownership.ts';
import type { RunColumns } from './records.ts';
import type { Store } from './store-api.ts';
import { type OpenStore, openStore } from './store.ts';

/** Interval of the check for changes by other processes. One check takes microseconds. */
const WATCH_MS = 400;

const port = parentPort;
if (!port) throw new Error('thread.ts must run in a worker thread');

const send = (message: FromThread, transfer: ArrayBuffer[] = []): void => port.postMessage(message, transfer);

const opened = openStore(workerData as ThreadOptions);
if (opened.ok) {
  serve(opened.value);
  send({ kind: 'opened', methods: Object.keys(opened.value.store) as (keyof Store)[] });
} else {
  send({ kind: 'refused', error: opened.error });
}

function serve(open: OpenStore): void {
  let seen = open.dataVersion();
  const watch = setInterval(() => {
    const version = open.dataVersion();
    if (version === seen) return;
    seen = version;
    send({ kind: 'external-change' });
  }, WATCH_MS);
  // A failed heartbeat needs no handling, because the next one makes up for it.
  const beat = setInterval(() => void open.beat(), HEARTBEAT_MS);

  port?.on('message', (message: ToThread) => {
    switch (message.kind) {
      case 'call':
        answer(open, message);
        return;
      case 'close':
        clearInterval(watch);
        clearInterval(beat);
        open.close();
        port.close();
        return;
    }
  });
}

function answer({ store }: OpenStore, { id, method, args }: Extract<ToThread, { kind: 'call' }>): void {
  // Client and thread share the type of `Store`, so the arguments fit. The type of a message cannot express this.
  const run = store[method] as (...args: readonly unknown[]) => Result<unknown>;
  let result: Result<unknown>;
  try {
    result = run(...args);
  } catch (error) {
    result = fail('internal', `store: ${method}: ${errorText(error)}`);
  }
  if (method === 'loadRunColumns' && result.ok) {
    const { message, transfer } = handOver(result.value as RunColumns);
    send({ kind: 'answer', id, result: { ok: true, value: message } }, transfer);
  } else {
    send({ kind: 'answer', id, result });
  }
}
