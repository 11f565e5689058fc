import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { unwrap } from '../../src-workers/domain/result.ts';
import { agreement } from '../../src-workers/models/calibration/agreement.ts';
import { mersenneTwister } from '../../src-workers/numeric/random.ts';
import { spearman } from '../../src-workers/numeric/statistics.ts';
import { fitSpmv, measureSpmv, syntheticMatrices, type SpmvRow } from '../measured/spmv.ts';
import { matrixFiles } from '../data/bench/spmv-reference.ts';
import { inFolder } from '../db/sample.ts';
import { lacks, TOOLS } from '../tools.mjs';
import { say } from './report.ts';

// `npm run bench -- spmv` measures the SpMV kernels of the examples on the software adapter, on every matrix of the
// repository, and compares them with the predictions of the example's study. It writes the record in
// test/data/measured. `node test/bench/spmv.ts --fit` fits the kernels' figures of that study to random matrices, which
// the comparison does not use, and prints them. Run it on an idle machine.
const ROOT = join(import.meta.dirname, '../..');
const EFFORT = { designs: 6, rounds: 10 };
const MIN_SPEARMAN = 0.9;
const MIN_CELLS = 60;

function hold(label: string, value: number, least: number): void {
  const holds = value >= least;
  say(`${holds ? 'ok    ' : 'FAILED'}  ${label}: ${Number(value.toFixed(3))} (at least ${least})`);
  if (!holds) process.exitCode = 1;
}

const ofRows = (rows: readonly SpmvRow[], of: 'measuredMs' | 'predictedMs'): Float64Array =>
  Float64Array.from(rows, (row) => row[of]);

const fit = (): Promise<void> =>
  inFolder(async (folder) => {
    const { study, meanError } = await fitSpmv(await measureSpmv(syntheticMatrices(folder), EFFORT));
    say(`kernel ${JSON.stringify(study.kernel)}`);
    for (const { name, kernel } of study.implementations!) say(`${name} ${JSON.stringify(kernel)}`);
    say(`mean error of ln(time) ${meanError.toFixed(3)}`);
  });

async function judge(): Promise<void> {
  const { device, rows } = await measureSpmv(matrixFiles(), EFFORT);
  const times = { measuredMs: ofRows(rows, 'measuredMs'), predictedMs: ofRows(rows, 'predictedMs') };
  const figures = unwrap(agreement(times, { uniform: mersenneTwister(1), shortlists: [] }));
  hold('cells of implementation, mapping and matrix', rows.length, MIN_CELLS);
  hold('Spearman of predicted and measured times', figures.spearman.value, MIN_SPEARMAN);
  const { interval } = figures.spearman;
  if (interval) say(`        95 % interval over cells: ${interval.low.toFixed(3)} to ${interval.high.toFixed(3)}`);
  const byMatrix = Object.fromEntries(
    [...Map.groupBy(rows, ({ matrix }) => matrix)].map(([matrix, of]) => {
      const one = spearman(ofRows(of, 'measuredMs'), ofRows(of, 'predictedMs'));
      say(`        ${matrix} alone: ${one.toFixed(3)} over ${of.length} cells`);
      return [matrix, one];
    }),
  );
  const { spearman: all, scale, medianError, p95Error } = figures;
  const head = { date: new Date().toISOString(), device, cells: rows.length, spearman: all, byMatrix, scale, medianError, p95Error }; // prettier-ignore
  const text = JSON.stringify({ ...head, rows: [] }, null, 2);
  // Each cell gets its own line, so that a diff is readable.
  const lines = rows.map(
    ({ matrix, design: { implementation, threadsPerUnit, unitsPerThread, balancing, blockThreads, gridBlocks }, ...times }) =>
      `    ${JSON.stringify({ matrix, implementation, threadsPerUnit, unitsPerThread, balancing, blockThreads, gridBlocks, ...times })}`, // prettier-ignore
  );
  writeFileSync(
    join(ROOT, 'test/data/measured/swiftshader-spmv.json'),
    `${text.replace(/\[\]\n\}$/, `[\n${lines.join(',\n')}\n  ]\n}`)}\n`,
  );
}

if (lacks('swiftshader')) {
  say(`spmv: no SwiftShader. Get Chromium: ${TOOLS.chromium.get}`);
  process.exitCode = 1;
} else if (parseArgs({ options: { fit: { type: 'boolean' } } }).values.fit) await fit();
else await judge();
