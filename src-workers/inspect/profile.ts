import { parse } from 'csv-parse/sync';
import type { ProfiledLaunch } from '../domain/inspection.ts';
import { errorText, ok, type Result, badInput } from '../domain/result.ts';

export interface ProfiledKernel {
  readonly entry: string;
  readonly arch: string | null;
  readonly registersPerThread: number | null;
  readonly sharedMemoryBytes: number | null;
  readonly launch: ProfiledLaunch;
}

/** The metric of each figure, and its label in `--page details`. */
const NAMES = {
  registers: ['launch__registers_per_thread', 'Registers Per Thread'],
  block: ['launch__block_size', 'Block Size'],
  grid: ['launch__grid_size', 'Grid Size'],
  staticShared: ['launch__shared_mem_per_block_static', 'Static Shared Memory Per Block'],
  dynamicShared: ['launch__shared_mem_per_block_dynamic', 'Dynamic Shared Memory Per Block'],
  duration: ['gpu__time_duration.sum', 'gpu__time_duration.avg', 'Duration'],
  dram: ['dram__bytes.sum'],
  dramRead: ['dram__bytes_read.sum'],
  dramWritten: ['dram__bytes_write.sum'],
  executed: ['smsp__inst_executed.sum', 'Executed Instructions'],
  issued: ['smsp__inst_issued.sum', 'Issued Instructions'],
  l1Sectors: ['l1tex__t_sectors.sum'],
  l2Sectors: ['lts__t_sectors.sum'],
  lanes: ['smsp__thread_inst_executed_per_inst_executed.ratio', 'Avg. Active Threads Per Warp'],
} as const;
type Figure = keyof typeof NAMES;
type Launch = Partial<Record<Figure, number>>;

/** Bytes or nanoseconds in each unit. */
const UNITS: Readonly<Record<string, number>> = {
  byte: 1,
  kbyte: 1e3,
  mbyte: 1e6,
  gbyte: 1e9,
  tbyte: 1e12,
  ns: 1,
  nsecond: 1,
  us: 1e3,
  usecond: 1e3,
  ms: 1e6,
  msecond: 1e6,
  s: 1e9,
  second: 1e9,
};

/** Parses the output of `ncu --csv`: a line or, with `--page raw`, a column per metric. A kernel's launches are combined. */
export function parseProfile(text: string): Result<readonly ProfiledKernel[]> {
  const begin = /^"?ID"?,.*Kernel Name/m.exec(text);
  if (!begin)
    return badInput('The file contains no table of Nsight Compute. Write one with: ncu --csv --set full PROGRAM');
  let rows: string[][];
  try {
    // The program's own output between the records is skipped.
    const lines = text.slice(begin.index).split(/\r?\n/);
    const table = lines.filter((line, at) => at === 0 || (line.startsWith('"') && !line.startsWith('"ID"')));
    rows = parse(table.join('\n'), { relax_column_count: true, relax_quotes: true, skip_empty_lines: true });
  } catch (error) {
    return badInput(`The table of Nsight Compute cannot be read: ${errorText(error)}`);
  }
  const [head, ...records] = rows;
  const column = (name: string): number => head.indexOf(name);
  const [id, kernel, capability, metric] = ['ID', 'Kernel Name', 'CC', 'Metric Name'].map(column);
  const launches = new Map<string, { entry: string; arch: string | null; figures: Launch }>();
  const launchOf = (row: readonly string[]): Launch => {
    const key = `${row[id]} ${row[kernel]}`;
    const known = launches.get(key);
    if (known) return known.figures;
    const cc = /^(\d+)\.(\d+)$/.exec(row[capability] ?? '');
    const figures: Launch = {};
    for (const [figure, name] of [
      ['block', 'Block Size'],
      ['grid', 'Grid Size'],
    ] as const) {
      const size = product(row[column(name)] ?? '');
      if (size !== null) figures[figure] = size;
    }
    launches.set(key, { entry: row[kernel], arch: cc && `sm_${cc[1]}${cc[2]}`, figures });
    return figures;
  };
  if (metric >= 0) {
    const [unit, value] = ['Metric Unit', 'Metric Value'].map(column);
    for (const row of records) {
      if (!row[kernel]) continue;
      const launch = launchOf(row);
      const figure = figureOf(row[metric] ?? '');
      const read = figure && number(row[value] ?? '', row[unit] ?? '');
      if (figure && read !== null) launch[figure] = read;
    }
  } else {
    const figures = head.map(figureOf);
    const units = records[0]?.[id] === '' ? records.shift()! : [];
    for (const row of records) {
      if (!row[kernel]) continue;
      const launch = launchOf(row);
      figures.forEach((figure, at) => {
        const read = figure && number(row[at] ?? '', units[at] ?? '');
        if (figure && read !== null) launch[figure] = read;
      });
    }
  }
  const kernels = Map.groupBy(launches.values(), ({ entry }) => entry);
  return ok([...kernels].map(([entry, own]) => together(entry, own)));
}

const figureOf = (name: string): Figure | null =>
  (Object.keys(NAMES) as Figure[]).find((figure) => (NAMES[figure] as readonly string[]).includes(name.trim())) ?? null;

/** Parses `1,234.5`, or `1.234,5` in some languages, with a unit such as `Kbyte/block`; null for other text. */
function number(text: string, unit: string): number | null {
  const size = product(text);
  if (size !== null) return size;
  const written = text.trim();
  const isDecimalComma = /^(\d+|\d{1,3}([.\u00a0 ]\d{3})+),\d+$/.test(written) && !/^\d{1,3}(,\d{3})+$/.test(written);
  const plain = isDecimalComma ? written.replaceAll(/[.\s]/g, '').replace(',', '.') : written.replaceAll(',', '');
  if (!/^\d+(\.\d+)?(e[+-]?\d+)?$/i.test(plain)) return null;
  const value = Number(plain) * (UNITS[unit.toLowerCase().split('/', 1)[0]] ?? 1);
  return Number.isFinite(value) ? value : null;
}

function product(text: string): number | null {
  const parts = /^\((\d+),\s*(\d+),\s*(\d+)\)$/.exec(text.trim());
  return parts ? Number(parts[1]) * Number(parts[2]) * Number(parts[3]) : null;
}

function together(
  entry: string,
  own: readonly { readonly arch: string | null; readonly figures: Launch }[],
): ProfiledKernel {
  const all = own.map(({ figures }) => figures);
  const largest = (figure: Figure): number | null => {
    const values = all.flatMap((launch) => launch[figure] ?? []);
    return values.length === 0 ? null : values.reduce((a, b) => Math.max(a, b));
  };
  const sum = (figure: Figure): number | null =>
    all.every((launch) => launch[figure] !== undefined)
      ? all.reduce((total, launch) => total + launch[figure]!, 0)
      : null;
  const [dram, read, written] = [sum('dram'), sum('dramRead'), sum('dramWritten')];
  const [fixed, added] = [largest('staticShared'), largest('dynamicShared')];
  const weighed = all.filter(({ lanes }) => lanes !== undefined && lanes >= 1 && lanes <= 32);
  const duration = sum('duration');
  const weight = (launch: Launch): number => (duration === null ? 1 : launch.duration!);
  const weights = weighed.reduce((total, launch) => total + weight(launch), 0);
  return {
    entry,
    arch: own[0].arch,
    registersPerThread: largest('registers'),
    sharedMemoryBytes: fixed === null && added === null ? null : (fixed ?? 0) + (added ?? 0),
    launch: {
      launches: all.length,
      blockThreads: largest('block'),
      gridBlocks: largest('grid'),
      durationMs: duration === null ? null : duration / 1e6,
      executedInstructions: sum('executed'),
      issuedInstructions: sum('issued'),
      l1Sectors: sum('l1Sectors'),
      l2Sectors: sum('l2Sectors'),
      dramBytes: dram ?? (read === null && written === null ? null : (read ?? 0) + (written ?? 0)),
      meanActiveLanes:
        weights > 0 ? weighed.reduce((total, launch) => total + weight(launch) * launch.lanes!, 0) / weights : null,
    },
  };
}
