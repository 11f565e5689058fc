import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { readOptunaStudies } from '../../src-main/services/imports/optuna.ts';
import { optunaStorage } from '../optuna-storage.ts';
import { parseKernelManifest } from '../../src-main/contract/kernel-manifest.ts';
import { parseStudy } from '../../src-main/contract/parse.ts';
import { fileKind } from '../../src-main/services/imports/file-kind.ts';
import { kernelFileKind, type Inspection } from '../../src-workers/domain/inspection.ts';
import type { Result } from '../../src-workers/domain/result.ts';
import { inspectKernel, type KernelTexts } from '../../src-workers/inspect/inspect.ts';
import { parseBenchResults } from '../../src-workers/parse/bench-results.ts';
import { parseLengthsCsv } from '../../src-workers/parse/csv.ts';
import { validateDevice } from '../../src-workers/parse/device.ts';
import { parseEvidence } from '../../src-workers/parse/evidence.ts';
import { formatWorkload, parseWorkload } from '../../src-workers/parse/grammar.ts';
import { parseKernelTuner } from '../../src-workers/parse/kernel-tuner.ts';
import { inspectLengths, readLengths } from '../../src-workers/parse/length-file.ts';
import { parseLoopTimes } from '../../src-workers/parse/loops.ts';
import { parseMatrixMarket } from '../../src-workers/parse/matrix-market.ts';
import { parseMeasuredTimes } from '../../src-workers/parse/measured-times.ts';
import { parseSmiteMeans } from '../../src-workers/parse/smite.ts';
import { bytesSource } from '../../src-workers/parse/source.ts';
import { inspectTable } from '../../src-workers/parse/table.ts';
import { parseTrace } from '../../src-workers/parse/trace.ts';
import { unpacked } from '../../src-workers/parse/unpack.ts';
import { benchPlan, measuringDevice, planLine } from '../measuring.ts';
import { chunks, encode } from '../data.ts';

/** A reader of a foreign format, and a generator of files for it. */
interface Parser {
  readonly name: string;
  readonly files: fc.Arbitrary<Uint8Array>;
  /** Reads the file, in chunks of `chunkBytes` bytes if it is a stream. Throws if the result makes no sense. */
  read(bytes: Uint8Array, chunkBytes: number): unknown;
}

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

// Hostile files are any bytes, words of a format in any order, files of a program, and these with pieces replaced.

const ROOT = join(import.meta.dirname, '../..');
/** Larger files are cut to this size. With megabytes in 10,000 files, the test would only measure the machine. */
const MAX_SAMPLE_BYTES = 12_000;
function sample(path: string): Uint8Array {
  const bytes = readFileSync(join(ROOT, path));
  return new Uint8Array((path.endsWith('.gz') ? gunzipSync(bytes) : bytes).subarray(0, MAX_SAMPLE_BYTES));
}

const anyBytes = fc.uint8Array({ maxLength: 400 });
const nearly = (tokens: readonly string[]): fc.Arbitrary<Uint8Array> =>
  fc.array(fc.constantFrom(...tokens), { maxLength: 60 }).map((parts) => encode(parts.join('')));

/** Numbers that no user writes, but that a file may have. */
const NUMBERS = '0 -0 -1 1e308 1e999 5e-324 9007199254740993 4294967296 NaN 0x10 1_0 ١'.split(' ');
/** Replaces a piece by bytes, by a hostile number or by a copy of another piece, or repeats the piece. */
const edit = fc.record({
  at: fc.nat(),
  removed: fc.oneof(fc.nat(8), fc.nat(400)),
  put: fc.oneof(
    fc.uint8Array({ maxLength: 12 }),
    fc.constantFrom(...NUMBERS, '__proto__', '\ufeff', '\0', '"', '\n', '[[[[', '{"a":', '\\u').map(encode),
    fc.tuple(fc.nat(), fc.nat(200), fc.nat(20)),
  ),
});
function damaged(files: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> {
  return fc.tuple(files, fc.array(edit, { minLength: 1, maxLength: 4 })).map(([file, edits]) => {
    let bytes = file;
    for (const { at, removed, put } of edits) {
      const within = (place: number): number => (bytes.length === 0 ? 0 : place % bytes.length);
      const repeated = (from: number, length: number, times: number): Uint8Array =>
        Buffer.concat(new Array<Uint8Array>(times).fill(bytes.subarray(within(from), within(from) + length)));
      const piece = put instanceof Uint8Array ? put : repeated(...put);
      bytes = Buffer.concat([bytes.subarray(0, within(at)), piece, bytes.subarray(within(at) + removed)]);
    }
    return new Uint8Array(bytes);
  });
}
/** Returns the usual mix of files for a format. */
function filesOf(tokens: readonly string[], ...written: readonly (fc.Arbitrary<Uint8Array> | Uint8Array)[]) {
  const whole = written.map((one) => (one instanceof Uint8Array ? fc.constant(one) : one));
  return fc.oneof(anyBytes, nearly(tokens), ...whole.map(damaged), ...whole.map(damaged), ...whole);
}

const CSV_TOKENS = ['1', '2', '0.5', '-1', '1e9', 'n', 'p', 'count', 'NaN', ',', ';', '\t', '\n', '\r\n', '\r', '"', '#', ' ', '\ufeff', '\0', '__proto__']; // prettier-ignore
const MATRIX_TOKENS = ['1', '2', '3', ' ', '\n', '\r\n', '%', '1 1 1\n', '2 2 2\n', '2 1 0.5\n', '1 1\n', '0', '-1', '1e5', 'nan', '9'.repeat(15)]; // prettier-ignore
const JSON_TOKENS = ['{', '}', '[', ']', ':', ',', '"cache"', '"results"', '"a"', '"\\', '1', '1e20', 'NaN', 'null', '\n', ' ', '__proto__']; // prettier-ignore
const WORKLOAD_TOKENS = ['geometric', 'mixture', 'categorical', 'file', 'mtx', 'example', 'collatz', ':', '(', ')', ',', '*', '0.5', '1', '-', 'e', '"', ' ', '\n', '\0', '\ud800', '__proto__']; // prettier-ignore
const LOOP_TOKENS = ['dataset', 'rows', 'cols', 'nnzs', 'merge', ',', '\n', '\r\n', '"', '1', '0.5', '-1', 'x', '__proto__']; // prettier-ignore
const MEANS_TOKENS = [
  'distribution,n,groups,simulated_mean_loss,simulated_aggregate_loss,measured_mean_loss,measured_aggregate_loss\n',
  ...['geometric(0.05)', 'poisson(3)', ',', '2', '1.5', '-1', '\n', '"'],
];
const TIMES_TOKENS = ['design', 'time_ms', 'measured_us', 'block_threads', 'register_cap', '__proto__', ',', ';', '\n', '"', '1', '0.5', '1e999', '-1', 'x']; // prettier-ignore
const KERNEL_TOKENS = ['.version 9.0\n', '.target sm_90\n', '.entry k(', ')\n{\n', '}', '{', ';', '\n', '$L:', '@%p1 bra $L', 'bra $L', 'brx.idx %r1, $L', 'ld.global.u32 %r1, [%r1]', '.loc 1 3 1\n', '// lockstep:loop\n', '/*', '*/', 'L: .branchtargets $L', '\t/*0010*/ ', 'BRA 0x10 ;\n', '.text.k:\n', '@P0 ', 'LDG.E R1, [R1.64]', ' EXIT ;\n', 'Function : k\n', '"ID",', '"Kernel Name"', '"0","k"', ',', '"']; // prettier-ignore

const headed = (heads: readonly string[], tokens: readonly string[]): fc.Arbitrary<Uint8Array> =>
  fc.tuple(fc.constantFrom(...heads), nearly(tokens)).map(([head, body]) => Buffer.concat([encode(head), body]));
const matrices = fc
  .tuple(
    fc.constantFrom('coordinate', 'array'),
    fc.constantFrom('real', 'integer', 'complex', 'pattern'),
    fc.constantFrom('general', 'symmetric', 'skew-symmetric', 'hermitian'),
    nearly(MATRIX_TOKENS),
  )
  .map(([form, field, symmetry, body]) =>
    Buffer.concat([encode(`%%MatrixMarket matrix ${form} ${field} ${symmetry}\n`), body]),
  );

const time = fc.oneof(fc.double({ min: 0, max: 1e6, noNaN: true }), fc.constantFrom(0, 1e20, -1));
const cacheEntry = fc.record(
  {
    a: fc.oneof(fc.integer(), fc.string({ maxLength: 5 }), fc.boolean()),
    time: fc.oneof(time, fc.constantFrom('InvalidConfig', '', null, { __error__: 'x' })),
    times: fc.array(time, { maxLength: 4 }),
    __error__: fc.string({ maxLength: 5 }),
    compile_time: fc.double(),
  },
  { requiredKeys: ['a'] },
);
const caches = fc.tuple(fc.array(cacheEntry, { maxLength: 6 }), fc.boolean()).map(([entries, pretty]) => {
  const cache = Object.fromEntries(entries.map((entry, at) => [`k${at}`, entry]));
  return encode(JSON.stringify({ device_name: 'x', tune_params_keys: ['a'], cache }, null, pretty ? 1 : 0));
});
const t4Files = fc
  .array(
    fc.record(
      {
        configuration: fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'polluted'), fc.integer(), { maxKeys: 3 }),
        times: fc.record({ runtimes: fc.array(time, { maxLength: 3 }), compilation: fc.double() }, { requiredKeys: [] }), // prettier-ignore
        invalidity: fc.constantFrom('correct', 'runtime', 'correctness', 'odd'),
        measurements: fc.array(
          fc.record({ name: fc.constantFrom('time', 'x'), value: time, unit: fc.constantFrom('', 'ms', 'ns') }),
        ),
      },
      { requiredKeys: ['configuration'] },
    ),
    { maxLength: 5 },
  )
  .map((results) => encode(JSON.stringify({ results, metadata: { timeunit: 'ms' }, schema_version: '1.0.0' })));

const stream = { benchmark: 'stream', parameters: { cores: 1, bytesPerCore: 8 } } as const;
export const PLAN = planLine(
  benchPlan([{ id: 'a', ...stream }, { id: 'b', ...stream }], { backend: 'cpu', warmUps: 0 }), // prettier-ignore
);
export const DEVICE = measuringDevice({ backend: 'cpu', threadGroupWidth: null, multiprocessors: null, timer: 'host' });
const record = fc.oneof(
  fc.record({
    type: fc.constant('sample'),
    case: fc.constantFrom('a', 'b', 'c'),
    repeat: fc.nat(3),
    warmUp: fc.boolean(),
    timeNs: fc.oneof(fc.nat(1e9), fc.constant(-1)),
    clockMhz: fc.constantFrom(null, 1000),
  }),
  fc.record({ type: fc.constant('failed'), case: fc.constantFrom('a', 'b'), message: fc.string({ maxLength: 5 }) }),
  fc.constantFrom<unknown>(DEVICE, PLAN, { type: 'done', elapsedMs: 1 }, { type: 'lost', message: 'x' }, { type: 'new' }, {}), // prettier-ignore
);
const results = fc
  .array(record, { maxLength: 12 })
  .map((records) => encode([PLAN, DEVICE, ...records].map((line) => JSON.stringify(line)).join('\n')));

const PTX = decode(new Uint8Array(readFileSync(join(ROOT, 'test/data/inspect/kernels.ptx'))));
const entryAt = (name: string): number => PTX.indexOf(`.visible .entry ${name}(`);
const KERNEL = `.version 9.0\n.target sm_90\n${PTX.slice(entryAt('branches'), entryAt('mandelbrot'))}`;
const SASS = sample('test/data/inspect/csr.sm_90.sass');
const LOG = `ptxas info    : Compiling entry function 'k' for 'sm_90'
    0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 1024 bytes smem
`;
const PROFILE = sample('test/data/inspect/launch-by-metric.ncu.csv');
/** Makes the smallest ELF file for a device. It has a header, and names in the header of its only section. */
const CUBIN = (() => {
  const bytes = new Uint8Array(256);
  const view = new DataView(bytes.buffer);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0x41, 8]);
  view.setUint16(0x12, 190, true);
  view.setBigUint64(0x28, 64n, true);
  view.setUint32(0x30, 0x6005a04, true);
  view.setUint16(0x3a, 64, true);
  view.setUint16(0x3c, 2, true);
  return bytes;
})();
const KERNEL_FILES = [['ptx', encode(KERNEL)], ['sass', SASS], ['log', encode(LOG)], ['profile', PROFILE], ['cubin', CUBIN]] as const; // prettier-ignore
/** A trace of two units with one and two steps, in one thread group. */
const TRACE = new Uint8Array(Uint32Array.of(0x5254534c, 1, 2, 0, 32, 1, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0).buffer);

// A reader must return a value that makes sense, or a failure that names the file. Anything thrown is a defect.

/** A message is for a user, so it names the file but does not repeat its content. */
const MAX_MESSAGE_CHARACTERS = 2000;
function soundOrRefused<T>(result: Result<T>, check: (value: T) => void, names = /hostile/): void {
  assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  if (result.ok) return check(result.value);
  const { code, message } = result.error;
  assert.match(message, names);
  assert.ok(message.length <= MAX_MESSAGE_CHARACTERS, `a message of ${message.length} characters`);
  assert.notEqual(code, 'internal');
}

function soundLaw({ law }: { readonly law: { readonly probability: Float64Array } }): void {
  const sum = law.probability.reduce((a, b) => a + b, 0);
  assert.ok(Math.abs(sum - 1) <= law.probability.length * Number.EPSILON, `probabilities add up to ${sum}`);
}

function soundCases(cases: readonly { readonly timesMs: readonly number[]; readonly failure: string | null }[]): void {
  for (const { timesMs, failure } of cases) {
    assert.ok(timesMs.every((one) => Number.isFinite(one) && one >= 0), `times ${timesMs.join(', ')}`); // prettier-ignore
    if (failure !== null) assert.deepEqual(timesMs, []);
  }
}

function soundInspection({ loops, chosen, registersPerThread, phases, accesses }: Inspection): void {
  for (const { instructionsPerIteration, dependentLoads, shortestPath, byClass } of loops) {
    const sum = Object.values(byClass).reduce((a, b) => a + b, 0);
    // The parts of an unrolled loop are each rounded to six digits.
    assert.ok(Math.abs(sum - instructionsPerIteration) <= 1e-4 * instructionsPerIteration, 'classes of instructions');
    assert.ok(shortestPath <= instructionsPerIteration, 'the shortest path');
    assert.ok(dependentLoads <= instructionsPerIteration, 'dependent loads');
  }
  if (chosen) assert.ok(loops[chosen.loop], 'the chosen loop');
  for (const phase of [...Object.values(phases), ...accesses.map(({ elementBytes }) => ({ elementBytes }))])
    for (const value of Object.values(phase)) assert.ok(Number.isFinite(value) && value >= 0, 'a figure of a phase');
  if (registersPerThread !== null) assert.ok(Number.isFinite(registersPerThread), 'registers');
}

const anything = (): void => {};
const casesOf = ({ cases }: { readonly cases: Parameters<typeof soundCases>[0] }): void => soundCases(cases);

export function readKernel(kind: keyof KernelTexts, bytes: Uint8Array): void {
  kernelFileKind('hostile', bytes);
  const texts: KernelTexts = { [kind]: kind === 'cubin' ? bytes : decode(bytes) };
  soundOrRefused(inspectKernel('hostile', texts, {}), soundInspection);
}

const CACHE = sample('test/data/kernel-tuner/convolution-A100.json.gz');
const T4 = sample('test/data/kernel-tuner/convolution-A100_T4.json.gz');
const RESULTS = sample('test/data/measured/cpu-xeon-2-cores.jsonl');
const LENGTHS = sample('db/examples/acts-propagation-steps.csv');
const STUDIES = ['acts', 'spmv-cpu', 'spmv-implementations'].map((name) => sample(`db/examples/${name}.json`));
const [gpu] = JSON.parse(readFileSync(join(ROOT, 'db/devices/nvidia.json'), 'utf8')) as unknown[];
const GPU = encode(JSON.stringify(gpu));

const sampled = (...names: readonly string[]): readonly Uint8Array[] =>
  names.map((name) => sample(`test/data/lengths/${name}`));
/** Files that NumPy wrote, see make-lengths.py beside them. */
const ARRAYS = sampled('int64.npy', 'big-endian.npy', 'float32-column.npy', 'one.npz', 'rows.npz');
const EDGES = encode('# Undirected graph\n# Nodes: 4 Edges: 5\n# FromNodeId\tToNodeId\n4\t1\n0\t1\n0\t4\n1\t0\n0\t5\n');
const GRAPHS = [
  '<?xml version="1.0"?>\n<graphml>\n<graph edgedefault="directed">\n<node id="a"/><node id="b"/>\n<!-- c -->\n<edge source="a" target="b"/>\n</graph></graphml>\n',
  '% m\n4 4 001\n2 5 3 5\n1 5 3 5\n1 5 2 5 4 5\n3 5\n',
  '#a\n# GMT b\n# \n0 1 2\n1 2\n2\n3\n',
].map(encode);
const columns = fc.record({
  names: fc.constantFrom(['length', 'count'], ['n', 'p'], ['source', 'target'], ['a', 'n']),
  values: fc.array(fc.tuple(fc.nat(100), fc.oneof(fc.nat(9), fc.double())), { minLength: 1, maxLength: 20 }),
  codec: fc.constantFrom('SNAPPY' as const, 'UNCOMPRESSED' as const),
  rowGroupSize: fc.integer({ min: 1, max: 8 }),
});
const parquetFiles = columns.map(({ names, values, codec, rowGroupSize }) => {
  const columnData = names.map((name, at) => ({ name, data: values.map((value) => value[at]), type: at === 0 ? ('INT32' as const) : ('DOUBLE' as const) })); // prettier-ignore
  return new Uint8Array(parquetWriteBuffer({ columnData, codec, rowGroupSize }));
});
/** Makes a parser for a format known by its first bytes, also inside gzip, from memory and from a stream of chunks. */
const lengthFile = (name: string, ...written: readonly (Uint8Array | fc.Arbitrary<Uint8Array>)[]): Parser => ({
  name: `lengths (${name})`,
  files: fc
    .tuple(filesOf(CSV_TOKENS, ...written), fc.boolean())
    .map(([bytes, packed]) => (packed ? new Uint8Array(gzipSync(bytes)) : bytes)),
  read: async (bytes, size) => {
    soundOrRefused(await readLengths(bytesSource(bytes), 'hostile'), soundLaw);
    soundOrRefused(await readLengths(chunks(bytes, size), 'hostile', { length: 'indptr' }), soundLaw);
    soundOrRefused(await inspectLengths(bytesSource(bytes), 'hostile'), anything);
  },
});

const trial = { values: [1], parameters: { BLOCK: 64, schedule: 'none' } };
const OPTUNA = optunaStorage([{ name: 'x', metrics: ['time_ms'], trials: [trial] }]);

const streamed = <T>(
  name: string,
  files: Parser['files'],
  parse: (stream: AsyncIterable<Uint8Array>, label: string) => Promise<Result<T>>,
  check: (value: T) => void,
): Parser => ({
  name,
  files,
  read: async (bytes, size) => soundOrRefused(await parse(chunks(bytes, size), 'hostile'), check),
});
const whole = <T>(
  name: string,
  files: Parser['files'],
  parse: (bytes: Uint8Array, label: string) => Result<T> | Promise<Result<T>>,
  check: (value: T) => void = anything,
): Parser => ({ name, files, read: async (bytes) => soundOrRefused(await parse(bytes, 'hostile'), check) });

export const PARSERS: readonly Parser[] = [
  whole(
    'storage of Optuna',
    filesOf(CSV_TOKENS, OPTUNA, sample('test/data/optuna/journal.log')),
    readOptunaStudies,
    (studies) => {
      for (const { trials } of studies)
        for (const { values } of trials) assert.ok(values.every((one) => one === null || Number.isFinite(one)));
    },
  ),
  lengthFile('NPY, NPZ', ...ARRAYS),
  lengthFile('Parquet', parquetFiles, ...sampled('duckdb.parquet', 'duckdb-lz4.parquet', 'arrow-lists.parquet')),
  lengthFile('Arrow', ...sampled('polars-lz4.arrow', 'arrow-stream.arrow')),
  lengthFile('graph', ...GRAPHS),
  lengthFile('edge list', EDGES, ...sampled('networkx-attributes.edgelist')),
  streamed('lengths (CSV)', filesOf(CSV_TOKENS, LENGTHS), parseLengthsCsv, soundLaw),
  streamed('table (CSV)', filesOf(CSV_TOKENS, LENGTHS), inspectTable, anything),
  streamed(
    'Matrix Market',
    filesOf(MATRIX_TOKENS, matrices, sample('test/data/matrices/1138_bus.mtx')),
    parseMatrixMarket,
    soundLaw,
  ),
  {
    name: 'workload text',
    files: fc.oneof(
      nearly(WORKLOAD_TOKENS),
      fc.string({ unit: 'binary' }).map(encode),
      damaged(fc.constantFrom('mixture(0.5*geometric(0.05),0.5*poisson(3))', 'file:a.csv#steps&count=n').map(encode)),
    ),
    read(bytes) {
      const parsed = parseWorkload(decode(bytes));
      soundOrRefused(
        parsed,
        (value) => assert.deepEqual(parseWorkload(formatWorkload(value)), parsed),
        /^workload, column \d+: [^]+\. Use |^workload/,
      );
    },
  },
  whole(
    'Kernel Tuner',
    filesOf(JSON_TOKENS, caches, t4Files, CACHE, T4),
    (bytes, label) => parseKernelTuner(bytes, label, 'k'),
    casesOf,
  ),
  whole('results', filesOf(JSON_TOKENS, results, RESULTS), parseBenchResults, casesOf),
  streamed(
    'measured loops',
    filesOf(LOOP_TOKENS, headed(['dataset,rows,cols,nnzs,merge,thread\n'], LOOP_TOKENS), sample('test/data/loops/spmv-times-ms.csv')), // prettier-ignore
    parseLoopTimes,
    soundCases,
  ),
  streamed(
    'mean losses',
    filesOf(MEANS_TOKENS, sample('test/data/smite/measured-means.csv')),
    parseSmiteMeans,
    soundCases,
  ),
  streamed(
    'measured times',
    filesOf(TIMES_TOKENS, headed(['design,time_ms\n', '__proto__,constructor,design,time_us\n'], TIMES_TOKENS)),
    (stream, label) => parseMeasuredTimes(stream, label, 'k'),
    casesOf,
  ),
  streamed(
    'matrices (evidence)',
    filesOf(CSV_TOKENS, headed(['matrix,rows,columns,nonzeros,min,q1,median,q3,max,mean,variance,skewness,a\n'], CSV_TOKENS)), // prettier-ignore
    (stream, label) => parseEvidence(stream, label, ['a']),
    anything,
  ),
  whole(
    'archive',
    fc.oneof(
      anyBytes.map((bytes) => new Uint8Array([0x1f, 0x8b, ...bytes])),
      damaged(fc.constant(new Uint8Array(gzipSync(LENGTHS)))),
    ),
    unpacked,
  ),
  whole('study', filesOf(JSON_TOKENS, ...STUDIES), (bytes, label) => parseStudy(decode(bytes), label)),
  whole(
    'manifest of a kernel',
    filesOf(JSON_TOKENS, sample('db/examples/kernels/spmv/spmv.kernel.json')),
    (bytes, label) => parseKernelManifest(decode(bytes), label),
  ),
  {
    name: 'device',
    files: filesOf(JSON_TOKENS, GPU),
    read(bytes) {
      let value: unknown;
      try {
        value = JSON.parse(decode(bytes));
      } catch {
        return; // The reader has already refused invalid JSON.
      }
      soundOrRefused(validateDevice(value), anything, /./);
    },
  },
  {
    name: 'trace',
    files: fc.oneof(anyBytes, damaged(fc.constant(TRACE)), fc.constant(TRACE)),
    read: (bytes) =>
      soundOrRefused(parseTrace(bytes), ({ lengths }) => assert.ok(lengths.every((length) => length >= 0)), /./),
  },
  ...KERNEL_FILES.map(([kind, file]): Parser => ({
    name: `kernel: ${kind}`,
    files: filesOf(KERNEL_TOKENS, file),
    read: (bytes) => readKernel(kind, bytes),
  })),
  {
    name: 'kind of a file',
    files: fc.oneof(anyBytes, damaged(caches), damaged(results), ...[CACHE, RESULTS, LENGTHS, GPU].map((file) => damaged(fc.constant(file)))), // prettier-ignore
    read: (bytes) => assert.match(fileKind(bytes).kind, /^(measurements|study|device|lengths|other)$/),
  },
];
