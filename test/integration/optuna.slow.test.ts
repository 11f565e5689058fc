import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ImportedFile } from '../../src-main/contract/measuring.ts';
import type { Design } from '../../src-workers/domain/design.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { findTool, lacks } from '../tools.mjs';
import { NOTHING_ELSE, smallStudy } from '../unit/export-runs.ts';
import { testFolder, useBench } from '../workplace.ts';
import { dataText } from '../data.ts';

/** Number of first trials, the best designs of the sweep, and of all trials, which Optuna's sampler completes. */
const [FIRST, TRIALS] = [8, 14];

/** This program runs a study of Optuna with the exported file, and prints the designs of the trials. */
const PROGRAM = dataText('python/optuna-study.py');

/** Makes one study with alternating trials on two devices, and prints all designs. The second takes 1000 more. */
const TWO_DEVICES = dataText('python/optuna-two-devices.py');

describe.skipIf(lacks('optuna'))('Optuna itself', () => {
  const bench = useBench();
  const folder = testFolder();
  const axes = { ...smallStudy().axes, unitsPerThread: [1, 2, 4] };
  const devices = ['nvidia-a100-sxm4-40gb', 'nvidia-h100-sxm5-80gb'];
  // Nothing is assumed, so the recommended design, which is the first trial, is the fastest.
  const study = smallStudy({ devices, axes, kernel: { ...smallStudy().kernel, origins: NOTHING_ELSE } });
  const python = (program: string, ...words: readonly string[]): string =>
    execFileSync(findTool('optuna')!, ['-c', program, ...words], {
      encoding: 'utf8',
      env: { ...process.env, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });

  // The next test imports a journal.
  it('begins with the best designs, and its database can be imported', async () => {
    const run = await bench.run(study);
    const document = await bench.render(run, 'optuna', { limit: 30 });
    writeFileSync(join(folder, 'exported.py'), document.text);
    const file = join(folder, 'measured.sqlite');
    const { trials, wanted, enqueued } = JSON.parse(python(PROGRAM, 'sqlite', file)) as {
      readonly trials: readonly (readonly [string, Readonly<Record<string, unknown>>])[];
      readonly wanted: readonly object[];
      readonly enqueued: readonly (readonly [rank: number, predictedMs: number])[];
    };
    // The trials of the warm start come first, in their order.
    expect(trials.slice(0, FIRST).map(([, design]) => design)).toMatchObject(wanted);
    expect(trials.map(([state]) => state)).toEqual([...Array<string>(TRIALS - 1).fill('COMPLETE'), 'FAIL']);

    const bytes = new Uint8Array(readFileSync(file));
    const ask = { fileName: 'measured.sqlite', bytes, runId: run, timeUnit: 'ms' };
    const imported = await bench.call('import.file', ask);
    expect(imported).toMatchObject({ kind: 'optuna', failed: 1, linked: { runId: run } });
    const measured = unwrap(await bench.engine.context.store.listMeasurements(imported.runId));
    const linked = new Map(measured.map(({ designIndex, design, timesMs }) => [designIndex, { design, timesMs }]));
    const page = await bench.call('ranking.page', { runId: run, limit: 1000 });
    const deviceOf = (name: string): boolean => document.text.includes(`"device": "${name}"`);
    const best = page.rows.filter(({ deviceId }) => deviceOf(deviceId)).slice(0, FIRST);
    // A design that is enqueued twice becomes one trial, with its rank and prediction.
    expect(enqueued.map(([rank]) => rank)).toEqual(best.map((_, at) => at + 1));
    for (const [at, [, ms]] of enqueued.entries()) expect(ms / best[at].predictedMs).toBeCloseTo(1, 5);
    for (const { designIndex } of best) {
      const { design, timesMs } = linked.get(designIndex)!;
      const { threadsPerUnit, blockThreads } = design as Design;
      expect(timesMs[0]).toBeCloseTo(threadsPerUnit + blockThreads / 1000, 9);
    }
  });

  // unit/services-import-optuna.test.ts links the trials of a study with one device.
  it('measures two devices in one study, and links each trial to designs of its own device', async () => {
    const run = await bench.run(study);
    for (const [at, deviceId] of devices.entries()) {
      const { text } = await bench.render(run, 'optuna', { limit: 300, deviceId });
      writeFileSync(join(folder, `device_${at}.py`), text);
    }
    const file = join(folder, 'devices.journal');
    type Trial = readonly [mark: Readonly<Record<string, unknown>>, value: number];
    const trials = JSON.parse(python(TWO_DEVICES, file)) as readonly Trial[];
    /** Returns the designs of a device with their times, in the form in which linked designs are listed. */
    const wantedOf = (deviceId: string): readonly string[] =>
      trials
        .filter(([{ device }]) => device === deviceId)
        .map(([mark, value]) => [mark.threads_per_unit, mark.block_threads, mark.balancing, mark.register_cap, value].join(' ')); // prettier-ignore
    const linkedOf = async ({ runId }: ImportedFile): Promise<readonly string[]> => {
      const measured = unwrap(await bench.engine.context.store.listMeasurements(runId));
      return measured.flatMap(({ design, designIndex, timesMs }) => {
        if (designIndex === null) return [];
        const { threadsPerUnit, blockThreads, balancing, registerCap } = design as Design;
        return [threadsPerUnit, blockThreads, balancing, registerCap ?? 0, timesMs[0]].join(' ');
      });
    };
    // Each trial belongs to the device that marks it. The sampler may choose a design that cannot run.
    for (const deviceName of devices) {
      const bytes = new Uint8Array(readFileSync(file));
      const ask = { fileName: 'devices.journal', bytes, timeUnit: 'ms', studyName: 'shared', runId: run, deviceName };
      const imported = await bench.call('import.file', ask);
      expect(imported.linked).toMatchObject({ deviceId: deviceName });
      const linked = await linkedOf(imported);
      expect(wantedOf(deviceName)).toEqual(expect.arrayContaining([...linked]));
      expect(linked.length).toBeGreaterThan(5);
      expect(imported.warnings.join(' ')).toContain(`of another device than ${deviceName}`);
    }
  });
});
