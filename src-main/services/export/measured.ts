import type { RunRecord } from '../../../db/records.ts';
import type { MeasuringDevice } from '../../../src-workers/domain/benchmark.ts';
import { type Result, badInput, conflict } from '../../../src-workers/domain/result.ts';
import type { Design } from '../../contract/api.ts';
import { APP_VERSION } from '../version.ts';
import type { Context } from '../context.ts';
import type { MeasuredCaseDetail } from '../measuring/records.ts';
import type { RunStudy } from '../studies/studies.ts';
import { runStem, type Exporter, type MeasuredConfiguration, type Rendered } from './exporter.ts';
import { EXPORTERS } from './formats.ts';
import { t4Configuration } from './tables.ts';

export async function measuredDocument(
  { store }: Pick<Context, 'store'>,
  run: RunRecord,
  { writeMeasured }: Exporter,
): Promise<Result<Rendered>> {
  if (!writeMeasured) {
    const able = EXPORTERS.filter((each) => each.writeMeasured);
    const names = able.map(({ id, measuredAs }) => (measuredAs === undefined ? id : `${id} (${measuredAs})`));
    return badInput(
      `Run ${run.id} is a measurement, which is exported as ${names.join(' or ')}. Specify one of these formats, or the sweep.`,
    );
  }
  const records = await store.listMeasurements(run.id);
  if (!records.ok) return records;
  const measured = records.value.flatMap((record): MeasuredConfiguration[] => {
    const { case: one } = record.detail as MeasuredCaseDetail;
    if (one.benchmark === 'external') return [{ configuration: one.parameters.configuration, record }];
    return one.benchmark === 'unit-loop'
      ? [{ configuration: t4Configuration(record.deviceId, record.design as Design), record }]
      : [];
  });
  if (measured.length === 0)
    return conflict(`Run ${run.id} has no configurations of a kernel. Export its sweep, or a run of designs.`);
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
  return writeMeasured({ run, measured, base: `${runStem(run.name)}-run-${run.id}`, metadata });
}
