import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { openStore } from '../../db/store.ts';
import type { Store } from '../../db/store-api.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { inFolder, MIGRATIONS, sampleBest, sampleChunk } from '../db/sample.ts';
import { findTool } from '../tools.mjs';
import { inSeconds, oneOf, type Report, type Section } from './report.ts';

/** Kinds of work during which the engine's process is killed, and with it a program that measures. */
const WORKS = ['sweep', 'simulate', 'measure', 'import', 'migrate'] as const;
type Work = (typeof WORKS)[number];

const KIND = { sweep: 'sweep', simulate: 'simulate', measure: 'bench' } as const;
const IMPORTED_ROWS = 10_000;
const GOLDEN = join(import.meta.dirname, '../data/store');
/** Time within which a measuring program must end after its engine, ms. */
const ORPHAN_LIMIT_MS = 20_000;

interface Outcome {
  readonly pid: number;
  readonly lines: readonly string[];
  readonly startMs: number;
  readonly workMs: number;
  readonly killed: boolean;
}

/** When to kill, counted from the start of the process or from the time when it is ready, and what to kill. */
interface Kill {
  readonly after: 'start' | 'ready';
  readonly ms: number;
  readonly whom: 'engine' | 'program';
}

export async function work(
  what: Work,
  file: string,
  options: { readonly other?: string; readonly kill?: Kill | null; readonly flags?: readonly string[] } = {},
): Promise<Outcome> {
  const { other = '', kill = null, flags = [] } = options;
  const start = performance.now();
  const words = [...flags, join(import.meta.dirname, 'kill-child.ts'), what, file, other];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  const pid = child.pid!;
  const exited = once(child, 'exit');
  let killed = false;
  const strike = (): void => {
    if (kill?.whom === 'engine') killed = child.kill('SIGKILL');
    else
      for (const one of childrenOf(pid)) {
        process.kill(one, 'SIGKILL');
        killed = true;
      }
  };
  let timer: NodeJS.Timeout | undefined;
  if (kill?.after === 'start') timer = setTimeout(strike, kill.ms);
  let [output, readyAt, doneAt] = ['', 0, 0];
  let complaint = '';
  child.stderr.on('data', (data: Buffer) => void (complaint += data.toString()));
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (text: string) => {
    output += text;
    if (readyAt === 0 && output.startsWith('ready\n')) {
      readyAt = performance.now();
      if (kill?.after === 'ready') timer = setTimeout(strike, kill.ms);
    }
    if (doneAt === 0 && output.includes('\ndone ')) doneAt = performance.now();
  });
  await Promise.all([exited, once(child.stdout, 'close'), once(child.stderr, 'close')]);
  clearTimeout(timer);
  if (!killed && child.exitCode !== 0) output += `\nfailed ${complaint.replaceAll('\n', ' ')}\n`;
  // A line that the kill cut off does not count as reported.
  const lines = output.split('\n').slice(0, -1);
  return { pid, lines, startMs: readyAt - start, workMs: doneAt - readyAt, killed };
}

function childrenOf(pid: number): readonly number[] {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) return [];
  return readdirSync(tasks).flatMap((task) => {
    const list = `${tasks}/${task}/children`;
    return existsSync(list) ? readFileSync(list, 'utf8').trim().split(' ').filter(Boolean).map(Number) : [];
  });
}

/** Returns the command lines of programs that still measure for an engine, found by the folder of their plan. */
function measuringFor(pid: number): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
      } catch {
        return []; // The process ended in the meantime.
      }
    })
    .filter((line) => new RegExp(`lockstep-plan-\\S*-${pid}-`).test(line));
}

/** Opens the store of a file that no process has open, and reads or changes it. */
export function inStore<T>(file: string, body: (store: Store) => T): T {
  const open = unwrap(openStore({ file, migrationsFolder: MIGRATIONS }));
  try {
    return body(open.store);
  } finally {
    open.close();
  }
}

/** Returns the parts that a run has saved, as texts by name. */
export function savedParts(store: Store, what: keyof typeof KIND, runId: number): ReadonlyMap<string, string> {
  const designs = (rows: readonly { readonly designIndex: number | null }[]): ReadonlyMap<string, string> =>
    new Map(rows.map((row) => [`${row.designIndex}`, JSON.stringify(row)]));
  if (what === 'simulate') return designs(unwrap(store.listSimulations(runId)));
  if (what === 'measure') return designs(unwrap(store.listMeasurements(runId)));
  const chunks = unwrap(store.listChunks(runId));
  if (chunks.length === 0) return new Map();
  const columns = unwrap(store.loadRunColumns(runId));
  const arrays = Object.values(columns).filter((column) => ArrayBuffer.isView(column)) as Float64Array[];
  const parts = new Map<string, string>();
  for (const { firstDesign, count } of chunks)
    for (let design = firstDesign; design < firstDesign + count; design++)
      parts.set(`${design}`, arrays.map((column) => column[design]).join());
  return parts;
}

export interface Swept {
  readonly parts: ReadonlyMap<string, string>;
  readonly best: unknown;
  readonly state: string;
}

export const sweepIn = (file: string): Swept | null =>
  inStore(file, (store) => {
    const run = unwrap(store.listRuns({})).rows.findLast(({ kind }) => kind === 'sweep');
    return run ? { parts: savedParts(store, 'sweep', run.id), best: run.best, state: run.state } : null;
  });

/** Returns the output of Debian's `sqlite3` for a check of the file. It is `ok` if nothing is wrong. */
export function soundBySqlite(file: string): string {
  if (findTool('sqlite3') === null) return 'ok\n';
  const checks = 'PRAGMA integrity_check; PRAGMA foreign_key_check;';
  const { stdout, stderr } = spawnSync('sqlite3', [file, checks], { encoding: 'utf8' });
  return stdout + stderr;
}

export function expectSound(report: Report, at: string, file: string): void {
  const verdict = soundBySqlite(file);
  if (verdict !== 'ok\n') report.fail(`${at}: integrity_check says ${verdict.trim()}`);
}

/** Checks that an old file, once opened, contains the sample that its program wrote. */
export function checkGolden(store: Store, version: number): readonly string[] {
  const run = unwrap(store.getRun(1));
  const { firstDesign: _first, ...columns } = sampleChunk(0, run.enumeratedCount);
  const wrong: string[] = [];
  const hold = (what: string, is: unknown, expected: unknown = true): void =>
    void (isDeepStrictEqual(is, expected) || wrong.push(what));
  hold('the run', run.name === 'sample' && run.state === 'complete' && run.elapsedMs === 12.5 && run.studyId === 1);
  hold('its tags', run.tags, ['golden']);
  hold('its designs', { ...unwrap(store.loadRunColumns(1)) }, { ...columns, designs: null });
  hold('the settings', unwrap(store.listSettings()), { theme: 'dark' });
  const measured = unwrap(store.listMeasurementsOf(1)).map((record) => record.timesMs);
  hold('the measurements', measured, version < 2 ? [] : [[1.5, 1.25]]);
  const calibrations = unwrap(store.listCalibrations()).map((record) => record.name);
  hold('the calibrations', calibrations, version < 2 ? [] : ['golden']);
  if (version >= 3) hold('the source of a run', unwrap(store.getRun(2)).sourceRunId, 1);
  if (version >= 5) {
    const { predicted, picked, ...best } = sampleBest();
    hold('the best designs', { ...unwrap(store.loadRunColumns(3)) }, { ...best, count: best.designs.length });
    hold('the number of predicted designs', unwrap(store.getRun(3)).kept, { wanted: 3, predicted, picked });
  }
  hold('the integrity', unwrap(store.checkIntegrity()), []);
  return wrong;
}

export const goldenVersions = (): readonly number[] =>
  readdirSync(GOLDEN)
    .flatMap((name) => /^v(\d+)\.sqlite$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
export const goldenFile = (version: number): string => join(GOLDEN, `v${version}.sqlite`);

interface Tally {
  kills: number;
  programs: number;
  resumed: number;
}

/** Counts an attempt if it killed the work, and reports it if it failed. */
function count(report: Report, at: string, { killed, lines }: Outcome, tally: Tally): number {
  for (const line of lines.filter((one) => one.startsWith('failed '))) report.fail(`${at}: ${line}`);
  tally.kills += Number(killed);
  return Number(killed);
}

/** Kills one kind of work repeatedly. A killed run is resumed and killed again, until it is complete. */
async function killRuns(
  report: Report,
  what: keyof typeof KIND,
  kills: number,
  folder: string,
  tally: Tally,
): Promise<void> {
  const { uniform } = report;
  const file = join(folder, `${what}.db`);
  const runOf = (store: Store) => unwrap(store.listRuns({})).rows.findLast((run) => run.kind === KIND[what]);

  // The first run is not killed. It shows the duration and the expected results, and predicts the runs to simulate.
  const whole = await work(what, file);
  const [expected, best] = inStore(file, (store) => {
    const run = runOf(store)!;
    return [savedParts(store, what, run.id), run.best];
  });
  report.say(`${what}: ${expected.size} parts in ${inSeconds(whole.workMs)}, ready after ${inSeconds(whole.startMs)}`);
  const fresh = (): void => {
    if (what === 'sweep') for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true });
    else inStore(file, (store) => unwrap(store.deleteRuns(unwrap(store.listRuns({})).rows.filter(({ kind }) => kind === KIND[what]).map(({ id }) => id)))); // prettier-ignore
  };

  let saved: ReadonlyMap<string, string> = new Map();
  let killed = 0;
  let wasKilled = false;
  let state: string | null = null;
  fresh();
  for (let attempt = 0; killed < kills && attempt < 4 * kills; attempt++) {
    const after = uniform() < 0.2 ? 'start' : 'ready';
    const ms = (after === 'start' ? whole.startMs : 0.7 * whole.workMs) * uniform();
    const whom = what === 'measure' && after === 'ready' && uniform() < 0.4 ? 'program' : 'engine';
    const at = `${what}, seed ${report.seed}, attempt ${attempt}, ${whom} killed ${ms.toFixed(0)} ms after ${after}`;
    const outcome = await work(what, file, { kill: { after, ms, whom } });
    killed += count(report, at, outcome, tally);
    if (outcome.killed && whom === 'program') tally.programs++;
    const done = outcome.lines.find((line) => line.startsWith('done '))?.split(' ');
    // A process that is killed early has made no file.
    if (existsSync(file)) expectSound(report, at, file);
    inStore(file, (store) => {
      // If the process was killed early, there is no run yet.
      const run = runOf(store);
      const now = run ? savedParts(store, what, run.id) : new Map<string, string>();
      const reported = Math.max(
        0,
        ...outcome.lines.flatMap((line) => (line.startsWith(`saved ${run?.id} `) ? Number(line.split(' ')[2]) : [])),
      );
      if (now.size < reported) report.fail(`${at}: ${reported} parts were reported as saved, but ${now.size} exist`);
      const lost = [...saved].filter(([key, value]) => now.get(key) !== value);
      if (lost.length > 0) report.fail(`${at}: ${lost.length} saved parts are lost or changed`);
      // If the process was killed before it resumed the run, the run still has the state of the previous attempt.
      if (outcome.killed && whom === 'engine' && !done && run && run.state !== 'interrupted' && run.state !== state)
        report.fail(`${at}: the run is ${run.state}, not interrupted`);
      state = run?.state ?? null;
      saved = now;
      if (done?.[1] !== 'complete' || !run) return;
      if (wasKilled) tally.resumed++;
      if (now.size !== expected.size)
        report.fail(`${at}: the run is complete with only ${now.size} of ${expected.size} parts`);
      // Measured times differ from run to run, but computed values do not.
      if (what === 'measure') return;
      if (!isDeepStrictEqual(new Map(now), new Map(expected)))
        report.fail(`${at}: the run is complete with other results`);
      if (!isDeepStrictEqual(run.best, best)) report.fail(`${at}: the best design has changed`);
    });
    wasKilled = outcome.killed;
    if (what === 'measure' && outcome.killed && whom === 'engine') {
      const end = performance.now() + ORPHAN_LIMIT_MS;
      while (measuringFor(outcome.pid).length > 0 && performance.now() < end)
        await new Promise((resolve) => setTimeout(resolve, 200));
      for (const line of measuringFor(outcome.pid)) report.fail(`${at}: still runs: ${line}`);
    }
    if (done?.[1] === 'complete') {
      fresh();
      [saved, wasKilled, state] = [new Map(), false, null];
    } else if (done && done[1] !== 'complete' && whom === 'engine') report.fail(`${at}: ended as ${done.join(' ')}`);
  }
  if (killed < kills) report.fail(`${what}: only ${killed} of ${kills} kills happened during the work`);
}

/** Kills imports. An import must exist completely, or not at all. */
async function killImports(report: Report, kills: number, folder: string, tally: Tally): Promise<void> {
  const { uniform } = report;
  const file = join(folder, 'import.db');
  const times = join(folder, 'cache.json');
  const row = (i: number) => ({ block: 32 + i, time: 1 + i / 7, times: [1 + i / 7] });
  const entries = Array.from({ length: IMPORTED_ROWS }, (_, i) => [`${i}`, row(i)]);
  const cache = Object.fromEntries(entries) as object;
  writeFileSync(times, JSON.stringify({ device_name: 'x', kernel_name: 'k', tune_params_keys: ['block'], cache }));
  const whole = await work('import', file, { other: times });
  report.say(`import: ${IMPORTED_ROWS} rows in ${inSeconds(whole.workMs)}, ready after ${inSeconds(whole.startMs)}`);
  let complete = 1;
  for (let killed = 0, attempt = 0; killed < kills && attempt < 4 * kills; attempt++) {
    const after = uniform() < 0.2 ? 'start' : 'ready';
    const ms = (after === 'start' ? whole.startMs : 0.95 * whole.workMs) * uniform();
    const at = `import, seed ${report.seed}, attempt ${attempt}, killed ${ms.toFixed(0)} ms after ${after}`;
    const outcome = await work('import', file, { other: times, kill: { after, ms, whom: 'engine' } });
    killed += count(report, at, outcome, tally);
    if (outcome.lines.some((line) => line.startsWith('saved '))) complete++;
    expectSound(report, at, file);
    inStore(file, (store) => {
      const imports = unwrap(store.listRuns({})).rows.filter(({ kind }) => kind === 'import');
      const rowsOf = ({ id }: (typeof imports)[number]): number => unwrap(store.listMeasurements(id)).length;
      const halves = imports.filter((run) => run.state !== 'complete' || rowsOf(run) !== IMPORTED_ROWS);
      if (halves.length > 0) report.fail(`${at}: ${halves.length} imports are incomplete`);
      // An import may have been saved just before the kill, without being reported.
      if (imports.length < complete)
        report.fail(`${at}: ${complete} imports were reported, but ${imports.length} exist`);
      unwrap(store.deleteRuns(imports.map(({ id }) => id)));
      unwrap(store.purgeDeleted());
    });
    complete = 0;
  }
}

async function killMigrations(report: Report, kills: number, folder: string, tally: Tally): Promise<void> {
  const { uniform } = report;
  for (let killed = 0, attempt = 0, workMs = 0; killed < kills && attempt < 4 * kills; attempt++) {
    const version = oneOf(uniform, goldenVersions().slice(0, -1));
    const file = join(folder, `migrate-${attempt}.db`);
    copyFileSync(goldenFile(version), file);
    const ms = workMs * uniform();
    const at = `migrate, seed ${report.seed}, attempt ${attempt}, version ${version} killed after ${ms.toFixed(0)} ms`;
    const kill = attempt === 0 ? null : ({ after: 'ready', ms, whom: 'engine' } as const);
    const outcome = await work('migrate', file, { kill });
    if (attempt === 0) workMs = outcome.workMs;
    killed += count(report, at, outcome, tally);
    for (const wrong of inStore(file, (store) => checkGolden(store, version)))
      report.fail(`${at}: ${wrong} has changed`);
    // Older SQLite programs warn about files before version 4, but this file has the newest version by now.
    expectSound(report, at, file);
  }
}

export async function verifyKills(report: Report, kills: number, works: readonly Work[] = WORKS): Promise<void> {
  const tally: Tally = { kills: 0, programs: 0, resumed: 0 };
  await inFolder(async (folder) => {
    for (const [i, what] of works.entries()) {
      const share = Math.floor(kills / works.length) + Number(i < kills % works.length);
      const before = tally.kills;
      if (what === 'import') await killImports(report, share, folder, tally);
      else if (what === 'migrate') await killMigrations(report, share, folder, tally);
      else await killRuns(report, what, share, folder, tally);
      report.figure(`kills: ${what}`, tally.kills - before);
    }
  });
  report.figure('kills', tally.kills);
  if (works.includes('measure')) report.figure('kills of the measuring program among these', tally.programs);
  report.figure('killed runs resumed to their end', tally.resumed);
  const checker = findTool('sqlite3') === null ? 'SQLite in Lockstep (no sqlite3 here)' : "Debian's sqlite3";
  report.figure('checked by', checker);
}

export const section: Section = {
  what: 'kill -9 at random moments: no saved result is lost, and runs resume to the same results',
  amount: { full: 200, quick: 10, unit: 'kills' },
  run: verifyKills,
};
