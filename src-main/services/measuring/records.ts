import type { MeasurementRecord, RunRecord } from '../../../db/records.ts';
import type { CaseResult } from '../../../src-workers/domain/benchmark.ts';
import { fail, ok, type Result, badInput } from '../../../src-workers/domain/result.ts';
import type { MeasuringRequest } from '../../contract/measuring.ts';
import { kindText } from '../runs/runs.ts';

/** A measured run is a `bench` run of this machine or an `import` of a file. Both are stored in the same way. */

/** The `study` column of a measured run has this field and, with a sweep, also the study of the sweep. */
export interface MeasuredRunStudy {
  readonly measuring: {
    readonly request: MeasuringRequest;
    readonly warnings: readonly string[];
  };
}

export type MeasuredCaseDetail = Omit<CaseResult, 'timesMs' | 'correct' | 'failure'>;

export interface MeasuredOrigin {
  readonly sourceRunId: number | null;
  /** The id of a device of the sweep or, without a sweep, of the device that measured. */
  readonly deviceId: string;
  readonly backend: string;
}

export function measurementRecord(measured: CaseResult, origin: MeasuredOrigin): MeasurementRecord {
  const { timesMs, correct, failure, ...detail } = measured;
  const { benchmark, parameters } = measured.case;
  const ofSweep =
    benchmark === 'unit-loop' ? parameters : benchmark === 'external' ? (parameters.linked ?? null) : null;
  return {
    sourceRunId: ofSweep && origin.sourceRunId,
    // The index of a design means something only together with its sweep.
    designIndex: ofSweep && origin.sourceRunId !== null ? ofSweep.designIndex : null,
    predictedMs: ofSweep && ofSweep.predictedMs,
    deviceId: origin.deviceId,
    design: ofSweep ? ofSweep.design : benchmark === 'external' ? parameters.configuration : parameters,
    backend: origin.backend,
    timesMs,
    correct,
    failure,
    detail: detail satisfies MeasuredCaseDetail,
  };
}

export function measuredRunStudy(run: RunRecord): Result<MeasuredRunStudy['measuring']> {
  const { measuring } = (run.study ?? {}) as { readonly measuring?: Partial<MeasuredRunStudy['measuring']> | null };
  const { request, warnings } = measuring ?? {};
  if (run.kind !== 'bench' && run.kind !== 'import')
    return badInput(`Run ${run.id} is ${kindText(run)}. Specify a measurement.`);
  if (!request || !Array.isArray(warnings))
    return fail('storage', `Run ${run.id} is not a measurement that this version can read.`);
  return ok({ request, warnings });
}
