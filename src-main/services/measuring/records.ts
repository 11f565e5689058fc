import type { MeasurementRecord, RunRecord } from '../../../db/records.ts';
import type { CaseResult } from '../../../src-workers/domain/benchmark.ts';
import { fail, ok, type Result, badInput } from '../../../src-workers/domain/result.ts';
import type { MeasuringRequest } from '../../contract/measuring.ts';
import { kindText } from '../runs/runs.ts';

/**
 * The stored form of a measured run: a `bench` run of this machine or an `import` of a file. Both are written and read
 * here, so that the same procedures return them.
 */

/** The content of a measured run's `study` column, in addition to the study of its sweep. */
export interface MeasuredRunStudy {
  readonly measuring: {
    readonly request: MeasuringRequest;
    /** Warnings from measuring or reading. */
    readonly warnings: readonly string[];
  };
}

/** The data of a measured case without its own column in the store. */
export type MeasuredCaseDetail = Omit<CaseResult, 'timesMs' | 'correct' | 'failure'>;

/** The source of the designs of a measured run, and the program that measured them. */
export interface MeasuredOrigin {
  readonly sourceRunId: number | null;
  /** The sweep of the designs, by name; without one, the measuring device. */
  readonly deviceId: string;
  readonly backend: string;
}

/** Converts a measured case to a record of the store. */
export function measurementRecord(measured: CaseResult, origin: MeasuredOrigin): MeasurementRecord {
  const { timesMs, correct, failure, ...detail } = measured;
  const { benchmark, parameters } = measured.case;
  const ofSweep =
    benchmark === 'unit-loop' ? parameters : benchmark === 'external' ? (parameters.linked ?? null) : null;
  return {
    sourceRunId: ofSweep && origin.sourceRunId,
    // An index has a meaning only together with its sweep.
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
  const { study } = run;
  const measuring =
    typeof study === 'object' && study !== null && 'measuring' in study
      ? (study.measuring as Partial<MeasuredRunStudy['measuring']> | null)
      : null;
  const { request, warnings } = measuring ?? {};
  if (run.kind !== 'bench' && run.kind !== 'import')
    return badInput(`Run ${run.id} is ${kindText(run)}. Specify a measurement.`);
  if (!request || !Array.isArray(warnings))
    return fail('storage', `Run ${run.id} is not a measurement that this version can read.`);
  return ok({ request, warnings });
}
