/**
 * Compares predictions with the public measurements of `db/evidence`, and the errors with the targets. `node
 * test/bench/evidence.ts [--fit] [--predict] [--bands] [--record FILE]`: `--fit` fits the parameters anew (six minutes
 * on one core). `--fit` and `--predict` run the predictor for `predicted.json.gz` (three minutes). `--bands` computes
 * the tie bands anew. `--record` writes the figures to a file.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import type { GpuEvidence } from '../../src-workers/domain/evidence.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { SPMV_DATASETS } from '../../src-workers/models/spmv/datasets.ts';
import type { FittedImplementation, KeptParameters } from '../../src-workers/evidence/kept.ts';
import { fitFolds, measuredTimes } from './evidence-fit.ts';
import { predictedH100 } from './h100-launches.ts';
import { percent, say } from './report.ts';
import { measuredBands, sweptParameters } from './tie-bands.ts';
import { judgeEvidence } from '../../src-workers/evidence/judge-all.ts';
import { makePair, unseenPairs, type Judged } from '../../src-workers/evidence/judge.ts';
import { SPMV_IMPLEMENTATIONS } from '../../src-workers/evidence/spmv-designs.ts';
import { PARAMETERS_FILE, PREDICTED_FILE, readMeasured } from '../../src-workers/evidence/load.ts';
import { GPUS as devices } from '../catalogue.ts';

const { values: options } = parseArgs({
  options: {
    fit: { type: 'boolean', default: false },
    predict: { type: 'boolean', default: false },
    bands: { type: 'boolean', default: false },
    record: { type: 'string' },
  },
});

const root = join(import.meta.dirname, '..', '..');
const folder = join(root, 'db', 'evidence');

/** Number of digits of saved parameters, whose standard errors are at least 1 %. */
const DIGITS = 4;
const rounded = (_key: string, value: unknown): unknown =>
  typeof value === 'number' ? Number(value.toPrecision(DIGITS)) : value;

if (options.fit) {
  const kept: Record<string, Record<string, FittedImplementation>> = {};
  for (const dataset of SPMV_DATASETS) {
    const measured = unwrap(await readMeasured(folder, dataset));
    kept[dataset.id] = {};
    for (const gpu of dataset.gpus)
      for (const implementation of gpu.implementations) {
        const device = devices.find(({ id }) => id === gpu.device)!;
        const times = measuredTimes(measured.matrices, measured.times.get(implementation.column)!);
        kept[dataset.id][implementation.column] = unwrap(fitFolds(implementation, device, times));
      }
  }
  // Each column of times gets its own line, so that a diff is readable.
  const sets = Object.entries(kept).map(([id, columns]) => {
    const lines = Object.entries(columns).map(
      ([column, fitted]) => `    ${JSON.stringify(column)}: ${JSON.stringify(fitted, rounded)}`,
    );
    return `  ${JSON.stringify(id)}: {\n${lines.join(',\n')}\n  }`;
  });
  writeFileSync(join(folder, PARAMETERS_FILE), `{\n${sets.join(',\n')}\n}\n`);
}

if (options.fit || options.predict) {
  const parameters = JSON.parse(readFileSync(join(folder, PARAMETERS_FILE), 'utf8')) as KeptParameters;
  const byId = new Map(devices.map((device) => [device.id, device]));
  const predicted: Record<string, Record<string, object>> = await predictedH100(folder);
  for (const dataset of SPMV_DATASETS) {
    const measured = unwrap(await readMeasured(folder, dataset));
    const known = { dataset, measured, devices: byId, kept: parameters };
    const judged: Judged = { ...known, predicted: null, parameters: 'held-out' };
    const own: Record<string, object> = (predicted[dataset.id] = {});
    for (const gpu of [...dataset.gpus, ...dataset.unseen]) {
      const unseen = dataset.gpus.length > 1 ? unseenPairs(judged, gpu) : [];
      gpu.implementations.forEach(({ name, column, implementation }, at) => {
        const heldOut = dataset.gpus.includes(gpu) ? [...makePair(judged, gpu, at).predicted] : null;
        const asUnseen = unseen.find((pair) => pair.name === name);
        const times = measured.times.get(column)!;
        const swept = (by: 'catalogue' | 'assumed') => {
          const values = dataset.unnamed ? null : sweptParameters(judged, gpu, by);
          const model = SPMV_IMPLEMENTATIONS.get(implementation)!;
          const device = byId.get(gpu.device)!;
          const time = (i: number) => (times[i] > 0 ? model.microseconds(device, measured.matrices[i], values!) : null);
          return values && measured.matrices.map((_, i) => time(i));
        };
        const [catalogue, assumed] = [swept('catalogue'), swept('assumed')];
        own[column] = { heldOut, unseen: asUnseen ? [...asUnseen.predicted] : null, catalogue, assumed };
      });
    }
  }
  writeFileSync(join(folder, PREDICTED_FILE), gzipSync(JSON.stringify(predicted, rounded), { level: 9 }));
}

if (options.bands) {
  const kept = await measuredBands(folder, devices);
  const lines = (list: readonly unknown[]): string =>
    list.map((one) => `    ${JSON.stringify(one, rounded)}`).join(',\n');
  const lists = (['bands', 'chips', 'devices'] as const).map((name) => `  "${name}": [\n${lines(kept[name])}\n  ],\n`);
  const unmeasured = JSON.stringify(kept.unmeasured, rounded);
  const text = `{\n  "quantile": ${kept.quantile},\n${lists.join('')}  "unmeasured": ${unmeasured}\n}\n`;
  writeFileSync(join(folder, 'tie-bands.json'), text);
}

const start = performance.now();
const found = unwrap(await judgeEvidence(folder, devices, {}));
const seconds = (performance.now() - start) / 1000;

const LEFT_OUT: ReadonlySet<string> = new Set(['parameters', 'takes', 'notes', 'source', 'licence', 'title']);

/** Targets by data set: the cost of the predicted choice, and the median error of each implementation. */
const TARGETS: Readonly<Record<string, { regret: number; median: number }>> = {
  ginkgo: { regret: 1.05, median: 0.2 },
  loops: { regret: 1.08, median: 0.2 },
};
const UNSEEN_REGRET = 1.1;

const mark = (value: number, limit: number, digits: number): string =>
  `${value.toFixed(digits)}${value <= limit ? ' ' : '!'}`;
const figure = (value: number | null | undefined): string => value?.toFixed(3) ?? '–';

function sayGpu({ device, column, implementations, choice: all, choiceLarge }: GpuEvidence, id: string): void {
  const choice = all!;
  const target = TARGETS[id];
  const large = choiceLarge
    ? `; at least 10^6 non-zeros ${figure(choiceLarge.regret)} (p95 ${choiceLarge.regretP95.toFixed(2)}, best fixed ${figure(choiceLarge.bestFixed?.regret)}, four numbers ${figure(choiceLarge.fourNumbersRegret)})`
    : '';
  const fixed = choice.bestFixed ? `${choice.bestFixed.name} ${figure(choice.bestFixed.regret)}` : '–';
  say(
    `${column} (${device}): choice ${mark(choice.regret, target.regret, 3)} (p95 ${choice.regretP95.toFixed(2)}, hits ${percent(choice.hitRate, 0)}, best fixed ${fixed}, four numbers ${figure(choice.fourNumbersRegret)})${large}`,
  );
  for (const one of implementations)
    say(
      `  ${one.name.padEnd(14)} ${String(one.count).padStart(5)}  median ${mark(one.medianError * 100, target.median * 100, 1)} %  p90 ${(one.p90Error * 100).toFixed(0).padStart(3)} %  Spearman ${one.spearman.toFixed(3)} (at least 10^6 non-zeros ${figure(one.large?.spearman ?? null)}, nearest matrices ${figure(one.nearest?.spearman ?? null)})  four numbers ${one.fourNumbers ? `${(one.fourNumbers.medianError * 100).toFixed(1)} %, ${one.fourNumbers.spearman.toFixed(3)}` : '–'}`,
    );
}

function sayLaunches({ device, column, implementations, choice }: GpuEvidence): void {
  for (const { name, count, medianError, p90Error, spearman } of implementations)
    say(
      `${column} (${device}), ${name}: ${count}, median ${(medianError * 100).toFixed(1)} %, p90 ${(p90Error * 100).toFixed(0)} %, Spearman ${spearman.toFixed(3)}, choice ${figure(choice?.regret ?? null)}, a random one of those not told apart ${figure(choice?.randomRegret ?? null)}`,
    );
}

for (const { id, gpus, unseen } of found) {
  say(`\n${id}${id in TARGETS ? ': matrices held out, ! where a figure misses its target' : ''}`);
  for (const gpu of gpus) (id in TARGETS ? sayGpu : sayLaunches)(gpu, id);
  for (const one of unseen)
    say(
      `unseen ${one.device.padEnd(24)} median ${(one.medianError * 100).toFixed(0)} %, choice ${mark(one.regret, UNSEEN_REGRET, 3)}; at least 10^6 non-zeros ${one.medianErrorLarge === null ? '–' : `${(one.medianErrorLarge * 100).toFixed(0)} %`}, ${one.regretLarge?.toFixed(3) ?? '–'}`,
    );
}
say(`\njudged in ${seconds.toFixed(2)} s`);
if (options.record !== undefined) {
  // Leaves out what other files contain: the fitted parameters, and the descriptions of the data sets.
  const kept = (key: string, value: unknown): unknown => (LEFT_OUT.has(key) ? undefined : rounded(key, value));
  writeFileSync(options.record, `${JSON.stringify({ datasets: found }, kept, 1)}\n`);
}
