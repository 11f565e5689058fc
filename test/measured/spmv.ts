import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseKernelManifest } from '../../src-main/contract/kernel-manifest.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { findEntry } from '../../src-workers/bench/kernel/launches.ts';
import { predictMeasured } from '../../src-workers/bench/calibrate.ts';
import type { MeasuringDevice } from '../../src-workers/domain/benchmark.ts';
import type { Design } from '../../src-workers/domain/design.ts';
import type { KernelTask } from '../../src-workers/domain/kernel-manifest.ts';
import type { KernelProfile } from '../../src-workers/domain/kernel.ts';
import { kernelValue, withKernelValue } from '../../src-workers/domain/provenance.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { arbitraryOrder, mersenneTwister } from '../../src-workers/numeric/random.ts';
import { median } from '../../src-workers/numeric/statistics.ts';
import { describeDesign } from '../../src-workers/predict/designs.ts';
import type { SweepPlan } from '../../src-workers/predict/plan.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { spaceSize } from '../../src-workers/domain/space.ts';
import { writeSpmvKernel } from '../data/bench/spmv-reference.ts';
import { planOf } from '../unit/sweep-plans.ts';
import { timeInTurn, type Batch } from './swiftshader.ts';
import { gpu } from '../catalogue.ts';

// Measures the SpMV kernels of the examples in WGSL, and compares them with the predictions of the example's study.
// Designs are drawn at random, the same number of each implementation for every readable matrix of the repository.
const SPMV = join(import.meta.dirname, '../../db/examples/kernels/spmv');
const DEVICE = 'software-swiftshader';

/** Kernel fields to fit, by implementation of the study. Implementations that are named together share a value. */
const FITTED = [
  ['Thread per row', 'unit'],
  ['2 to 32 threads per row, Block per row', 'unit'],
  ['Mixed', 'unit'],
  ['2 to 32 threads per row, Block per row, Mixed', 'combine'],
  ['Merge path', 'instructionsPerIteration'],
  ['Merge path', 'carry'],
] as const;

export interface SpmvRow {
  readonly matrix: string;
  readonly design: Design;
  /** Time of the fastest launch in all rounds, ms. */
  readonly measuredMs: number;
  readonly predictedMs: number;
}

interface Measured extends Batch {
  readonly file: string;
  readonly indices: readonly number[];
}

/**
 * @param designs number of designs of each implementation on each matrix
 * @param rounds number of rounds. Each round measures all designs in turn, twice.
 */
export interface Effort {
  readonly designs: number;
  readonly rounds: number;
}
const REPEATS = 2;

export interface SpmvMeasurement {
  readonly device: MeasuringDevice;
  readonly rows: readonly SpmvRow[];
  /** Predicts the same designs with the kernels of another study. Returns times in ms, in the order of the rows. */
  predict(study: StudyFile): Promise<readonly number[]>;
}

const spmvStudy = (): StudyFile => JSON.parse(readFileSync(join(SPMV, 'spmv.json'), 'utf8')) as StudyFile;

/** Measures random designs on matrices. @param files absolute paths of Matrix Market files */
export async function measureSpmv(files: readonly string[], { designs, rounds }: Effort): Promise<SpmvMeasurement> {
  const folder = mkdtempSync(join(tmpdir(), 'lockstep-spmv-'));
  try {
    const batches: Measured[] = [];
    for (const [at, file] of files.entries()) batches.push(await batchOf(file, designs, join(folder, String(at))));
    const { device, samplesNs } = await timeInTurn(batches, rounds, REPEATS);
    const predict = async (study: StudyFile): Promise<readonly number[]> => {
      const times: number[] = [];
      for (const { file, workload, indices } of batches)
        times.push(...unwrap(predictMeasured(await planOn(study, file, workload.lengths.length), indices)));
      return times;
    };
    const predictedMs = await predict(spmvStudy());
    const rows = batches.flatMap(({ file, designs: drawn }, batch) =>
      drawn.map((design, at): Omit<SpmvRow, 'predictedMs'> => {
        return { matrix: basename(file), design, measuredMs: Math.min(...samplesNs[batch][at]) / 1e6 };
      }),
    );
    return { device, rows: rows.map((row, at) => ({ ...row, predictedMs: predictedMs[at] })), predict };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function planOn(study: StudyFile, file: string, units: number): Promise<SweepPlan> {
  // The number of multiprocessors is SwiftShader's number of threads. All other values are from the catalogue.
  const device = { ...gpu(DEVICE), multiprocessors: Math.min(16, availableParallelism()) };
  return planOf({ ...study, workload: { lengths: `mtx:${file}`, units } }, [device]);
}

async function batchOf(file: string, count: number, folder: string): Promise<Measured> {
  const { file: manifest, lengths } = await writeSpmvKernel(file, folder);
  const kernel: KernelTask = {
    manifest: unwrap(parseKernelManifest(readFileSync(manifest, 'utf8'), manifest)),
    file: manifest,
    digest: '',
    units: lengths.length,
    threadGroupWidth: gpu(DEVICE).threadGroupWidth,
    device: null,
  };
  const plan = await planOn(spmvStudy(), file, lengths.length);
  const predictor = createPredictor(plan);
  const taken = new Map<string, number>();
  const indices = [...arbitraryOrder(spaceSize(plan.axes), 1)].filter((index) => {
    const { invalid, design } = describeDesign(predictor, index);
    const before = taken.get(design.implementation!) ?? 0;
    if (invalid !== null || before >= count) return false;
    unwrap(findEntry(kernel.manifest, design));
    taken.set(design.implementation!, before + 1);
    return true;
  });
  const profile = { parallelSteps: 0, serialSteps: 0, dependentLoads: 0, tableWords: 1 };
  return {
    file,
    workload: { label: file, lengths, profile, traffic: null },
    designs: indices.map((index) => describeDesign(predictor, index).design),
    indices,
    kernel,
  };
}

/** Makes random matrices for the fit, with rows of 0 to 16 entries, of a geometric law, and of 8 entries. */
export function syntheticMatrices(folder: string): readonly string[] {
  const uniform = mersenneTwister(7);
  const matrices: readonly (readonly [string, number, () => number])[] = [
    ['uniform', 3000, () => Math.floor(17 * uniform())],
    ['geometric', 6000, () => Math.floor(Math.log(1 - uniform()) / Math.log(5 / 6))],
    ['constant', 1500, () => 8],
  ];
  return matrices.map(([name, rows, length]) => {
    const entries: string[] = [];
    for (let row = 1; row <= rows; row++) {
      const columns = new Set<number>();
      for (const count = length(); columns.size < count;) columns.add(1 + Math.floor(rows * uniform()));
      for (const column of columns) entries.push(`${row} ${column} ${0.1 + uniform()}`);
    }
    const file = join(folder, `${name}.mtx`);
    const head = `%%MatrixMarket matrix coordinate real general\n${rows} ${rows} ${entries.length}`;
    writeFileSync(file, `${head}\n${entries.join('\n')}\n`);
    return file;
  });
}

/** Fits the fields of `FITTED`, one value at a time, and the instructions of all kernels: least error of ln(time). */
export async function fitSpmv({ rows, predict }: SpmvMeasurement): Promise<{ study: StudyFile; meanError: number }> {
  const errorOf = async (study: StudyFile): Promise<{ error: number; scale: number }> => {
    const times = await predict(study);
    const residuals = Float64Array.from(rows, ({ measuredMs }, at) => Math.log(measuredMs / times[at]));
    const middle = median(residuals);
    const error = residuals.reduce((sum, one) => sum + Math.abs(one - middle), 0) / residuals.length;
    return { error, scale: Math.exp(middle) };
  };
  const changed = (study: StudyFile, [names, field]: (typeof FITTED)[number], factor: number): StudyFile => ({
    ...study,
    implementations: study.implementations!.map((one) =>
      names.split(', ').includes(one.name)
        ? {
            ...one,
            kernel: withKernelValue(
              one.kernel as KernelProfile,
              field,
              rounded(Math.max(10, kernelValue(one.kernel as KernelProfile, field)) * factor),
            ) as NonNullable<typeof one.kernel>,
          }
        : one,
    ),
  });
  let study = spmvStudy();
  let { error, scale } = await errorOf(study);
  for (let round = 0; round < 3; round++)
    for (const field of FITTED)
      for (const factor of [0.5, 0.7, 0.85, 1.2, 1.4, 2]) {
        const candidate = changed(study, field, factor);
        const found = await errorOf(candidate);
        if (found.error < error) [study, error, scale] = [candidate, found.error, found.scale];
      }
  for (const field of FITTED) study = changed(study, field, scale);
  const { instructionsPerIteration } = study.kernel;
  return { study: { ...study, kernel: { ...study.kernel, instructionsPerIteration: rounded(instructionsPerIteration * scale) } }, meanError: error }; // prettier-ignore
}

const rounded = (value: number): number => Number(value.toPrecision(2));
