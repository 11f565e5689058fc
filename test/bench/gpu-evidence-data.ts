import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { MeasuredCase } from '../../src-main/contract/measuring.ts';
import type { ProcedureInput, ProcedureName, ProcedureOutput } from '../../src-main/contract/procedures.ts';
import { openEngine } from '../../src-main/services/engine.ts';
import { unwrap, type Result } from '../../src-workers/domain/result.ts';
import { mean, sortedQuantile, spearman } from '../../src-workers/numeric/statistics.ts';

/*
 * `node test/bench/gpu-evidence-data.ts DIR FILE NAME…`: writes measurements of `npm run gpu-evidence -- --out DIR` as
 * data to keep: device, date, versions and clocks, and for each case its design, the predicted time, and the median with
 * its interval. The names are those of runs in DIR/state.json. The engine may migrate the database, so use a copy.
 */
const [folder, file, ...names] = process.argv.slice(2);
const ROOT = join(import.meta.dirname, '../..');

const state = JSON.parse(readFileSync(join(folder, 'state.json'), 'utf8')) as {
  readonly runs: Readonly<Record<string, number>>;
};
const databaseFile = resolve(folder, 'lockstep.db');
const engine = unwrap(await openEngine({ databaseFile, resourceFolder: ROOT, host: 'cli', workers: 1 }));
async function call<Name extends ProcedureName>(
  name: Name,
  input: ProcedureInput<Name>,
): Promise<ProcedureOutput<Name>> {
  return unwrap((await engine.dispatch(name, input)) as Result<ProcedureOutput<Name>>);
}

const digits = (value: number): number => Number(value.toPrecision(6));
const range = (values: readonly number[]) =>
  values.length === 0 ? null : { least: Math.min(...values), most: Math.max(...values) };

/** The values of a case, each list as its median. */
function listValues({ values }: MeasuredCase): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      digits(typeof value === 'number' ? value : sortedQuantile(Float64Array.from(value).sort(), 0.5)),
    ]),
  );
}

/** How well the predicted times rank the measured ones, and the error of a time with the median ratio removed. */
function agreement(cases: readonly MeasuredCase[]) {
  const both = cases.filter(({ measured, predictedMs }) => measured !== null && predictedMs !== null);
  if (both.length < 3) return null;
  const logs = Float64Array.from(both, (one) => Math.log(one.measured!.medianMs / one.predictedMs!));
  const scale = sortedQuantile(logs.toSorted(), 0.5);
  const errors = logs.map((log) => Math.abs(Math.expm1(log - scale))).sort();
  return {
    designs: both.length,
    spearman: digits(
      spearman(
        Float64Array.from(both, (one) => one.predictedMs!),
        Float64Array.from(both, (one) => one.measured!.medianMs),
      ),
    ),
    measuredOverPredicted: digits(Math.exp(scale)),
    medianError: digits(sortedQuantile(errors, 0.5)),
    meanError: digits(mean(errors)),
  };
}

const runs = [];
for (const name of names) {
  const id = state.runs[name];
  const run = await call('runs.get', { id });
  const { request, device, cases, warnings } = await call('bench.detail', { id });
  const done = cases.filter(({ measured, values }) => measured !== null || Object.keys(values).length > 0);
  const of = (pick: (one: NonNullable<MeasuredCase['conditions']>) => number | null | undefined) =>
    range(done.flatMap(({ conditions }) => (conditions ? (pick(conditions) ?? []) : [])));
  runs.push({
    name,
    study: run.name,
    date: run.startedAt,
    appVersion: run.appVersion,
    request,
    device,
    clocksMhz: range(
      done.flatMap(({ conditions }) => [conditions?.minClockMhz ?? [], conditions?.maxClockMhz ?? []].flat()),
    ),
    temperatureC: of(({ temperatureC }) => temperatureC),
    powerW: of(({ powerW }) => powerW),
    planned: cases.length,
    agreement: agreement(done),
    warnings,
    cases: done.map((one) => ({
      ...(one.design ? { design: one.design } : { case: one.case.parameters }),
      ...(one.predictedMs !== null && { predictedMs: digits(one.predictedMs) }),
      ...(one.measured && {
        medianMs: digits(one.measured.medianMs),
        lowMs: one.measured.lowMs === null ? null : digits(one.measured.lowMs),
        highMs: one.measured.highMs === null ? null : digits(one.measured.highMs),
        repeats: one.measured.repeats,
      }),
      correct: one.correct,
      ...(Object.keys(one.values).length > 0 && { values: listValues(one) }),
    })),
  });
}
await engine.close();

// One line for each case, so that a change of one shows as such.
const text = runs.map(({ cases, ...about }) => {
  const head = JSON.stringify(about, null, 1).slice(0, -2);
  return `${head},\n "cases": [\n${cases.map((one) => `  ${JSON.stringify(one)}`).join(',\n')}\n ]\n}`;
});
writeFileSync(file, `[\n${text.join(',\n')}\n]\n`);
