import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import Database from 'better-sqlite3';
import { readMigrations } from '../../db/migrate.ts';
import { openStore } from '../../db/store.ts';
import type { Store } from '../../db/store-api.ts';
import { unwrap, type Result } from '../../src-workers/domain/result.ts';
import { inFolder, MIGRATIONS, sampleChunk, sampleDraft } from '../db/sample.ts';
import { expectSound, goldenFile, inStore, savedParts, sweepIn, work, type Swept } from './kills.ts';
import { wholeBelow, type Report, type Section } from './report.ts';

const open = (file: string) => openStore({ file, migrationsFolder: MIGRATIONS, busyTimeoutMs: 100 });
const NEWEST = readMigrations(MIGRATIONS).length;
const NOBODY = 65534;

// Damaged files.

const DAMAGES: Readonly<Record<string, (bytes: Buffer, below: (n: number) => number) => Buffer>> = {
  'bits flipped': (bytes, below) => {
    for (let i = 1 + below(8); i > 0; i--) bytes[below(bytes.length)] ^= 1 << below(8);
    return bytes;
  },
  'bits of the header flipped': (bytes, below) => {
    bytes[below(100)] ^= 1 << below(8);
    return bytes;
  },
  truncated: (bytes, below) => bytes.subarray(0, below(bytes.length)),
  'a kilobyte of zeros': (bytes, below) => {
    const at = 1024 * below(bytes.length / 1024);
    return bytes.fill(0, at, at + 1024);
  },
  'a sector of noise': (bytes, below) => {
    const at = 512 * below(bytes.length / 512);
    for (let i = at; i < at + 512; i++) bytes[i] = below(256);
    return bytes;
  },
  'two kilobytes exchanged': (bytes, below) => {
    const [a, b] = [1024 * below(bytes.length / 1024), 1024 * below(bytes.length / 1024)];
    const page = Buffer.from(bytes.subarray(a, a + 1024));
    bytes.copyWithin(a, b, b + 1024).set(page, b);
    return bytes;
  },
  'random bytes after its end': (bytes, below) => Buffer.concat([bytes, Buffer.alloc(1 + below(5000), 0x5a)]),
};

function readAll(store: Store): readonly Result<unknown>[] {
  const runs = store.listRuns({});
  return [
    runs,
    ...(runs.ok ? runs.value.rows : []).flatMap(({ id }) => [
      store.getRun(id),
      store.loadRunColumns(id),
      store.listChunks(id),
      store.listMeasurements(id),
      store.listSimulations(id),
    ]),
    store.listStudies(),
    store.listSettings(),
    store.listDevices(),
    store.listCalibrations(),
    store.checkIntegrity(),
  ];
}

function damagedFiles(report: Report, count: number, folder: string): void {
  const below = (n: number): number => wholeBelow(report.uniform, Math.max(1, Math.floor(n)));
  let [refused, readable, partly, unseen] = [0, 0, 0, 0];
  const names = Object.keys(DAMAGES);
  const { firstDesign: _first, ...chunk } = sampleChunk(0, sampleDraft().enumeratedCount);
  const expected = { ...chunk, designs: null };
  const file = join(folder, 'damaged.db');
  // The file is made anew in the current format, because the fixtures have no digests of packed columns.
  const made = unwrap(open(file));
  const { id, enumeratedCount } = unwrap(made.store.createRun(sampleDraft()));
  for (let first = 0; first < enumeratedCount; first += 100)
    unwrap(made.store.savePredictionChunk(id, sampleChunk(first, Math.min(100, enumeratedCount - first))));
  unwrap(made.store.finishRun(id, { state: 'complete', elapsedMs: 1 }));
  made.close();
  const sound = readFileSync(file);
  for (let i = 0; i < count; i++) {
    for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true });
    const name = names[i % names.length];
    const bytes = DAMAGES[name](Buffer.from(sound), below);
    writeFileSync(file, bytes);
    const at = `damaged database ${i} of seed ${report.seed} (${name})`;
    try {
      const opened = open(file);
      if (!opened.ok) {
        refused++;
        if (opened.error.code !== 'storage') report.fail(`${at}: ${opened.error.code}: ${opened.error.message}`);
        if (!readFileSync(file).equals(bytes)) report.fail(`${at}: it was refused and changed`);
        continue;
      }
      const { store } = opened.value;
      const results = readAll(store);
      const failed = results.filter((result) => !result.ok);
      for (const { error } of failed)
        if (error.code !== 'storage' && error.code !== 'not-found')
          report.fail(`${at}: ${error.code}: ${error.message}`);
      const columns = store.loadRunColumns(1);
      const isOther = columns.ok && !isDeepStrictEqual({ ...columns.value }, expected);
      if (isOther && unwrap(store.checkIntegrity()).length === 0) {
        unseen++;
        const read: Readonly<Record<string, unknown>> = { ...columns.value };
        const other = Object.entries(expected).filter(([name, column]) => !isDeepStrictEqual(read[name], column));
        report.fail(`${at}: no error reports that ${other.map(([name]) => name).join(', ')} have changed`);
      }
      if (failed.length > 0) partly++;
      else readable++;
      opened.value.close();
    } catch (error) {
      report.fail(`${at} threw ${error instanceof Error ? error.stack : String(error)}`);
    }
  }
  report.figure('damaged databases', count);
  report.figure('refused, partly read, read', `${refused}, ${partly}, ${readable}`);
  report.figure('changed designs without an error', unseen);
}

// A whole engine, and what happens around it.

function expectSame(report: Report, at: string, file: string, expected: Swept): void {
  const swept = sweepIn(file);
  if (swept?.state !== 'complete') report.fail(`${at}: the sweep is ${swept?.state ?? 'not there'}`);
  else if (!isDeepStrictEqual(swept.parts, expected.parts) || !isDeepStrictEqual(swept.best, expected.best))
    report.fail(`${at}: the sweep has other results`);
  expectSound(report, at, file);
}

/** Returns the reason why the disk cannot be made full here; null if it can. */
function smallDisk(folder: string, megabytes: number, again: boolean): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return 'only the superuser of Linux can make a small disk';
  const options = `${again ? 'remount,' : ''}size=${megabytes}m`;
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'none', folder], { encoding: 'utf8' });
  return status === 0 ? null : `mount: ${stderr.trim()}`;
}

const isError = (line: string): boolean => /^(error|failed) /.test(line);

async function fullDisk(report: Report, folder: string, expected: Swept): Promise<void> {
  const disk = join(folder, 'disk');
  mkdirSync(disk);
  const lacking = smallDisk(disk, 1, false);
  if (lacking) return report.figure('disk full', `skipped: ${lacking}`);
  try {
    const file = join(disk, 'full.db');
    const { lines } = await work('sweep', file);
    const error = lines.find(isError);
    if (!error || !/No space is left/.test(error)) report.fail(`A full disk: ${error ?? lines.at(-1)}`);
    smallDisk(disk, 200, true);
    const before = sweepIn(file)!;
    const lost = [...before.parts].filter(([key, value]) => expected.parts.get(key) !== value);
    if (lost.length > 0) report.fail(`A full disk: ${lost.length} of ${before.parts.size} saved designs are wrong`);
    await work('sweep', file); // This resumes the run.
    expectSame(report, 'After a full disk', file, expected);
    const saved = before.parts.size.toLocaleString('en');
    report.figure('disk full', `${saved} designs were saved; resumed to the same results`);
  } finally {
    spawnSync('umount', [disk]);
  }
}

/**
 * Opens a file, and a file in a folder, that a user without privileges may only read: to write in it, and to read it.
 */
function readOnly(report: Report, folder: string): void {
  if (process.platform === 'win32') return report.figure('read-only', 'skipped: Windows has other rights');
  const root = process.getuid?.() === 0;
  const inner = join(folder, 'read-only');
  const file = join(inner, 'lockstep.db');
  mkdirSync(inner);
  copyFileSync(goldenFile(NEWEST), file);
  unwrap(open(file)).close(); // The file now has a format with a log.
  chmodSync(folder, 0o755);
  if (root) for (const path of [file, inner]) chownSync(path, NOBODY, NOBODY);
  const opening = `
    const { openStore } = await import(${JSON.stringify(join(import.meta.dirname, '../../db/store.ts'))});
    if (${root}) process.setuid(${NOBODY});
    const reads = process.argv[1] === 'true';
    const opened = openStore({ ...${JSON.stringify({ file, migrationsFolder: MIGRATIONS })}, reads });
    const { error } = opened.ok ? opened.value.store.saveSetting('theme', 'dark') : opened;
    console.log(opened.ok ? opened.value.store.listRuns({}).value.total + ' runs, ' : '', error.message);`;
  const check = (reads: boolean, expected: RegExp): void => {
    const said = spawnSync(process.execPath, ['--input-type=module', '-e', opening, `${reads}`], { encoding: 'utf8' });
    if (!expected.test(said.stdout)) report.fail(`Not ${String(expected)}: ${said.stdout}${said.stderr}`);
  };
  const before = readFileSync(file);
  for (const path of [file, inner]) {
    chmodSync(path, 0o500);
    check(false, path === file ? /db is read-only/ : /the folder .* is read-only/);
    check(true, /^3 runs, .* cannot be written/);
    chmodSync(path, 0o700);
  }
  if (!readFileSync(file).equals(before)) report.fail('A read-only file was changed.');
  writeFileSync(file, readFileSync(goldenFile(NEWEST - 1))); // A copy would get another owner.
  chmodSync(file, 0o400);
  check(true, /^ .* because an older version of Lockstep made it/);
  report.figure('read-only file, read-only folder', 'read without changes, but not opened for writing');
}

/** Lets another program hold the lock, once for less time and once for more time than a store waits for it. */
async function locked(report: Report, folder: string, expected: Swept): Promise<void> {
  for (const ms of [1500, 9000]) {
    const file = join(folder, `locked-${ms}.db`);
    unwrap(open(file)).close();
    const other = new Database(file);
    const sweeping = work('sweep', file);
    // The lock should be held while chunks are saved. It may also come before the first chunk or after the last.
    await setTimeout(1200);
    other.pragma('busy_timeout = 20000');
    other.exec('BEGIN IMMEDIATE');
    await setTimeout(ms);
    other.exec('ROLLBACK');
    other.close();
    const { lines } = await sweeping;
    const error = lines.find(isError);
    if (error && !/locked by another program/.test(error)) report.fail(`Locked for ${ms} ms: ${error}`);
    if (error) await work('sweep', file); // This begins or resumes the run.
    expectSame(report, `Locked for ${ms} ms`, file, expected);
    const end = error ? 'reported; the run was resumed to the same results' : 'waited';
    report.figure(`locked by another program for ${ms} ms`, end);
  }
}

function expectDone(report: Report, at: string, { lines }: { readonly lines: readonly string[] }): void {
  if (!lines.some((line) => line.startsWith('done complete'))) report.fail(`${at}: ${lines.at(-1)}`);
}

async function noMemory(report: Report, folder: string, expected: Swept): Promise<void> {
  const file = join(folder, 'memory.db');
  const other = join(import.meta.dirname, 'storage-worker.ts');
  const starved = await work('sweep', file, { other, flags: ['--max-old-space-size=200'] });
  const mark = join(tmpdir(), `lockstep-verify-memory-${starved.pid}`);
  if (!existsSync(mark)) report.fail('No worker ran out of memory.');
  rmSync(mark, { force: true });
  expectDone(report, 'A worker out of memory', starved);
  expectSame(report, 'A worker out of memory', file, expected);
  report.figure('worker out of memory', 'another worker did its task');
}

async function jumpingClock(report: Report, folder: string, expected: Swept): Promise<void> {
  const flags = ['--import', join(import.meta.dirname, 'storage-clock.ts')];
  for (let i = 0; i < 6; i++) {
    const file = join(folder, `clock-${i}.db`);
    const kill = i === 0 ? null : ({ after: 'ready', ms: 1000 * report.uniform(), whom: 'engine' } as const);
    if (kill) await work('sweep', file, { flags, kill });
    expectDone(report, 'Clock jumps', await work('sweep', file, { flags }));
    expectSame(report, 'Clock jumps', file, expected);
  }
  report.figure('clock jumps of up to 10 years (a mocked clock), 5 kills', 'the same results');
}

async function twoPrograms(report: Report, folder: string, expected: Swept): Promise<void> {
  const file = join(folder, 'shared.db');
  for (const one of await Promise.all([work('sweep', file), work('sweep', file)]))
    expectDone(report, 'Two programs on one store', one);
  const sweeps = inStore(file, (store) =>
    unwrap(store.listRuns({})).rows.flatMap(({ id, name }) =>
      name === 'Killed' ? savedParts(store, 'sweep', id) : [],
    ),
  );
  const same = sweeps.filter((one) => isDeepStrictEqual(one, expected.parts));
  if (same.length !== 2)
    report.fail(`Two programs on one store: ${same.length} of ${sweeps.length} sweeps have the results`);
  expectSame(report, 'Two programs on one store', file, expected);
  report.figure('two programs on one store', 'both with the same results');
}

const AROUND = { fullDisk, readOnly, locked, noMemory, jumpingClock, twoPrograms };

export async function verifyStorage(
  report: Report,
  files: number,
  around = Object.keys(AROUND) as readonly (keyof typeof AROUND)[],
): Promise<void> {
  await inFolder(async (folder) => {
    damagedFiles(report, files, folder);
    const file = join(folder, 'sound.db');
    await work('sweep', file);
    const expected = sweepIn(file)!;
    for (const name of around) await AROUND[name](report, folder, expected);
  });
}

export const section: Section = {
  what: 'damaged and locked files, a full disk, no memory, a jumping clock',
  amount: { full: 1400, quick: 70, unit: 'damaged databases' },
  run: verifyStorage,
};
