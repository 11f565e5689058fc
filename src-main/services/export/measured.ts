import type { MeasurementRecord, RunRecord } from '../../../db/records.ts';
import type { CaseResult, MeasuringDevice } from '../../../src-workers/domain/benchmark.ts';
import { fail, ok, type Result } from '../../../src-workers/domain/result.ts';
import type { Design, ExportFormat } from '../../contract/api.ts';
import { APP_VERSION } from '../app/version.ts';
import type { Context } from '../context.ts';
import type { MeasuredCaseDetail } from '../measured/records.ts';
import type { RunStudy } from '../studies/studies.ts';
import { fileStem, type Rendered } from './render.ts';
import { t4Configuration } from './tables.ts';
import { jsonParts } from './text.ts';

/** A measured run as files of Kernel Tuner, with every repeat. For a configuration without times they say why. */

type Configuration = Readonly<Record<string, number | string | boolean>>;
interface Measured {
  readonly configuration: Configuration;
  readonly record: MeasurementRecord;
}

/** Whether a run is a measurement, of a sweep's designs or of anything else. */
export const isMeasurement = ({ kind }: Pick<RunRecord, 'kind'>): boolean => kind === 'bench' || kind === 'import';

/** T4 results, or a cache for `kernel-tuner`. Fails on other formats, and where no measured design has parameters. */
export async function measuredDocument(
  { store }: Pick<Context, 'store'>,
  run: RunRecord,
  format: ExportFormat,
): Promise<Result<Rendered>> {
  if (format !== 't4' && format !== 'kernel-tuner')
    return fail(
      'bad-input',
      `Run ${run.id} is a measurement, which is exported as t4 or kernel-tuner (a cache). Specify one of them, or the sweep.`,
    );
  const records = await store.listMeasurements(run.id);
  if (!records.ok) return records;
  const measured = records.value.flatMap((record): Measured[] => {
    const { case: one } = record.detail as MeasuredCaseDetail;
    if (one.benchmark === 'external') return [{ configuration: one.parameters.configuration, record }];
    return one.benchmark === 'unit-loop'
      ? [{ configuration: t4Configuration(record.deviceId, record.design as Design), record }]
      : [];
  });
  if (measured.length === 0)
    return fail('conflict', `Run ${run.id} has no configurations of a kernel. Export its sweep, or a run of designs.`);
  const source = run.sourceRunId === null ? null : await store.getRun(run.sourceRunId);
  if (source && !source.ok) return source;
  const device = (run.measuringDevice as MeasuringDevice | null)?.name ?? measured[0].record.deviceId;
  const metadata = {
    source: `Lockstep ${APP_VERSION}: measured times`,
    device_name: device,
    timeunit: 'milliseconds',
    ...(source && {
      run: source.value.id,
      study: (source.value.study as RunStudy).study.name,
      seed: source.value.seed,
    }),
  };
  const stem = `${fileStem(run.name)}-run-${run.id}`;
  const json = (extension: string, parts: AsyncGenerator<string, void>): Result<Rendered> =>
    ok({ fileName: `${stem}.${extension}`, mediaType: 'application/json', parts });
  const timestamp = run.finishedAt ?? run.startedAt;
  if (format === 't4')
    return json(
      't4.json',
      jsonParts({ schema_version: '1.0.0', metadata, results: measured.map((one) => t4Result(one, timestamp)) }),
    );
  const names = Object.keys(measured[0].configuration);
  const other = measured.find(({ configuration }) => Object.keys(configuration).join('\n') !== names.join('\n'));
  if (other)
    return fail(
      'unsupported',
      `Case ${other.record.designIndex ?? measured.indexOf(other)} of run ${run.id} has other parameters than the first, which a cache cannot express. Export it as t4.`,
    );
  const [{ record }] = measured;
  const { case: first } = record.detail as Pick<CaseResult, 'case'>;
  const head = {
    schema_version: '1.0.0',
    metadata,
    device_name: device,
    kernel_name: first.benchmark === 'external' ? first.parameters.kernel : fileStem(run.name),
    problem_size: 'callable',
    tune_params_keys: names,
    tune_params: Object.fromEntries(
      names.map((name) => [
        name,
        [...new Set(measured.map(({ configuration }) => configuration[name]))].sort(ascending),
      ]),
    ),
    objective: 'time',
  };
  const cache = Object.fromEntries(measured.map((one) => cacheEntry(one, timestamp)));
  return json('json', jsonParts({ ...head, cache }));
}

const ascending = (a: number | string | boolean, b: number | string | boolean): number =>
  typeof a === 'number' && typeof b === 'number' ? a - b : String(a) < String(b) ? -1 : 1;
const mean = (times: readonly number[]): number => times.reduce((sum, time) => sum + time, 0) / times.length;

function t4Result({ configuration, record: { timesMs, correct, failure } }: Measured, timestamp: string) {
  const invalidity = failure !== null ? 'runtime' : correct === false ? 'correctness' : 'correct';
  return {
    timestamp,
    configuration,
    objectives: ['time'],
    times: { compilation_time: 0, runtimes: timesMs, framework: 0, search_algorithm: 0, validation: 0 },
    invalidity,
    correctness: Number(invalidity === 'correct'),
    measurements: timesMs.length === 0 ? [] : [{ name: 'time', value: mean(timesMs), unit: 'ms' }],
  };
}

function cacheEntry({ configuration, record: { timesMs, correct, failure } }: Measured, timestamp: string) {
  const isFailed = failure !== null || correct === false || timesMs.length === 0;
  const result = isFailed ? { __error__: 'RuntimeFailedConfig' } : { time: mean(timesMs), times: timesMs };
  const unmeasured = { compile_time: 0, verification_time: 0, benchmark_time: 0, strategy_time: 0, framework_time: 0 };
  return [
    Object.values(configuration).map(String).join(','),
    { ...configuration, ...result, ...unmeasured, timestamp },
  ] as const;
}
