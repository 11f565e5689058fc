import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'csv-parse/sync';
import type { RankPage } from '../../src-main/contract/api.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import type { OpenEngine } from '../../src-main/services/engine.ts';
import type { Design } from '../../src-workers/domain/design.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { inFolder } from '../db/sample.ts';
import { findTool } from '../tools.mjs';
import { call, ended, testEngine } from '../unit/engine-calls.ts';
import { DEVICES, randomStudy } from '../unit/random-studies.ts';
import { inSeconds, oneOf, wholeBelow, type Report, type Section } from './report.ts';
import { dataText, encode } from '../data.ts';

/** Number of designs that are measured in a round trip of a study, here and in `trip-choose.py`. */
const SAMPLE = 100;
/** Rows of a ranking that are listed for each study. This is the largest page. */
const LISTED = 1000;

type Fields = Readonly<Record<string, unknown>>;
/** A file that comes back from a tuner, with the expected design of each configuration, in the order of their times. */
interface Trip {
  readonly fileName: string;
  readonly bytes: Uint8Array;
  readonly wanted: readonly Fields[];
  /** Devices named by consecutive imports of the file; `null` means that an import names none. */
  readonly devices: readonly (string | null)[];
  /** True if every configuration must be found, because none was changed. */
  readonly whole: boolean;
}

/** Returns the time of configuration `at`. The time identifies the configuration, because no prediction is so round. */
const timeOf = (at: number): number => at + 1.25;

/** Python code that chooses designs of an exported module, measures them and prints them. */
const CHOOSE = dataText('python/trip-choose.py');
const KERNEL_TUNER = CHOOSE + dataText('python/trip-kernel-tuner.py');
const OPTUNA = CHOOSE + dataText('python/trip-optuna.py');

function tripStudy({ uniform }: Report): StudyFile {
  const study = randomStudy(uniform);
  const devices = [...new Set([...study.devices, oneOf(uniform, DEVICES)])];
  const second = { name: 'cached', kernel: { registersPerThread: 56 } };
  return { ...study, devices, ...(uniform() < 0.4 && { implementations: [{ name: 'plain' }, second] }) };
}

/** Values that a user may write by mistake. Values of other designs are also used. */
const STRAY = [0, -1, 1, 2, 3, 48, 64, 100, 256, 1e12, 0.5, 'none', 'dynamic-fetch', 'nested', 'x'];

/** Fills times into some rows of a run's table, as a user does, and changes values in some rows. */
function csvTrip(report: Report, text: string, devices: readonly string[], changed: boolean): Trip {
  const { uniform } = report;
  const [header, ...lines] = text.trim().split('\n');
  const names = header.split(',');
  const own = ['threads_per_unit', 'units_per_thread', 'loop', 'balancing', 'block_threads', 'grid_blocks'];
  const wanted: Fields[] = [];
  const rows = lines.map((line) => {
    if (wanted.length === SAMPLE || uniform() > (1.5 * SAMPLE) / lines.length) return `${line},`;
    const fields = splitCsv(line);
    if (changed) {
      const at = names.indexOf(oneOf(uniform, own));
      fields[at] = uniform() < 0.5 ? String(oneOf(uniform, STRAY)) : splitCsv(oneOf(uniform, lines))[at];
    }
    wanted.push(designOf(Object.fromEntries(names.map((name, at) => [name, fields[at]]))));
    return `${fields.map((field) => (field.includes(',') ? `"${field}"` : field)).join(',')},${timeOf(wanted.length - 1)}`;
  });
  const bytes = encode([`${header},measured_ms`, ...rows, ''].join('\n'));
  return { fileName: 'measured.csv', bytes, wanted, devices, whole: !changed };
}
const splitCsv = (line: string): string[] => parse(line)[0];

function designOf(row: Readonly<Record<string, string>>): Fields {
  const cap = row.register_cap;
  // Blocks and units per thread determine each other. A 0 means that the value follows from the other value.
  const [rounds, blocks] = [Number(row.units_per_thread), Number(row.grid_blocks)];
  return {
    deviceId: row.device,
    ...(row.implementation && { implementation: row.implementation }),
    threadsPerUnit: Number(row.threads_per_unit),
    ...(rounds !== 0 && { unitsPerThread: rounds }),
    loop: row.loop,
    balancing: row.balancing,
    blockThreads: Number(row.block_threads),
    ...(blocks !== 0 && { gridBlocks: blocks }),
    registerCap: ['', 'none'].includes(cap) ? null : Number(cap),
  };
}

interface T4 {
  readonly results: { times: { runtimes: number[] }; measurements: { name: string; value: number; unit: string }[] }[];
}
function t4Trip({ uniform }: Report, text: string, { rows }: RankPage, devices: readonly string[]): Trip {
  const file = JSON.parse(text) as T4;
  const wanted: Fields[] = [];
  const results = file.results.filter((result, at) => {
    if (wanted.length === SAMPLE || uniform() > (1.5 * SAMPLE) / rows.length) return false;
    const time = timeOf(wanted.length);
    result.times.runtimes = [time];
    result.measurements = [{ name: 'time', value: time, unit: 'ms' }];
    wanted.push({ ...rows[at].design, deviceId: rows[at].deviceId });
    return true;
  });
  const bytes = encode(JSON.stringify({ ...file, results }));
  return { fileName: 'measured.json', bytes, wanted, devices, whole: true };
}

const REFUSED =
  /^([\d,]+) configurations? (?:of [\d,]+ (?:is|are) no design of run|(?:is|are) of another device than|maps? to a design for which a faster)/;
const ELSEWHERE = /of another device than|to a design for which a faster/;

/**
 * Imports a file for each device. Each configuration must become its design, or be refused. Returns the linked ones.
 */
async function travel(report: Report, engine: OpenEngine, runId: number, pair: string, trip: Trip): Promise<number> {
  const { fileName, bytes, wanted, devices, whole } = trip;
  const fail = (message: string): void => report.fail(`${pair}, run ${runId}: ${message}`);
  const linked = new Set<number>();
  for (const device of devices) {
    const input = { fileName, bytes, runId, timeUnit: 'ms', ...(device !== null && { deviceName: device }) };
    const result = await engine.call('import.file', input as never);
    if (!result.ok) {
      // No configuration is a design of the run, and the message must say so.
      const { code, message } = result.error;
      if (whole || code !== 'conflict' || !/^none of [\d,]+ configurations? /.test(message)) fail(message);
      continue;
    }
    const imported = result.value;
    const records = unwrap(await engine.context.store.listMeasurements(imported.runId));
    let alone = 0;
    for (const { designIndex, design, timesMs } of records) {
      if (designIndex === null) {
        alone += 1;
        continue;
      }
      for (const time of timesMs) {
        const at = time - 1.25;
        const found: Fields = { ...(design as Design), deviceId: imported.linked!.deviceId };
        const fields = Object.entries(wanted[at] ?? { time: 0 });
        const wrong = fields.some(([name, value]) => !isDeepStrictEqual(found[name], value));
        if (wrong) fail(`${JSON.stringify(wanted[at])} became ${JSON.stringify(found)}`);
        linked.add(at);
      }
    }
    const said = imported.warnings.map((warning) => REFUSED.exec(warning)).filter((one) => one !== null);
    const explained = said.reduce((sum, [, count]) => sum + Number(count.replaceAll(',', '')), 0);
    if (explained !== alone) fail(`${alone} configurations have no link, but the message counts ${explained}`);
    const lost = imported.warnings.filter((warning) => REFUSED.test(warning) && !ELSEWHERE.test(warning));
    if (whole && lost.length > 0) fail(lost.join(' '));
  }
  return linked.size;
}

/** Exports random designs to each format for measuring, and imports them again. */
export async function verifyTrips(report: Report, amount: number): Promise<void> {
  const [python, withOptuna] = [findTool('python3'), findTool('optuna')];
  if (python === null) report.say('Kernel Tuner is left out: there is no python3');
  if (withOptuna === null) report.say('Optuna is left out: no Python has it');
  const totals = new Map<string, { designs: number; linked: number }>();
  await inFolder(async (folder) => {
    const engine = await testEngine(join(folder, 'trips.db'), { workers: 2 });
    const designs = (): number => Math.min(...[...totals.values()].map((one) => one.designs), Infinity);
    for (let studies = 0; totals.size === 0 || designs() < amount; studies++) {
      const study = tripStudy(report);
      const start = performance.now();
      const run = await ended(engine, 'runs.start', { study });
      const page = await call(engine, 'ranking.page', { runId: run.id, limit: LISTED });
      if (page.rows.length === 0) continue;
      const whole = async (format: 'csv' | 't4'): Promise<string> => {
        const input = { runId: run.id, format, limit: LISTED };
        let { text, next } = await call(engine, 'export.render', input);
        while (next !== undefined) {
          const more = await call(engine, 'export.next', { next });
          text += more.text;
          next = more.next;
        }
        return text;
      };
      const csv = await whole('csv');
      const trips: [string, Trip][] = [
        ['CSV', csvTrip(report, csv, study.devices, false)],
        ['CSV with changed values', csvTrip(report, csv, study.devices, true)],
        ['T4', t4Trip(report, await whole('t4'), page, study.devices)],
      ];
      const tuned = async (format: 'kernel-tuner' | 'optuna', program: string, runner: string): Promise<void> => {
        const rendered = await engine.call('export.render', { runId: run.id, format, limit: 10_000 });
        // A sweep may have no design that a tuner can launch.
        if (!rendered.ok) return;
        writeFileSync(join(folder, 'exported.py'), rendered.value.text);
        const file = join(folder, `${studies}.${format}`);
        const out = execFileSync(runner, ['-c', program, file, String(wholeBelow(report.uniform, 2 ** 31))], {
          encoding: 'utf8',
          env: { ...process.env, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' },
          stdio: ['ignore', 'pipe', 'ignore'],
        });
        const wanted = JSON.parse(out) as readonly Fields[];
        const bytes = new Uint8Array(readFileSync(file));
        const trip = { fileName: 'measured', bytes, wanted, devices: [null], whole: true };
        trips.push([format === 'optuna' ? 'Optuna' : 'Kernel Tuner', trip]);
      };
      if (python !== null) await tuned('kernel-tuner', KERNEL_TUNER, python);
      if (withOptuna !== null) await tuned('optuna', OPTUNA.replace('UNITS', `${study.workload.units}`), withOptuna);
      for (const [pair, trip] of trips) {
        if (trip.wanted.length === 0) continue;
        const linked = await travel(report, engine, run.id, pair, trip);
        const total = totals.get(pair) ?? { designs: 0, linked: 0 };
        totals.set(pair, { designs: total.designs + trip.wanted.length, linked: total.linked + linked });
      }
      report.say(`study ${studies}: ${page.total} designs, ${inSeconds(performance.now() - start)}`);
    }
    await engine.close();
  });
  for (const [pair, { designs, linked }] of totals) {
    report.figure(pair, `${linked} of ${designs} linked, ${designs - linked} refused with their reason`);
    if (linked === 0) report.fail(`${pair}: nothing was linked`);
  }
}

export const section: Section = {
  what: 'random designs exported to CSV, T4, Kernel Tuner and Optuna, and imported: each is found or refused with a reason',
  amount: { full: 1000, quick: 50, unit: 'designs of each format' },
  run: verifyTrips,
};
