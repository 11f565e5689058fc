import type { BenchRecord } from '../../../src-workers/domain/benchmark.ts';
import { fail, ok } from '../../../src-workers/domain/result.ts';
import { parseBenchRecord } from '../../../src-workers/parse/bench-records.ts';
import type { Context, Handlers, ProceduresOf } from '../context.ts';
import type { Benchmarks } from './benchmarks.ts';
import type { Targets } from './targets.ts';
import { nextDesigns } from './tune.ts';

export function measuringHandlers(
  context: Context,
  targets: Targets,
  benchmarks: Benchmarks,
): Handlers<
  Exclude<ProceduresOf<'bench'>, 'bench.detail' | 'bench.compare' | 'bench.compareRuns' | 'bench.contention'>
> {
  return {
    'bench.targets': async ({ again }) => ok(await targets.list(again)),
    'bench.probe': (input, gone) => benchmarks.probe(input, gone),
    'bench.cancelProbe': async ({ client }) => ok(benchmarks.cancelProbe(client)),
    'bench.start': (input) => context.running.start(benchmarks.start(input)),
    'bench.runnable': (input) => benchmarks.runnable(input),
    'bench.next': (input) => nextDesigns(context, targets, input),
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
    'bench.bundle': (input) => benchmarks.bundle(input),
  };
}
