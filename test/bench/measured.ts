import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lacks, TOOLS } from '../tools.mjs';
import { LOSS_WORKLOADS, measureLoss } from '../measured/loss.ts';
import { measureRanking } from '../measured/ranking.ts';

/*
 * `npm run bench -- measured`: compares predictions with measurements on the software adapter, with thresholds. It
 * writes the record in test/data/measured. Run it on an idle machine, because other load changes the times.
 */
const RECORDS = join(import.meta.dirname, '../data/measured');
const LOSS_ROUNDS = 4;
const MAX_LOSS_ERROR = 0.12;
const MIN_SPEARMAN = 0.9;
/**
 * The least Kendall correlation among designs whose times can be told apart: the share of pairs in the predicted order
 * minus the share of the other pairs.
 */
const MIN_RESOLVED_KENDALL = 0.7;

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const write = (name: string, record: object): void =>
  writeFileSync(join(RECORDS, name), `${JSON.stringify({ date: new Date().toISOString(), ...record }, null, 2)}\n`);
function hold(label: string, value: number, holds: boolean, limit: string): void {
  print(`${holds ? 'ok    ' : 'FAILED'}  ${label}: ${value.toFixed(3)} (${limit})`);
  if (!holds) process.exitCode = 1;
}

if (lacks('swiftshader')) {
  print(`measured: no SwiftShader. Get Chromium: ${TOOLS.chromium.get}`);
  process.exitCode = 1;
} else {
  const losses = [];
  for (const text of LOSS_WORKLOADS) losses.push(await measureLoss(text, LOSS_ROUNDS));
  const rows = losses.flatMap((one) => one.rows);
  write('swiftshader-loss.json', { device: losses[0].device, rows });
  for (const text of LOSS_WORKLOADS) {
    const errors = rows
      .filter(({ workload }) => workload === text)
      .map(({ measuredLoss, modelLoss }) => Math.abs(measuredLoss / modelLoss - 1));
    const worst = Math.max(...errors);
    hold(`greatest error of the loss of ${text}`, worst, worst <= MAX_LOSS_ERROR, `at most ${MAX_LOSS_ERROR}`);
  }

  const ranking = await measureRanking();
  write('swiftshader-ranking.json', ranking);
  for (const [label, { spearman, resolvedKendall }] of [
    ['by the catalogue', ranking.uncalibrated],
    ['calibrated', ranking.calibrated],
  ] as const) {
    hold(`Spearman ${label}`, spearman.value, spearman.value >= MIN_SPEARMAN, `at least ${MIN_SPEARMAN}`);
    const { tau } = resolvedKendall;
    hold(`Kendall of resolved pairs ${label}`, tau, tau >= MIN_RESOLVED_KENDALL, `at least ${MIN_RESOLVED_KENDALL}`);
  }
}
