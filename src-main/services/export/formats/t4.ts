import { evidenceGaps } from '../../../../src-workers/domain/evidence.ts';
import { ok, type Result } from '../../../../src-workers/domain/result.ts';
import { APP_VERSION, MODEL_VERSION } from '../../version.ts';
import { timedDevices } from '../../evidence/timed-devices.ts';
import { bestRows } from '../../ranking/rows.ts';
import type { RunView } from '../../runs/run-view.ts';
import type { MeasuredConfiguration, MeasuredJob, Rendered } from '../exporter.ts';
import { meanTime, t4Configuration, tableFormat, type TableList } from '../tables.ts';
import { jsonParts } from '../text.ts';

export const t4 = tableFormat({
  id: 't4',
  label: 'Kernel Tuner T4',
  text: 'The results format of auto-tuners',
  extension: 't4.json',
  mediaType: 'application/json',
  write: t4Json,
  writeMeasured: measuredT4,
});

/**
 * Writes Kernel Tuner's T4 results format, schema version 1.0.0 (results-schema.json of KernelTuner/kernel_tuner, after
 * odgaard/TuningSchema). A configuration has numbers and strings; the time is the objective, under `measurements`.
 * Times of compilation, framework and runs are left out, because nothing was run.
 */
function t4Json(view: RunView, { within, limit }: TableList): AsyncGenerator<string, void> {
  const model = view.run.modelVersions.prediction ?? MODEL_VERSION;
  const results = bestRows(view, within, limit).map((row) => ({
    timestamp: view.run.finishedAt ?? view.run.startedAt,
    configuration: t4Configuration(row.deviceId, row.design),
    objectives: ['time'],
    times: { compilation_time: 0, runtimes: [], framework: 0, search_algorithm: 0, validation: 0 },
    invalidity: 'correct',
    correctness: 1,
    measurements: [{ name: 'time', value: row.timeMs, unit: 'ms' }],
  }));
  const metadata = {
    source: `Lockstep ${APP_VERSION}, model ${model}: predicted times, nothing was measured`,
    study: view.study.study.name,
    run: view.run.id,
    seed: view.run.seed,
    evidence: evidenceGaps(timedDevices(view))?.text ?? 'Measurements of all devices and implementations are known.',
  };
  return jsonParts({ schema_version: '1.0.0', metadata, results });
}

function measuredT4({ run, measured, base, metadata }: MeasuredJob): Result<Rendered> {
  const timestamp = run.finishedAt ?? run.startedAt;
  const results = measured.map((one) => t4Result(one, timestamp));
  return ok({
    fileName: `${base}.t4.json`,
    mediaType: 'application/json',
    parts: jsonParts({ schema_version: '1.0.0', metadata, results }),
  });
}

function t4Result({ configuration, record: { timesMs, correct, failure } }: MeasuredConfiguration, timestamp: string) {
  const invalidity = failure !== null ? 'runtime' : correct === false ? 'correctness' : 'correct';
  return {
    timestamp,
    configuration,
    objectives: ['time'],
    times: { compilation_time: 0, runtimes: timesMs, framework: 0, search_algorithm: 0, validation: 0 },
    invalidity,
    correctness: Number(invalidity === 'correct'),
    measurements: timesMs.length === 0 ? [] : [{ name: 'time', value: meanTime(timesMs), unit: 'ms' }],
  };
}
