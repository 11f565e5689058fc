import type { MeasurementRecord, RunRecord } from '../../db/records.ts';
import type { BenchCase } from '../../src-workers/domain/benchmark.ts';
import { fail, ok, type Result } from '../../src-workers/domain/result.ts';
import type { MeasuringRequest } from '../contract/measuring.ts';

/**
 * How a measured run stands in the database, whoever measured: a `bench` run of this machine or an `import` of a file. One
 * place writes and reads it, so that both come back through the same procedures.
 */

/** What a measured run's `study` column holds, beside the study of its sweep where it has one. */
export interface MeasuredRunStudy {
  readonly measuring: {
    readonly request: MeasuringRequest;
    /** What was noticed while measuring or reading. */
    readonly warnings: readonly string[];
  };
}

/** What the store keeps of one measured case beside its times that count. */
export interface MeasuredCaseDetail {
  readonly case: BenchCase;
  readonly warmUpMs: readonly number[];
  readonly clockMhz: number | null;
  readonly registersPerThread: number | null;
  /** What the check of the result said where it failed; empty otherwise. */
  readonly checkMessage: string;
  readonly values: Readonly<Record<string, number | readonly number[]>>;
}

/** One measured case. No time and no failure: the case has values alone, or was not reached. */
export interface MeasuredCaseRecord extends MeasuredCaseDetail {
  /** Every repeat that counts, in order, ms. */
  readonly timesMs: readonly number[];
  /** Whether the result equals the CPU's; `null` where it was not checked. */
  readonly correct: boolean | null;
  readonly failure: string | null;
}

/** Where the designs of a measured run came from, and who measured them. */
export interface MeasuredOrigin {
  readonly sourceRunId: number | null;
  /** Of the catalogue, where the case's design has one; otherwise any name of the device that measured. */
  readonly deviceId: string;
  readonly backend: string;
}

/** A measured case as the store takes it. */
export function measurementRecord(measured: MeasuredCaseRecord, origin: MeasuredOrigin): MeasurementRecord {
  const { timesMs, correct, failure, ...detail } = measured;
  const { benchmark, parameters } = measured.case;
  const ofSweep = benchmark === 'unit-loop';
  return {
    sourceRunId: ofSweep ? origin.sourceRunId : null,
    designIndex: ofSweep ? parameters.designIndex : null,
    predictedMs: ofSweep ? parameters.predictedMs : null,
    deviceId: origin.deviceId,
    design: ofSweep ? parameters.design : benchmark === 'external' ? parameters.configuration : parameters,
    backend: origin.backend,
    timesMs,
    correct,
    failure,
    detail: detail satisfies MeasuredCaseDetail,
  };
}

/** Reads what a measured run was asked for. */
export function measuredRunStudy(run: RunRecord): Result<MeasuredRunStudy['measuring']> {
  const { study } = run;
  const measuring =
    typeof study === 'object' && study !== null && 'measuring' in study
      ? (study.measuring as Partial<MeasuredRunStudy['measuring']> | null)
      : null;
  const { request, warnings } = measuring ?? {};
  if (!request || !Array.isArray(warnings))
    return fail('storage', `run ${run.id}: not a measurement this version can read`);
  return ok({ request, warnings });
}
