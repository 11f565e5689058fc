import { separatorOf, withPoint } from '../domain/csv.ts';
import { NOTHING_MEASURED, type CaseResult } from '../domain/benchmark.ts';
import { ok, type Result } from '../domain/result.ts';
import { eachCsvLine } from './csv-records.ts';
import { DESIGN_NAMES } from '../domain/design-names.ts';
import {
  caught,
  DECIMAL,
  headText,
  peeked,
  refuse as refuseIn,
  shown,
  type ByteSource,
  type Refuse,
} from './source.ts';

export interface MeasuredTimes {
  readonly cases: readonly CaseResult[];
  readonly warnings: readonly string[];
}

const MAX_ROWS = 2 ** 20;
const MAX_COLUMNS = 200;

/** Converts a time to ms, by its unit. The result is rounded at most once, and ms stay exact. */
export const TO_MS: Readonly<Record<string, (time: number) => number>> = {
  s: (time) => time * 1000,
  ms: (time) => time,
  us: (time) => time / 1000,
  µs: (time) => time / 1000,
  ns: (time) => time / 1e6,
};
const WORDS = 'measured|time|runtime|kernel_time|median|mean';
export const TIME = new RegExp(`^(?:${WORDS})[ _]*[([]?(s|ms|us|µs|ns)[)\\]]?$`, 'i');
const WITHOUT_UNIT = new RegExp(`^(?:${WORDS})$`, 'i');
const EXPECTED = 'a column of times such as time_ms or time_us';

/** Columns of an exported ranking that are not parameters of a design. */
const OF_RANKING: ReadonlySet<string> = new Set([
  'rank', 'time_ms', 'mean_loss', 'aggregate_loss', 'occupancy_fraction', 'resident_blocks', 'waves', 'limited_by', 'fidelity',
  'predicted_ms', 'simulated_ms', 'simulated_low_ms', 'simulated_high_ms', 'simulated_median_ms', 'replications', 'measured_ms',
  'measured_low_ms', 'measured_high_ms', 'repeats', 'measured_on', 'predicted_kernel_ms',
]); // prettier-ignore
const isRanking = (header: readonly string[]): boolean =>
  ['aggregate_loss', 'limited_by'].every((name) => header.includes(name));

/** Columns that only files of designs have. Devices, implementations and loops are in other files too. */
const DESIGN_COLUMNS: ReadonlySet<string> = new Set(
  Object.entries(DESIGN_NAMES).flatMap(([field, names]) =>
    ['device', 'implementation', 'loop'].includes(field) ? [] : names,
  ),
);

export function hasDesignColumns(header: readonly string[]): boolean {
  return header.some((name) => DESIGN_COLUMNS.has(name));
}

/**
 * Reads CSV (also `;` and tab, then also with decimal commas) with a header, one row per launch. Several rows of a
 * design are its repeats. Rows without a time are dropped and counted. In an exported ranking `time_ms` is the
 * prediction, so the measured time must be in a column such as `measured_ms`. Failures name line and column.
 */
export function parseMeasuredTimes(source: ByteSource, label: string, kernel: string): Promise<Result<MeasuredTimes>> {
  return caught<MeasuredTimes>(async () => {
    let columns: Columns | undefined;
    const times = new Map<string, { readonly configuration: Record<string, number | string>; timesMs: number[] }>();
    let [rows, empty] = [0, 0];
    const { head, whole } = await peeked(source);
    const delimiter = separatorOf(headText(head));
    const lines = await eachCsvLine(whole, label, { delimiter }, 'CSV with a header', (given, line) => {
      if (!columns) {
        columns = findColumns(given, label, line);
        return;
      }
      const fields = delimiter === ',' ? given : given.map(withPoint);
      rows += 1;
      if (rows > MAX_ROWS) refuseIn(label, { line }, `the file has more rows than the limit of ${MAX_ROWS}`);
      const { at, toMs, parameters } = columns;
      const text = fields[at] ?? '';
      if (text === '') {
        empty += 1;
        return;
      }
      const time = DECIMAL.test(text) ? toMs(Number(text)) : NaN;
      if (!(time > 0 && time < Infinity))
        refuseIn(
          label,
          { line, column: at + 1 },
          `${shown(text)} is not a time > 0, such as 1.25. Leave the field empty if nothing was measured`,
        );
      const configuration: Record<string, number | string> = {};
      for (const { name, place } of parameters) {
        const value = fields[place] ?? '';
        const number = DECIMAL.test(value) ? Number(value) : NaN;
        if (value !== '') configuration[name] = Number.isFinite(number) ? number : value;
        // In a ranking, no value means no cap.
        else if (NO_CAP.has(name)) configuration[name] = 0;
      }
      const key = JSON.stringify(configuration);
      const known = times.get(key);
      if (known) known.timesMs.push(time);
      else times.set(key, { configuration, timesMs: [time] });
    });
    if (times.size === 0) {
      const found = rows === 0 ? 'the file ends without a row' : `none of ${rows} rows has a time`;
      refuseIn(label, { line: Math.max(1, lines) }, `${found}. At least one time must have been measured`);
    }
    const cases = [...times.values()].map(({ configuration, timesMs }, position): CaseResult => ({
      ...NOTHING_MEASURED,
      case: { id: `c${position}`, benchmark: 'external', parameters: { kernel, configuration } },
      timesMs,
    }));
    return ok({
      cases,
      warnings: empty === 0 ? [] : [`Rows without a time were left out as not measured: ${empty} of ${rows}.`],
    });
  });
}

const NO_CAP: ReadonlySet<string> = new Set(DESIGN_NAMES.registerCap);

interface Columns {
  readonly at: number;
  readonly toMs: (time: number) => number;
  readonly parameters: readonly { readonly name: string; readonly place: number }[];
}

function findColumns(header: readonly string[], label: string, line: number): Columns {
  const refuse: Refuse = (problem, column) => refuseIn(label, { line, column }, problem);
  if (header.length > MAX_COLUMNS) refuse(`${header.length} columns exceed the limit of ${MAX_COLUMNS}`);
  const ofRanking = isRanking(header);
  const all = header.flatMap((name, at) => {
    const unit = TIME.exec(name)?.[1];
    return unit === undefined || (ofRanking && name === 'time_ms')
      ? []
      : [{ name, at, toMs: TO_MS[unit.toLowerCase()] }];
  });
  const measured = all.filter(({ name }) => /^measured/i.test(name));
  const [chosen, second] = measured.length > 0 ? measured : all;
  if (second) {
    const names = (measured.length > 0 ? measured : all).map(({ name }) => name).join(', ');
    refuse(`the file has several columns of times (${names}). Keep one, or call one measured_ms`, second.at + 1);
  }
  if (!chosen) {
    const bare = header.findIndex((name) => WITHOUT_UNIT.test(name));
    if (bare >= 0) refuse(`the times in ${shown(header[bare])} have no unit. Use ${EXPECTED}`, bare + 1);
    refuse(
      ofRanking
        ? 'this is an exported ranking, whose time_ms is predicted. Put the measured times into a column measured_ms or measured_us'
        : `the file has no column of times. Use ${EXPECTED}`,
    );
  }
  const others = all.map(({ at }) => at);
  const parameters = header.flatMap((name, place) =>
    name === '' || others.includes(place) || OF_RANKING.has(name) || name === '__proto__' ? [] : [{ name, place }],
  );
  return { at: chosen.at, toMs: chosen.toMs, parameters };
}
