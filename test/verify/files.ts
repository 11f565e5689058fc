import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import fc from 'fast-check';
import { PARSERS } from './parsers.ts';
import { inSeconds, type Report, type Section } from './report.ts';

/** Limit of a file's processor time, ms. Elapsed time would include other programs that use the processor. */
const LIMIT_MS = 2000;
/** If no file is finished within this time, ms, the worker is in an endless loop and is ended. */
const SILENCE_MS = 60_000;

interface Order {
  readonly parser: number;
  readonly files: number;
  readonly seed: number;
  /** An array with one number, which counts the started files. */
  readonly begun: SharedArrayBuffer;
}
interface Answer {
  readonly failure: string | null;
  readonly slowestMs: number;
}

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

async function readFiles({ parser, files, seed, begun }: Order): Promise<Answer> {
  const { files: arbitrary, read } = PARSERS[parser];
  const counter = new Int32Array(begun);
  let slowestMs = 0;
  const outcome = await fc.check(
    fc.asyncProperty(arbitrary, fc.integer({ min: 1, max: 64 }), async (bytes, chunkBytes) => {
      Atomics.add(counter, 0, 1);
      const start = cpuMs();
      // Large files are read in larger chunks. Otherwise, the work per chunk would be measured.
      await read(bytes, bytes.length > 500 ? 97 * chunkBytes : chunkBytes);
      const ms = cpuMs() - start;
      slowestMs = Math.max(slowestMs, ms);
      if (ms > LIMIT_MS) throw new Error(`The file takes ${inSeconds(ms)}; the limit is ${inSeconds(LIMIT_MS)}.`);
    }),
    { numRuns: files, seed, interruptAfterTimeLimit: 3_600_000 },
  );
  if (!outcome.failed) return { failure: null, slowestMs };
  const { counterexample, counterexamplePath, errorInstance } = outcome;
  const bytes = Buffer.from(counterexample?.[0] ?? []).toString('base64');
  const why = errorInstance instanceof Error ? errorInstance.stack : String(errorInstance);
  return { failure: `${why}\npath ${counterexamplePath}, file (base64): ${bytes.slice(0, 4000)}`, slowestMs };
}

if (!isMainThread && workerData === 'verify files')
  parentPort!.on('message', (order: Order) => void readFiles(order).then((answer) => parentPort!.postMessage(answer)));

async function inThread(worker: Worker, order: Order): Promise<Answer> {
  const counter = new Int32Array(order.begun);
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const onError = (error: Error): void => resolve({ failure: `The thread ended: ${error.message}`, slowestMs: 0 });
  worker.once('message', resolve);
  worker.once('error', onError);
  let [last, since] = [0, performance.now()];
  const watch = setInterval(() => {
    if (counter[0] !== last) [last, since] = [counter[0], performance.now()];
    else if (performance.now() - since > SILENCE_MS)
      resolve({ failure: `File ${last} was not read within ${inSeconds(SILENCE_MS)}.`, slowestMs: SILENCE_MS });
  }, 500);
  worker.postMessage(order);
  const answer = await promise;
  clearInterval(watch);
  worker.off('error', onError);
  return answer;
}

export async function verifyFiles(
  report: Report,
  files: number,
  only = PARSERS.map(({ name }) => name),
): Promise<void> {
  const open = (): Worker => new Worker(new URL(import.meta.url), { workerData: 'verify files' });
  let worker = open();
  let slowest: Answer & { readonly name: string } = { failure: null, slowestMs: 0, name: '' };
  for (const [parser, { name }] of PARSERS.entries()) {
    if (!only.includes(name)) continue;
    const order: Order = { parser, files, seed: report.seed, begun: new SharedArrayBuffer(4) };
    const answer = await inThread(worker, order);
    report.say(`${name}: ${files} files, the slowest took ${inSeconds(answer.slowestMs)}`);
    if (answer.failure) {
      report.fail(`${name}, seed ${report.seed}: ${answer.failure}`);
      await worker.terminate(); // The worker may never answer again.
      worker = open();
    }
    if (answer.slowestMs > slowest.slowestMs) slowest = { ...answer, name };
  }
  await worker.terminate();
  report.figure('mutated files', files * only.length);
  report.figure('parsers', only.length);
  report.figure('slowest file', `${inSeconds(slowest.slowestMs)} (${slowest.name})`);
}

export const section: Section = {
  what: 'mutated files: no crash, none slower than 2 s',
  amount: { full: 10_000, quick: 150, unit: 'files per parser' },
  run: verifyFiles,
};
