import { fail, ok, type Result } from '../../src-workers/domain/result.ts';
import type { BenchRecord } from '../../src-workers/domain/benchmark.ts';
import { parseBenchRecord } from '../../src-workers/parse/bench-records.ts';
import type { ProcedureArguments, ProcedureName } from '../contract/procedures.ts';
import type { Benchmarks } from './benchmarks.ts';
import type { Context, Handlers } from './context.ts';
import { measuringDetail } from './measured.ts';
import type { SweepHandle } from './sweeps.ts';

/** The procedures of measuring and calibrating. */
type MeasuringProcedure = Extract<ProcedureName, `bench.${string}` | `calibration.${string}`>;

export function measuringHandlers(
  context: Context,
  benchmarks: Benchmarks,
  measure: (input: ProcedureArguments<'bench.start'>) => Promise<Result<SweepHandle>>,
): Handlers<MeasuringProcedure> {
  const absent = async (): Promise<Result<never>> => fail('unsupported', 'measuring: not in this version yet');
  return {
    'bench.targets': absent,
    'bench.start': async (input) => {
      const handle = await measure(input);
      return handle.ok ? ok({ runId: handle.value.runId }) : handle;
    },
    'bench.plan': async ({ id }) => benchmarks.plan(id),
    'bench.record': async ({ id, records }) => {
      const known: BenchRecord[] = [];
      for (const [at, value] of records.entries()) {
        const record = parseBenchRecord(value);
        if (!record.ok) return fail('bad-input', `records[${at}]: ${record.error.message}`);
        if (record.value) known.push(record.value);
      }
      return benchmarks.record(id, known);
    },
    'bench.bundle': absent,
    'bench.detail': async ({ id }) => {
      const run = await context.store.getRun(id);
      return run.ok ? measuringDetail(context, run.value) : run;
    },
    'bench.compare': absent,
    'bench.contention': absent,
    'calibration.fit': absent,
    'calibration.save': absent,
    'calibration.list': absent,
    'calibration.delete': absent,
    'calibration.use': absent,
  };
}
