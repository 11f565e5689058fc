import type { StoreClient } from '../../../db/store-api.ts';
import {
  compareContention,
  contentionFromStream,
  disturbances,
  measuredCpu,
} from '../../../src-workers/bench/cpu/analysis.ts';
import type { MeasuringDevice } from '../../../src-workers/domain/benchmark.ts';
import { fail, ok, type Result, unsupported } from '../../../src-workers/domain/result.ts';
import type { ContentionFindings } from '../../contract/measuring.ts';
import { measuredRunStudy, type MeasuredCaseDetail } from './records.ts';

export async function contentionFindings(store: StoreClient, runId: number): Promise<Result<ContentionFindings>> {
  const run = await store.getRun(runId);
  if (!run.ok) return run;
  const study = measuredRunStudy(run.value);
  if (!study.ok) return study;
  const { suite } = study.value.request;
  if (suite !== 'contention')
    return unsupported(`Run ${runId} measured the suite ${suite}. Specify a run of the suite contention.`);
  const records = await store.listMeasurements(runId);
  if (!records.ok) return records;
  const cases = records.value.flatMap(({ timesMs, failure, correct, detail }) => {
    const { case: one, values } = detail as MeasuredCaseDetail;
    return failure === null && correct !== false ? [{ case: one, timesMs, values }] : [];
  });
  const found = contentionFromStream(cases);
  if (!found.ok) return fail(found.error.code, `run ${runId}: ${found.error.message}`);
  const { cores, bandwidth, memory, saturatingCores } = found.value;
  const measuring = run.value.measuringDevice as MeasuringDevice | null;
  const device = measuring && measuredCpu(measuring, found.value);
  return ok({
    cores,
    bandwidthGbS: bandwidth.map(({ value }) => value),
    lowGbS: bandwidth.map(({ low }) => low),
    highGbS: bandwidth.map(({ high }) => high),
    singleCoreGbS: memory.singleCoreBandwidthGbS,
    fullGbS: memory.fullBandwidthGbS,
    kneeCores: saturatingCores,
    device: device?.ok ? device.value : null,
    workloads: compareContention(found.value, cases),
    warnings: disturbances(cases),
  });
}
