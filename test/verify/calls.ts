import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeMessage, encodeMessage } from '../../src-main/contract/transport.ts';
import { procedures, type ProcedureName } from '../../src-main/contract/procedures.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import type { Engine } from '../../src-main/services/engine.ts';
import type { UniformSource } from '../../src-workers/numeric/random.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { inFolder } from '../db/sample.ts';
import { ended, testEngine } from '../unit/engine-calls.ts';
import { HOSTILE, smallStudy } from '../unit/export-runs.ts';
import { dataFile } from '../data.ts';
import { inMegabytes, inSeconds, oneOf, wholeBelow, type Report, type Section } from './report.ts';

const ROOT = join(import.meta.dirname, '../..');
const IN_FLIGHT = 6;
/** All started runs are cancelled after this number of calls. Otherwise the pool would do nothing else. */
const CANCEL_EVERY = 100;
/** Longest accepted wait for an answer, ms. A call that waits only for its own work ends sooner on any machine. */
const LIMIT_MS = 120_000;
const MAX_MESSAGE_CHARACTERS = 4000;
/** Memory that the engine may keep for opened runs. */
const HEAP_GROWTH_BYTES = 2 ** 27;
/** Returns the size of the engine's heap. If Node allows it (--expose-gc), garbage is collected first. */
const heapBytes = (): number => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};

/** These procedures start programs, or compute for seconds whatever their input, so they are called less often. */
const SLOW: readonly ProcedureName[] = ['bench.start', 'bench.probe', 'bench.targets', 'bench.bundle', 'app.doctor', 'advice.sensitivity', 'advice.robust', 'advice.recommend', 'advice.uncertainty', 'simulations.start', 'runs.wait', 'models.reproduce', 'evidence.judge', 'evidence.devices']; // prettier-ignore
const SLOW_SHARE = 0.02;

/** Texts for fields, by the field's name. They pass more checks than random letters would. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  deviceId: ['nvidia-a100-sxm4-40gb', 'nvidia-rtx-4090', 'amd-epyc-7302p', 'nvidia-a100-sxm4-40gb:66', 'nobody'],
  lengths: ['geometric(0.05)', 'poisson(3)', 'zipf(1.2,500)', 'example:collatz', 'constant(7)', 'file:none.csv', 'mixture(0.5*constant(1),0.5*geometric(0.2))'],
  target: ['cpu', 'cuda:0', 'webgpu-page', 'program', 'none'],
  x: ['blockThreads', 'threadsPerUnit', 'balancing', 'launch', 'device'],
  y: ['blockThreads', 'threadsPerUnit', 'balancing', 'launch', 'loop'],
  balancing: ['none', 'dynamic-fetch', 'full-sort', 'window-sort(64)', 'best-buckets(2)', 'mixed(2)'],
  paper: ['swatman', 'bialas', 'hasan', 'langguth'],
  fileName: ['lengths.csv', 'cache.json', 'kernel.ptx', 'kernel.cu', '../../etc/passwd', 'a\0b', 'results.jsonl'],
  key: ['theme', 'layout', '__proto__', 'constructor'],
  folder: ['/nowhere', '.', '/proc/self', ROOT],
  client: ['a', 'b'],
}; // prettier-ignore
const FILES = ['db/examples/acts-propagation-steps.csv', 'test/data/loops/spmv-times-ms.csv', 'test/data/measured/cpu-xeon-2-cores.jsonl', 'test/data/kernel-tuner/convolution-A100.json.gz', 'test/data/inspect/kernels.ptx', 'db/examples/acts.json', 'test/data/matrices/netscience.mtx'].map((path) => new Uint8Array(readFileSync(join(ROOT, path)))); // prettier-ignore

interface Schema {
  readonly type: string;
  readonly wrapped?: Schema;
  readonly entries?: Readonly<Record<string, Schema>>;
  readonly item?: Schema;
  readonly key?: Schema;
  readonly value?: Schema;
  readonly options?: readonly Schema[] | readonly unknown[];
  readonly literal?: unknown;
  readonly pipe?: readonly { readonly type: string; readonly requirement?: unknown }[];
}

/** Returns a value that a schema usually accepts. @param field name of the schema's field */
export function valid(schema: Schema, uniform: UniformSource, field = ''): unknown {
  const bound = (type: string): number | undefined => {
    const found = schema.pipe?.find((step) => step.type === type)?.requirement;
    return typeof found === 'number' ? found : undefined;
  };
  switch (schema.type) {
    case 'optional':
    case 'exact_optional':
      return uniform() < 0.6 ? undefined : valid(schema.wrapped!, uniform, field);
    case 'nullable':
      return uniform() < 0.3 ? null : valid(schema.wrapped!, uniform, field);
    case 'strict_object':
    case 'object': {
      const fields = Object.entries(schema.entries!).map(([name, entry]) => [name, valid(entry, uniform, name)]);
      return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
    }
    case 'record':
      return { [String(valid(schema.key!, uniform, 'deviceId'))]: valid(schema.value!, uniform, field) };
    case 'array': {
      const from = bound('min_length') ?? 0;
      return Array.from({ length: from + wholeBelow(uniform, 3) }, () => valid(schema.item!, uniform, field));
    }
    case 'union':
      return valid(oneOf(uniform, schema.options as readonly Schema[]), uniform, field);
    case 'picklist':
      return oneOf(uniform, schema.options!);
    case 'literal':
      return schema.literal;
    case 'boolean':
      return uniform() < 0.5;
    case 'number': {
      const from = bound('min_value') ?? 0;
      const to = Math.min(bound('max_value') ?? Infinity, from + (uniform() < 0.1 ? 1e9 : 8));
      const whole = schema.pipe?.some((step) => step.type === 'integer');
      return whole ? from + wholeBelow(uniform, to - from + 1) : from + uniform() * (to - from);
    }
    case 'string':
      if (field === 'text') return JSON.stringify(smallStudy());
      return oneOf(uniform, WORDS[field] ?? [...WORDS['deviceId'], 'text', HOSTILE]);
    case 'custom':
      return oneOf(uniform, FILES);
    case 'unknown':
      return field === 'records'
        ? { type: 'sample', case: 'a', repeat: 0, warmUp: false, timeNs: 5, clockMhz: null }
        : { kind: 'gpu', id: 'own', sources: {} };
    default:
      throw new Error(`verify does not know schemas of the type "${schema.type}". Add it to test/verify/calls.ts.`);
  }
}

const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { a: value };
  return value;
};
const cyclic = (): unknown => {
  const value: unknown[] = [];
  value.push({ value });
  return value;
};
/** Values that our pages never send, but that a page could send by structured clone or as a frame. */
const HOSTILE_VALUES: readonly (() => unknown)[] = [
  ...[NaN, Infinity, -Infinity, -0, -1, 0, 0.5, 1e308, 5e-324, 2 ** 31, 2 ** 53, 2 ** 64].map((value) => () => value),
  ...['', '\0', '\ud800', '__proto__', 'constructor', HOSTILE, '../'.repeat(50), '1', 'NaN'].map((value) => () => value), // prettier-ignore
  ...['x'.repeat(100_000), '('.repeat(60_000), null, undefined, true, false, 12n].map((value) => () => value),
  () => [],
  () => ({}),
  () => new Array(100_000).fill(1),
  () => Array.from({ length: 3 }, () => []),
  () => Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, i])),
  () => JSON.parse('{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}') as unknown,
  () => nested(50),
  () => nested(100_000),
  cyclic,
  () => new Date(NaN),
  () => new Map([[1, 2]]),
  () => new Uint8Array(1000).fill(0x5b),
  () => new Uint8Array(0),
  () => new Float64Array([NaN]),
  () => new ArrayBuffer(8),
  () => new Array(5), // an array of holes
];

/** Replaces, removes, adds or exchanges a part of a value. */
export function mutated(value: unknown, uniform: UniformSource): unknown {
  const hostile = (): unknown => oneOf(uniform, HOSTILE_VALUES)();
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || uniform() < 0.15) {
    if (!(value instanceof Uint8Array) || uniform() < 0.3) return hostile();
    const bytes = value.slice();
    for (let i = 0; i < 8; i++) bytes[wholeBelow(uniform, bytes.length)] = wholeBelow(uniform, 256);
    return bytes.subarray(0, wholeBelow(uniform, bytes.length));
  }
  if (Array.isArray(value)) {
    const list = [...(value as readonly unknown[])];
    const at = wholeBelow(uniform, list.length + 1);
    if (uniform() < 0.2) list.splice(at, 1);
    else list[at] = mutated(list[at], uniform);
    return list;
  }
  const copy = { ...(value as Record<string, unknown>) };
  const keys = Object.keys(copy);
  const isOther = keys.length === 0 || uniform() < 0.08;
  const key = oneOf(uniform, isOther ? ['extra', 'id', 'runId', 'study', 'toString'] : keys);
  if (uniform() < 0.12) delete copy[key];
  else if (uniform() < 0.05) copy[key] = copy[oneOf(uniform, keys.length > 0 ? keys : [key])];
  else copy[key] = mutated(copy[key], uniform);
  return copy;
}

/** Returns a study that takes almost no time to predict. Half of the studies have a random change. */
function anyStudy(uniform: UniformSource): unknown {
  const axes = { blockThreads: [64, 128], threadsPerUnit: [1, 4], blocksPerMultiprocessor: [2] };
  const study: StudyFile = smallStudy({ axes });
  return uniform() < 0.5 ? study : mutated(study, uniform);
}

/** Puts studies and ids of existing runs into the input of a call. */
function furnished(input: unknown, runs: number, uniform: UniformSource): unknown {
  if (typeof input !== 'object' || input === null) return input;
  const copy = input as Record<string, unknown>;
  for (const key of ['id', 'runId', 'studyId', 'leftId', 'rightId'])
    if (typeof copy[key] === 'number') copy[key] = 1 + wholeBelow(uniform, runs);
  if (Array.isArray(copy['runIds'])) copy['runIds'] = copy['runIds'].map(() => 1 + wholeBelow(uniform, runs));
  if (copy['study'] !== undefined) copy['study'] = anyStudy(uniform);
  return copy;
}

async function cancelAll(engine: Engine): Promise<void> {
  for (const run of unwrap(await engine.call('runs.list', { limit: 1000 })))
    if (run.state === 'running') await engine.call('runs.cancel', { id: run.id });
}

function shown(value: unknown): string {
  try {
    return JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? `${inner}n` : ArrayBuffer.isView(inner) ? `<${inner.byteLength} bytes>` : inner))?.slice(0, 600) ?? 'undefined'; // prettier-ignore
  } catch (error) {
    return `<${String(error).slice(0, 80)}>`;
  }
}

export async function verifyCalls(report: Report, calls: number): Promise<void> {
  const { uniform } = report;
  const names = Object.keys(procedures) as ProcedureName[];
  const quick = names.filter((name) => !SLOW.includes(name));
  const answers = { accepted: 0, refused: 0 };
  const accepted = new Set<string>();
  let slowest = { ms: 0, name: '' };
  const rejected: string[] = [];
  const onRejection = (error: unknown): void => void rejected.push(error instanceof Error ? error.stack! : String(error)); // prettier-ignore
  process.on('unhandledRejection', onRejection);

  await inFolder(async (folder) => {
    // The engine has the rights of a page's engine, which must not start the user's programs.
    const programs = { cpuChildFile: dataFile('bench/cpu-child.ts') };
    const engine = await testEngine(join(folder, 'calls.db'), { host: 'serve', programs });
    await cancelAll(engine);
    const swept = await ended(engine, 'runs.start', { study: smallStudy() });
    await ended(engine, 'simulations.start', { runId: swept.id, top: 2, maxReplications: 5 });
    await engine.call('import.file', { fileName: 'cache.json.gz', bytes: FILES[3] });

    const one = async (number: number): Promise<void> => {
      const name = oneOf(uniform, uniform() < SLOW_SHARE ? SLOW : quick);
      let input = furnished(valid(procedures[name].input, uniform) ?? {}, swept.id + 3, uniform);
      for (let changes = wholeBelow(uniform, 4); changes > 0; changes--) input = mutated(input, uniform);
      const at = `call ${number} of seed ${report.seed}, ${name}`;
      // The value is sent as over a socket if a frame can hold it, and otherwise as over a port of the desktop.
      try {
        const message = decodeMessage(encodeMessage(input));
        if (message.ok) input = message.value;
      } catch {
        // No frame can hold this value.
      }
      const start = performance.now();
      let late: NodeJS.Timeout | undefined;
      const answer = await Promise.race([
        engine.dispatch(name, input),
        new Promise<null>((resolve) => (late = setTimeout(() => resolve(null), LIMIT_MS))),
      ]).catch((error: unknown) => {
        report.fail(`${at} threw ${String(error)}: ${shown(input)}`);
      });
      clearTimeout(late);
      const ms = performance.now() - start;
      if (answer === null) report.fail(`${at} got no answer in ${inSeconds(LIMIT_MS)}: ${shown(input)}`);
      if (!answer) return;
      if (ms > slowest.ms && name !== 'runs.wait') slowest = { ms, name };
      if (answer.ok) {
        answers.accepted++;
        accepted.add(name);
        try {
          encodeMessage(answer.value ?? null);
        } catch (error) {
          report.fail(`${at}: its answer cannot be sent: ${String(error)}: ${shown(input)}`);
        }
        return;
      }
      answers.refused++;
      const { code, message } = answer.error;
      if (code === 'internal') report.fail(`${at} is an internal error: ${message.slice(0, 600)}: ${shown(input)}`);
      if (message.length > MAX_MESSAGE_CHARACTERS || message === '')
        report.fail(`${at}: its message has ${message.length} characters: ${message.slice(0, 200)}: ${shown(input)}`);
    };

    let next = 0;
    const heapBefore = heapBytes();
    while (next < calls) {
      const until = Math.min(calls, next + CANCEL_EVERY);
      const lane = async (): Promise<void> => {
        while (next < until) await one(next++);
      };
      // A call may wait for a run, so runs are cancelled until all calls have ended.
      const lanes = Promise.all(Array.from({ length: IN_FLIGHT }, lane));
      let done = false;
      void lanes.then(() => (done = true));
      while (!done) {
        await Promise.race([lanes, new Promise((resolve) => setTimeout(resolve, 1000))]);
        await cancelAll(engine);
      }
      if (until % 10_000 === 0) report.say(`${until} calls, heap ${inMegabytes(heapBytes())}`);
    }
    await cancelAll(engine);
    const info = await engine.call('app.info', {});
    if (!info.ok) report.fail(`Afterwards app.info fails: ${info.error.message}`);
    const integrity = unwrap(await engine.context.store.checkIntegrity());
    if (integrity.length > 0) report.fail(`Afterwards the database is damaged: ${integrity.join('; ')}`);
    const heapAfter = heapBytes();
    if (globalThis.gc && heapAfter > heapBefore + HEAP_GROWTH_BYTES)
      report.fail(`The heap grew to ${inMegabytes(heapAfter)}.`);
    report.figure('heap before and after', `${inMegabytes(heapBefore)}, ${inMegabytes(heapAfter)}`);
    await engine.close();
  });
  process.off('unhandledRejection', onRejection);
  for (const error of rejected) report.fail(`A promise was rejected without a handler: ${error}`);
  if (({} as { polluted?: unknown }).polluted !== undefined) report.fail('The prototype of all objects was changed.');
  report.figure('mutated calls', answers.accepted + answers.refused);
  const [yes, no] = [answers.accepted, answers.refused].map((count) => count.toLocaleString('en'));
  report.figure('accepted, refused', `${yes}, ${no}`);
  report.figure('procedures', `${names.length}, ${accepted.size} of them with an accepted call`);
  report.figure('slowest call', `${inSeconds(slowest.ms)} (${slowest.name})`);
}

export const section: Section = {
  what: 'mutated calls, made from the schemas: none causes an internal error',
  amount: { full: 100_000, quick: 1500, unit: 'calls' },
  run: verifyCalls,
};
