import { existsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { predict as realPredict } from '../../src-workers/worker.ts';

export * from '../../src-workers/worker.ts';

// This worker of the pool runs out of memory once in each process, at its second task.
const mark = join(tmpdir(), `lockstep-verify-memory-${process.pid}`);
let tasks = 0;

export const predict: typeof realPredict = (input) => {
  if (++tasks === 2 && !existsSync(mark)) {
    writeFileSync(mark, '');
    const kept: unknown[] = [];
    for (;;) kept.push(new Array(1_000_000).fill({ kept: kept.length }));
  }
  return realPredict(input);
};
