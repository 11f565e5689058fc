import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type {
  BenchCase,
  BenchPlan,
  BenchRecord,
  UnitLoopProfile,
  UnitLoopWorkload,
} from '../../src-workers/domain/benchmark.ts';
import { fail, unwrap } from '../../src-workers/domain/result.ts';
import { parseBenchRecord } from '../../src-workers/parse/bench-records.ts';
import type { WorkloadContext } from '../../src-workers/parse/grammar.ts';
import { seededRandom } from '../../src-workers/simulate/random.ts';
import { benchPlan } from '../measuring.ts';

/** Plans and programs that the tests of the CUDA backend share. */

export const SOURCES = fileURLToPath(new URL('../../src-workers/bench/cuda/sources', import.meta.url));
export const EMULATING_NVCC = fileURLToPath(new URL('../data/cuda-shim/nvcc', import.meta.url));
/** Stands in for hipcc, and compiles for the CPU emulation, with thread groups of 64 lanes. */
export const EMULATING_HIPCC = fileURLToPath(new URL('../data/cuda-shim/hipcc', import.meta.url));
export const EMULATED_NAME = 'CPU emulation of CUDA, for tests';

export const NO_FILES: WorkloadContext = {
  openFile: (path) => Promise.resolve(fail('not-found', `no file ${path} here`)),
};

/** Describes a loop with steps of every class, dependent loads, and a stream, on a small table. */
export const PROFILE: UnitLoopProfile = {
  version: 3,
  sharing: 'split',
  unitInstructions: 0,
  combineInstructions: 0,
  instructionsPerIteration: 60,
  integerShare: 0.4,
  fp64Share: 0.05,
  specialShare: 0.05,
  serialFraction: 0.1,
  cooperationCost: 0.05,
  dependentLoadsPerIteration: 1,
  bytesPerIteration: 24,
  registersPerThread: 40,
  tableWords: 64,
};

const random = seededRandom(5);
export const WORKLOAD: UnitLoopWorkload = {
  label: 'test',
  // The units are short, and some of them are empty.
  lengths: Uint32Array.from({ length: 150 }, () => Math.floor(12 * random() ** 2)),
  profile: PROFILE,
  traffic: { bytesPerIteration: 12, bytesPerUnit: 20 },
};

export const probe = (id: string, values: Readonly<Record<string, number>> = {}): BenchCase => ({
  id,
  benchmark: 'probe',
  parameters: { probe: id, arguments: values },
});

export const planOf = (cases: readonly BenchCase[], change: Partial<BenchPlan> = {}): BenchPlan =>
  benchPlan(cases, { workload: WORKLOAD, ...change });

/** Parses the lines of a result file or of the program. Each line passes the check that Lockstep uses. */
export function recordsOf(text: string): BenchRecord[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const record = unwrap(parseBenchRecord(JSON.parse(line)));
      if (record === null) throw new Error(`not a record: ${line}`);
      return record;
    });
}

export type CaseRecord<Type extends BenchRecord['type']> = Extract<BenchRecord, { readonly type: Type }>;

export const ofType = <Type extends BenchRecord['type']>(records: readonly BenchRecord[], type: Type) =>
  records.filter((record): record is CaseRecord<Type> => record.type === type);

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export function runToEnd(
  program: string,
  args: readonly string[],
  cwd: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env: { ...process.env, ...environment } });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (data: Buffer) => (stdout += data.toString()));
    child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? -1, stdout, stderr }));
  });
}
