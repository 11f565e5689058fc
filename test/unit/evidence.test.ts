import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import data from '../../db/assumed.json' with { type: 'json' };
import { unwrap } from '../../src-workers/domain/result.ts';
import { SPMV_DATASETS } from '../../src-workers/models/spmv/datasets.ts';
import { assignFold, FOLDS } from '../../src-workers/evidence/folds.ts';
import { outside } from '../bench/evidence-fit.ts';
import { fourNumbersTime } from '../../src-workers/evidence/four-numbers.ts';
import { judgeDataset, judgeImplementation, unseenParameters } from '../../src-workers/evidence/judge.ts';
import { nearestMatrices, nearestTimes } from '../../src-workers/evidence/nearest.ts';
import { judgeEvidence } from '../../src-workers/evidence/judge-all.ts';
import { loadEvidence } from '../../src-workers/evidence/load.ts';
import { SPMV_IMPLEMENTATIONS } from '../../src-workers/evidence/spmv-designs.ts';
import { SPMV_PARAMETERS } from '../../src-workers/evidence/spmv-parameters.ts';
import { median } from '../../src-workers/numeric/statistics.ts';
import { ACHIEVED_BANDWIDTH } from '../../src-workers/domain/device.ts';
import { parseEvidence } from '../../src-workers/parse/evidence.ts';
import { gpu, GPUS as devices } from '../catalogue.ts';
import { chunks, encode } from '../data.ts';

const folder = join(import.meta.dirname, '../../db/evidence');
const [ginkgo, loops] = unwrap(await loadEvidence(folder, devices, {}));

const HEADER =
  'matrix,rows,columns,nonzeros,min,q1,median,q3,max,mean,variance,skewness,sellp_cells,V100-SXM2:coo,V100-SXM2:csr';
const read = (text: string) =>
  parseEvidence(chunks(text), 'times.csv', ['V100-SXM2:coo', 'V100-SXM2:csr', 'V100-SXM2:ell']);
it('the reader keeps times unchanged, and leaves out what was not measured', async () => {
  const text = `${HEADER}\nA/a,10,12,30,1,2,3,4,5,3,1.5,-0.5,64,5.25,0\nB/b,1,1,1,1,1,1,1,1,1,0,,,,7\n`;
  const { matrices, times } = unwrap(await read(text));
  expect(matrices).toMatchObject([
    { name: 'A/a', rows: 10, columns: 12, skewness: -0.5, slicedCells: 64 },
    { name: 'B/b', rows: 1, columns: 1, skewness: 0, slicedCells: null },
  ]);
  const expected = { 'V100-SXM2:coo': Float64Array.of(5.25, NaN), 'V100-SXM2:csr': Float64Array.of(NaN, 7) };
  expect(Object.fromEntries(times)).toEqual(expected);
});

it('the reader computes cells from the slices column of the ginkgo data', async () => {
  // Two slices with rows of up to 12 and 9 entries have 64 · 21 = 1,344 cells. The file has a twelfth of this (112), or
  // adds the arrays that describe the slices: 5 entries of 8 bytes, counted as 3 cells of 12 bytes (1,347).
  const row = (name: string, cells: number) => `${name},100,100,600,6,6,6,6,12,6,1,0,${cells},1,1\n`;
  const cellsOf = async (...rows: string[]) =>
    unwrap(await read(`${HEADER}\n${rows.join('')}`)).matrices.map(({ slicedCells }) => slicedCells);
  expect(await cellsOf(row('a', 112), row('b', 1347))).toEqual([1344, 1344]);
  // A column that already contains cells stays unchanged.
  expect(await cellsOf(row('a', 1344), row('b', 1536))).toEqual([1344, 1536]);
  const matrices = ginkgo.measured.matrices.filter(({ slicedCells }) => slicedCells !== null);
  expect(matrices).toHaveLength(1382);
  for (const { slicedCells, rows, max, name } of matrices) {
    expect(slicedCells! % 64, name).toBe(0);
    expect(slicedCells, name).toBeLessThanOrEqual(64 * Math.ceil(rows / 64) * max);
  }
  // Two matrices store fewer elements than their summary counts.
  expect(matrices.filter(({ slicedCells, nonzeros }) => slicedCells! < nonzeros)).toHaveLength(2);
});

it.each([
  [`${HEADER}\nA/a,10,12,many,1,2,3,4,5,3,1.5,0,64,5,5\n`, /times.csv, line 2, column 4: "many" is not a number/],
  ['matrix,rows\n', /no column columns/],
  [`${HEADER.split(',V100')[0]}\n`, /no column of times.*V100-SXM2:coo/],
])('the reader names the wrong field of %j', async (text, error) => expect(await read(text)).toFail(null, error));

it('fitting divides matrices into fifths only by their names', () => {
  const counts = new Array<number>(FOLDS).fill(0);
  for (const { name } of ginkgo.measured.matrices) counts[assignFold(name)] += 1;
  // If 1,389 matrices are divided at random, a fifth has 278 of them, with a standard deviation of 15.
  for (const count of counts) expect(Math.abs(count - 278)).toBeLessThan(75);
  const { matrices } = outside({ matrices: ginkgo.measured.matrices, microseconds: new Float64Array(1389) }, 2);
  expect(matrices.some(({ name }) => assignFold(name) === 2)).toBe(false);
  expect(matrices.length).toBe(ginkgo.measured.matrices.length - counts[2]);
});

it('kept parameters exist for every column of times, within their ranges, for all matrices and without each fifth', () => {
  for (const { id, gpus } of SPMV_DATASETS)
    for (const { column, implementation } of gpus.flatMap(({ implementations }) => implementations)) {
      const { values, folds, errors } = ginkgo.kept[id][column];
      const { parameters } = SPMV_IMPLEMENTATIONS.get(implementation)!;
      expect(parameters.length, implementation).toBeLessThanOrEqual(6);
      const names = [...new Set(parameters)].sort();
      expect(folds).toHaveLength(FOLDS);
      for (const set of [errors, values, ...folds]) expect(Object.keys(set).sort()).toEqual(names);
      for (const set of [values, ...folds])
        for (const name of names)
          expect(set[name]).toBeWithin(SPMV_PARAMETERS[name].lower, SPMV_PARAMETERS[name].upper);
    }
});

it('the catalogue has the medians of the values fitted on a GPU, and assumes the median of all for other GPUs', () => {
  const fractions = ({ dataset, kept }: typeof ginkgo, { implementations }: (typeof ginkgo.dataset.gpus)[number]) =>
    implementations.map(({ column }) => kept[dataset.id][column].values.bandwidthFraction!);
  for (const one of ginkgo.dataset.gpus) {
    const { achievedBandwidthFraction: known } = gpu(one.device);
    // The catalogue's value has three digits.
    expect(known).toBeCloseTo(median(Float64Array.from(fractions(ginkgo, one))), 2);
  }
  const all = [ginkgo, loops].flatMap((set) => set.dataset.gpus.flatMap((one) => fractions(set, one)));
  expect(all).toHaveLength(41);
  const middle = median(Float64Array.from(all));
  expect(ACHIEVED_BANDWIDTH).toBeCloseTo(middle, 2);
  expect(data.laws['device.achievedBandwidthFraction'].quantiles[5]).toBeCloseTo(middle, 2);
});

describe('judging', () => {
  it('compares each matrix with parameters fitted without it', () => {
    const points = judgeImplementation(loops, 'unnamed', 'merge_path')!.points;
    const { matrices, times } = loops.measured;
    const device = gpu(loops.dataset.gpus[0].device);
    const model = SPMV_IMPLEMENTATIONS.get('merge-path')!;
    for (const i of [0, 7, 400]) {
      const at = matrices.findIndex(({ name }) => name === points.names[i]);
      const { folds } = loops.kept.loops.merge_path;
      const asked = model.microseconds(device, matrices[at], folds[assignFold(matrices[at].name)]);
      expect(points.predicted[i]).toBe(Number(asked.toPrecision(4)));
      expect(points.measured[i]).toBe(times.get('merge_path')![at]);
    }
    expect(judgeImplementation(loops, 'unnamed', 'nothing')).toBeNull();
    expect(judgeImplementation(loops, 'nothing', 'merge_path')).toBeNull();
  });

  it('computes regret, hits and errors as defined', async () => {
    // The two matrices differ only in the measured time of coo.
    const text = `${HEADER}\nA/a,1000,1000,5000,5,5,5,5,5,5,0,0,5000,10,20\nB/b,1000,1000,5000,5,5,5,5,5,5,0,0,5000,30,20\n`;
    const data = { fileName: 'x.csv', bytes: encode(text) };
    const [judged] = unwrap(await loadEvidence(folder, devices, { dataset: 'ginkgo', data }));
    const { gpus } = judgeDataset(judged);
    const bothOf = ['coo', 'csr'].map((name) => ({ name, count: 2 }));
    // The model cannot distinguish the two matrices, so its choice loses a factor of 2 or 1.5 for one of them.
    const half = { count: 2, hitRate: 0.5 };
    expect(gpus).toMatchObject([{ column: 'V100-SXM2', implementations: bothOf, choice: half, choiceLarge: null }]);
    const { implementations, choice } = gpus[0];
    const device = gpu('nvidia-v100-sxm2-16gb');
    const [matrix] = judged.measured.matrices;
    const time = (id: string, column: string): number =>
      SPMV_IMPLEMENTATIONS.get(id)!.microseconds(device, matrix, judged.kept.ginkgo[column].values);
    const coo = time('coo', 'V100-SXM2:coo');
    const chosen = coo < time('csr-library', 'V100-SXM2:csr') ? 1.5 : 2;
    expect(choice!.regret).toBeCloseTo(Math.sqrt(chosen), 12);
    expect(choice!.bestFixed).toEqual({ name: 'coo', regret: expect.closeTo(Math.sqrt(1.5), 12) as number });
    expect(implementations[0].medianError).toBeCloseTo((Math.abs(coo / 10 - 1) + Math.abs(coo / 30 - 1)) / 2, 12);
  });

  it('has separate figures for the nearest matrices of other folds, and for large matrices', () => {
    const { matrices, times } = loops.measured;
    const near = nearestMatrices(matrices);
    const measured = times.get('merge_path')!;
    for (const i of [0, 100, 900]) {
      expect(near[i]).toHaveLength(40);
      for (const other of near[i]) expect(assignFold(matrices[other].name)).not.toBe(assignFold(matrices[i].name));
      const known = [...near[i]].filter((other) => measured[other] > 0).slice(0, 5);
      const mean = known.reduce((product, other) => product * measured[other], 1) ** (1 / 5);
      expect(nearestTimes(near, measured)[i]).toBeNear(mean, 1e-12);
    }
    // The nearest neighbour of a duplicate in another fold is the original matrix.
    const apart = matrices.findIndex(({ name }) => assignFold(name) !== assignFold(`${name} again`));
    const double = { ...matrices[apart], name: `${matrices[apart].name} again` };
    expect(nearestMatrices([...matrices, double])[matrices.length][0]).toBe(apart);
    const { implementations } = judgeDataset(loops).gpus[0];
    const large = matrices.filter(({ nonzeros }, i) => nonzeros >= 1e6 && measured[i] > 0).length;
    expect(implementations.find(({ name }) => name === 'merge_path')!.large!.count).toBe(large);
    // Small matrices depend on properties that their summary lacks, so the model orders large ones better.
    // In no column is the order by the nearest matrices clearly better.
    for (const { name, spearman, large: big, nearest } of implementations) {
      expect(big!.spearman, name).toBeGreaterThan(spearman);
      expect(nearest!.spearman, name).toBeLessThan(spearman + 0.03);
    }
  });

  it('evaluates another file, compressed or not, with parameters fitted to all matrices of the repository', async () => {
    const rows = ['5000,5000,40000,8,8,8,8,8,8,0,0,40000,10,20', '9000,9000,40000,0,1,2,8,90,4.4,70,3,99000,11,21'];
    const bytes = gzipSync(`${HEADER}\nNew/one,${rows[0]}\nNew/two,${rows[1]}\n`);
    const found = unwrap(await loadEvidence(folder, devices, { data: { fileName: 'new.csv.gz', bytes } }));
    expect(found.map(({ dataset, parameters }) => [dataset.id, parameters])).toEqual([['ginkgo', 'all']]);
    const { points } = judgeImplementation(found[0], 'V100-SXM2', 'coo')!;
    const { measured, kept } = found[0];
    const model = SPMV_IMPLEMENTATIONS.get('coo')!;
    const { values } = kept.ginkgo['V100-SXM2:coo'];
    const asked = model.microseconds(gpu('nvidia-v100-sxm2-16gb'), measured.matrices[1], values);
    expect(points.predicted[1]).toBe(asked);
  });

  it('refuses an unknown data set, and a file with other columns', async () => {
    const data = { fileName: 'l.csv.gz', bytes: readFileSync(join(folder, 'loops.csv.gz')) };
    const refused = (asked: object) => loadEvidence(folder, devices, asked);
    expect(await refused({ dataset: 'nothing' })).toFail('not-found', /"nothing"\. Specify one of ginkgo, loops/);
    expect(await refused({ dataset: 'ginkgo', data })).toFail('bad-input', /no column of times/);
  });

  it('uses only the data sheet of an unseen GPU', () => {
    const unseen = ginkgo.dataset.gpus.find(({ column }) => column === 'MI100')!;
    const { kept } = ginkgo;
    const others = Object.fromEntries(Object.entries(kept.ginkgo).filter(([column]) => !column.startsWith('MI100:')));
    const found = unseenParameters({ ...ginkgo, kept: { ginkgo: others } }, unseen, 'coo');
    expect(found).toEqual(unseenParameters(ginkgo, unseen, 'coo'));
    // Two other AMD GPUs have this parameter. The value is their geometric mean.
    const of = (column: string) => others[column].values.bandwidthFraction!;
    expect(found!.bandwidthFraction).toBeCloseTo(Math.sqrt(of('RadeonVII:coo') * of('MI250X:coo')), 12);
    expect(unseenParameters(ginkgo, unseen, 'merge-path')).toBeNull();
  });

  it('compares with four numbers: start, bytes, longest row and rows', () => {
    const [matrix] = ginkgo.measured.matrices;
    const { rows, nonzeros, max } = matrix;
    const expected = 1 + 1e-3 * (32 * nonzeros + 3 * max + 4 * rows);
    expect(fourNumbersTime('coo', matrix, [1, 2, 3, 4])).toBeCloseTo(expected, 6);
    expect(fourNumbersTime('ell', matrix, [0, 1, 0, 0])).toBeCloseTo(12e-3 * rows * max, 6);
  });
});

it('launches of other kernels are all judged with the data of their own files, and marked in their notes if they are our own and not held out', async () => {
  const below = (limit: number) => expect.toSatisfy((value: number) => value < limit) as number;
  // The errors of the other data sets are compared in unit/tie-bands.
  const all = unwrap(await judgeEvidence(folder, devices, {}));
  expect(Object.fromEntries(all.map(({ id, gpus }) => [id, gpus]))).toMatchObject({
    hasan: [{ implementations: [{ count: 110, fourNumbers: null, nearest: null }] }],
    smite: [{ choice: null, implementations: [{ count: 15, p90Error: below(0.02) }] }],
    convolution: [{ column: 'A100' }, { column: 'MI250X' }],
    'h100-loops': [{ implementations: [{ count: 420 }], choice: { count: 18, regret: below(1.04) } }],
    'h100-products': [{ implementations: [{ count: 288 }], choice: { count: 6, regret: below(1.06) } }],
  });
  const ours = /our own measurements, not public ones.*not held out/;
  const marked = all.filter(({ notes }) => notes.some((note) => ours.test(note)));
  expect(marked.map(({ id }) => id)).toEqual(['h100-loops', 'h100-products']);
  const data = { fileName: 'x.csv', bytes: new Uint8Array() };
  expect(await judgeEvidence(folder, devices, { dataset: 'hasan', data })).toFail('unsupported');
  expect(await judgeEvidence(folder, devices, { dataset: 'nothing' })).toFail('not-found');
  const one = unwrap(await judgeEvidence(folder, devices, { dataset: 'convolution' }));
  expect(one.map(({ id }) => id)).toEqual(['convolution']);
});
