import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ImportedFile } from '../../src-main/contract/measuring.ts';
import type { Design } from '../../src-workers/domain/design.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { findTool, lacks } from '../tools.mjs';
import { smallStudy } from '../unit/export-runs.ts';
import { testFolder, useBench } from '../workplace.ts';
import { dataText } from '../data.ts';

/** The first trials are the best designs of the sweep, and Optuna's sampler chooses the others. */
const [FIRST, TRIALS] = [8, 14];

/** Runs a study of Optuna with the exported file, and prints the designs of its trials. */
const PROGRAM = dataText('python/optuna-study.py');

/**
 * Makes studies of two devices in one storage, and one study that both share with alternating trials. Prints the
 * designs of all trials. The times of the second device are longer by 1000.
 */
const TWO_DEVICES = dataText('python/optuna-two-devices.py');

describe.skipIf(lacks('optuna'))('Optuna itself', () => {
  const bench = useBench();
  const folder = testFolder();
  /** Returns the output of a program that imports exported files. */
  const python = (program: string, ...words: readonly string[]): string =>
    execFileSync(findTool('optuna')!, ['-c', program, ...words], {
      encoding: 'utf8',
      env: { ...process.env, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });

  it.each(['sqlite', 'journal'])('begins with the best designs, and its %s storage can be imported', async (kind) => {
    const axes = { ...smallStudy().axes, unitsPerThread: [1, 2, 4] };
    const devices = ['nvidia-a100-sxm4-40gb', 'nvidia-h100-sxm5-80gb'];
    const run = await bench.run(smallStudy({ devices, axes }));
    const document = await bench.render(run, 'optuna', { limit: 30 });
    writeFileSync(join(folder, 'exported.py'), document.text);
    const file = join(folder, `measured.${kind}`);
    const said = python(PROGRAM, kind, file);
    const { trials, wanted } = JSON.parse(said) as {
      readonly trials: readonly (readonly [string, Readonly<Record<string, unknown>>])[];
      readonly wanted: readonly object[];
    };
    // The trials of the warm start come first and in their order.
    expect(trials.slice(0, FIRST).map(([, design]) => design)).toMatchObject(wanted);
    expect(trials.map(([state]) => state)).toEqual([...Array<string>(TRIALS - 1).fill('COMPLETE'), 'FAIL']);

    const imported = await bench.call('import.file', {
      fileName: `measured.${kind}`,
      bytes: new Uint8Array(readFileSync(file)),
      runId: run,
      timeUnit: 'ms',
    });
    expect(imported).toMatchObject({ kind: 'optuna', failed: 1, linked: { runId: run } });
    const measured = unwrap(await bench.engine.context.store.listMeasurements(imported.runId));
    const linked = new Map(measured.map(({ designIndex, design, timesMs }) => [designIndex, { design, timesMs }]));
    const page = await bench.call('ranking.page', { runId: run, limit: 1000 });
    const deviceOf = (name: string): boolean => document.text.includes(`"device": "${name}"`);
    const best = page.rows.filter(({ deviceId }) => deviceOf(deviceId)).slice(0, FIRST);
    expect(best).toHaveLength(FIRST);
    for (const { designIndex } of best) {
      const { design, timesMs } = linked.get(designIndex)!;
      const { threadsPerUnit, blockThreads } = design as Design;
      expect(timesMs[0]).toBeCloseTo(threadsPerUnit + blockThreads / 1000, 9);
    }
  });

  it.each(['sqlite', 'journal'])(
    'measures two devices in one %s storage, each linked to its own designs',
    async (kind) => {
      const axes = { ...smallStudy().axes, unitsPerThread: [1, 2, 4] };
      const devices = ['nvidia-a100-sxm4-40gb', 'nvidia-h100-sxm5-80gb'];
      const run = await bench.run(smallStudy({ devices, axes }));
      for (const [at, deviceId] of devices.entries()) {
        const { text } = await bench.render(run, 'optuna', { limit: 300, deviceId });
        writeFileSync(join(folder, `device_${at}.py`), text);
      }
      const file = join(folder, `devices.${kind}`);
      type Trial = readonly [mark: Readonly<Record<string, unknown>>, value: number];
      const studies = JSON.parse(python(TWO_DEVICES, kind, file)) as Readonly<Record<string, readonly Trial[]>>;
      const importFile = (studyName: string, more: object = {}) =>
        bench.call('import.file', {
          fileName: `devices.${kind}`,
          bytes: new Uint8Array(readFileSync(file)),
          timeUnit: 'ms',
          studyName,
          ...more,
        });
      /** Returns designs of a device with their times, as trials and as links. */
      const wantedOf = (trials: readonly Trial[], deviceId: string): readonly string[] =>
        trials
          .filter(([{ device }]) => device === deviceId)
          .map(([mark, value]) =>
            [mark.threads_per_unit, mark.block_threads, mark.balancing, mark.register_cap, value].join(' '),
          );
      const linkedOf = async ({ runId }: ImportedFile): Promise<readonly string[]> => {
        const measured = unwrap(await bench.engine.context.store.listMeasurements(runId));
        return measured.flatMap(({ design, designIndex, timesMs }) => {
          if (designIndex === null) return [];
          const { threadsPerUnit, blockThreads, balancing, registerCap } = design as Design;
          return [threadsPerUnit, blockThreads, balancing, registerCap ?? 0, timesMs[0]].join(' ');
        });
      };
      for (const [at, deviceId] of devices.entries())
        for (const more of [{}, { runId: run }, { runId: run, deviceName: deviceId }]) {
          const imported = await importFile(`device ${at}`, more);
          const wanted = wantedOf(studies[`device ${at}`], deviceId);
          expect(imported.linked).toMatchObject({ runId: run, deviceId });
          const linked = await linkedOf(imported);
          expect(linked).toHaveLength(imported.linked!.designs);
          expect(wanted).toEqual(expect.arrayContaining([...linked]));
          // The sampler may choose a design that cannot run, which is not linked.
          const isRefused = /no design of run|faster one/.test(imported.warnings.join(' '));
          expect(isRefused).toBe(imported.cases > linked.length);
          expect(linked.length).toBeGreaterThan(FIRST);
        }
      // In the shared study, a device has the trials that are marked with it, whichever device the import names.
      for (const deviceId of devices) {
        const imported = await importFile('shared', { runId: run, deviceName: deviceId });
        const wanted = wantedOf(studies.shared, deviceId);
        expect(imported.linked).toMatchObject({ deviceId });
        const linked = await linkedOf(imported);
        expect(wanted).toEqual(expect.arrayContaining([...linked]));
        expect(linked.length).toBeGreaterThan(5);
        expect(imported.warnings.join(' ')).toContain(`of another device than ${deviceId}`);
      }
    },
  );
});
