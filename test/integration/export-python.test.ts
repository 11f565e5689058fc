import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ExportDocument, RankPage } from '../../src-main/contract/api.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import type { Design } from '../../src-workers/domain/design.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { parseKernelTuner } from '../../src-workers/parse/kernel-tuner.ts';
import { HOSTILE, NOTHING_ELSE, smallStudy } from '../unit/export-runs.ts';
import { dataText, encode } from '../data.ts';
import { lacks } from '../tools.mjs';
import { testFolder, useBench } from '../workplace.ts';

// Python runs the files for tuners with stand-ins for the tuners, which accept exactly the documented parameters, and
// record the calls. optuna.slow.test.ts runs the file for Optuna with Optuna itself.

const RECORDERS = join(import.meta.dirname, '../data/tuners');
const DEVICES = ['nvidia-a100-sxm4-40gb'];
/** The axes include launches with a fixed number of blocks, and launches with as many blocks as the units need. */
const AXES = { ...smallStudy().axes, unitsPerThread: [1, 2, 4] };
const studyOf = (change: Partial<StudyFile> = {}): StudyFile => smallStudy({ devices: DEVICES, axes: AXES, ...change });

describe.skipIf(lacks('python3'))('the files for tuners', () => {
  const bench = useBench();
  const folder = testFolder();
  let run: number;
  beforeAll(async () => {
    mkdirSync(join(folder, 'work'));
    run = await bench.run(studyOf());
  });

  /** Runs a Python program that imports the file of a run as `exported`, and returns its JSON output. */
  function python<T>(document: ExportDocument | null, program: string, ...args: readonly number[]): T {
    if (document) writeFileSync(join(folder, 'exported.py'), document.text);
    const options = {
      encoding: 'utf8',
      cwd: join(folder, 'work'),
      env: { ...process.env, PYTHONPATH: `${folder}:${RECORDERS}`, PYTHONDONTWRITEBYTECODE: '1' },
    } as const;
    return JSON.parse(execFileSync('python3', ['-W', 'error', '-c', program, ...args.map(String)], options)) as T;
  }
  const page = (runId: number, limit: number): Promise<RankPage> => bench.call('ranking.page', { runId, limit });
  const importInto = (runId: number, file: string, more: object = {}) =>
    bench.engine.call('import.file', { fileName: 'measured.json', bytes: encode(file), runId, ...more });

  it('Triton measures the designs that are predicted to be the best for the number of units', async () => {
    const document = await bench.render(run, 'triton', { limit: 30 });
    const [units, few, between, beyond] = [100_000, 6250, 200_000, 10 ** 12];
    expect(document.designs!.listed).toBe(30);
    const found = python<{ units: number[]; kept: number[]; best: { blocks: number; threads: number; ms: number }[] }>(
      document,
      dataText('tuners/triton_choices.py'),
      ...[units, few, between, beyond],
    );
    expect(found.units).toContain(units);
    for (const count of found.kept) expect(count).toBeWithin(1, 10);
    // Returns the best design of a sweep among those that Triton can launch.
    const bestOf = async (runId: number) =>
      (await page(runId, 1000)).rows.find(
        ({ design }) => Math.log2(design.blockThreads) % 1 === 0 && design.balancing === 'none',
      )!;
    const sweepOf = (count: number): Promise<number> =>
      bench.run(studyOf({ name: 'Other', workload: { lengths: 'geometric(0.05)', units: count } }));
    for (const [at, runId] of [run, await sweepOf(few)].entries()) {
      const { design, timeMs } = await bestOf(runId);
      expect(found.best[at].ms / timeMs).toBeCloseTo(1, 5);
      expect(found.best[at]).toMatchObject({ threads: design.blockThreads, blocks: design.gridBlocks });
    }
    // Between two numbers of units in the table, the time is interpolated.
    const { timeMs } = await bestOf(await sweepOf(between));
    expect(Math.abs(found.best[2].ms / timeMs - 1)).toBeLessThan(0.1);
    // Beyond the table, the time is that of the nearest number of units.
    expect(found.best[3].ms).toBe(found.best[4].ms);
  });

  it('Kernel Tuner finds every design in the predictions, which are imported again as predictions', async () => {
    const document = await bench.render(run, 'kernel-tuner', { limit: 40 });
    const found = python<{ results: { time: number; blocks: number }[]; x0: Record<string, number>; calls: unknown[] }>(
      document,
      dataText('tuners/kernel_tuner_calls.py'),
    );
    expect(found.results).toHaveLength(40);
    const { rows } = await page(run, 40);
    const times = found.results.map(({ time }) => time).sort((a, b) => a - b);
    times.forEach((time, at) => expect(time / rows[at].timeMs).toBeCloseTo(1, 4));
    const { robust } = await bench.call('advice.uncertainty', { runId: run });
    const { threadsPerUnit, blockThreads } = rows.find(({ designIndex }) => designIndex === robust.designIndex)!.design;
    expect(found.x0).toMatchObject({ threads_per_unit: threadsPerUnit, block_size_x: blockThreads });
    const isListed = ({ time, blocks }: { time: number; blocks: number }): boolean =>
      rows.some(({ timeMs, design }) => Math.abs(time / timeMs - 1) < 1e-4 && design.gridBlocks === blocks);
    expect(found.results.filter((result) => !isListed(result))).toEqual([]);
    const cache = readFileSync(join(folder, 'work', 'walk-predicted.json'));
    const read = unwrap(await parseKernelTuner(cache, 'walk-predicted.json', 'walk'));
    expect(read.deviceName).toBe(`Predicted by Lockstep: ${rows[0].device}`);
    const t4 = encode((await bench.render(run, 't4', { limit: 40 })).text);
    const same = unwrap(await parseKernelTuner(t4, 't4', 'walk'));
    // Kernel Tuner starts at the recommended design, and T4 lists designs by their times.
    const designsOf = ({ cases }: typeof read) =>
      new Set(cases.map((one) => (one.case.parameters as { design: unknown }).design));
    expect([read.devices, read.sweep, designsOf(read)]).toEqual([same.devices, same.sweep, designsOf(same)]);
    expect(read.cases.every(({ timesMs }) => timesMs.length === 0)).toBe(true);
    const unchanged = `measured.json: All times are unchanged predictions of run ${run}. Import measured times.`;
    expect(await importInto(run, cache.toString())).toFail('conflict', unchanged);
  });

  it.each([
    ['kernel-tuner', 'dict(zip(exported.NAMES, exported.X0))', 'block_size_x'],
    ['optuna', 'exported.DESIGNS[0][0]', 'block_threads'],
  ])(
    '%s starts at the chosen design, which is the recommended one unless another is chosen',
    async (format, start, block) => {
      const { rows } = await page(run, 60);
      const recommended = await bench.call('advice.recommend', { runId: run, robust: true });
      for (const designIndex of [undefined, rows[0].designIndex, rows[55].designIndex]) {
        const document = await bench.render(run, format, { limit: 10, designIndex });
        const wanted =
          designIndex === undefined ? recommended.row : rows.find((row) => row.designIndex === designIndex)!;
        expect(document.text).toContain(`, design ${wanted.designIndex}.\n`);
        expect(document.designs).toMatchObject({ listed: 10 });
        const { threadsPerUnit, blockThreads } = wanted.design;
        const found = python(document, `import json, exported; print(json.dumps(${start}))`);
        expect(found).toMatchObject({ threads_per_unit: threadsPerUnit, [block]: blockThreads });
      }
    },
  );

  it('Kernel Tuner refuses a chosen design that it cannot launch', async () => {
    const kernel = { ...smallStudy().kernel, lengthsKnownBeforeLaunch: true };
    const axes = { balancing: ['none', 'mixed(8:1,32)'], blockThreads: [64] };
    const mixed = await bench.run(studyOf({ kernel, axes }));
    const { rows } = await page(mixed, 10);
    const { designIndex } = rows.find(({ design }) => design.balancing !== 'none')!;
    const ask = { runId: mixed, format: 'kernel-tuner', limit: 10, designIndex };
    const refused = new RegExp(
      `^Kernel Tuner cannot launch design ${designIndex} \\(.*Mixed designs.* are not supported`,
    );
    expect(await bench.engine.call('export.render', ask)).toFail('unsupported', refused);
    const { text } = await bench.render(mixed, 'optuna', { limit: 10, designIndex });
    expect(text).toContain(`, design ${designIndex}.\n`);
  });

  it('Kernel Tuner searches the whole space, and its restrictions leave exactly the designs that can run', async () => {
    const axes = { ...AXES, blockThreads: [32, 64, 96, 1024], gridBlocks: [64, 2048], registerCap: [null, 24] };
    const kernel = { ...smallStudy().kernel, registersPerThread: 80 };
    const implementations = [{ name: 'plain' }, { name: 'one', axes: { threadsPerUnit: [1] } }];
    const several = await bench.run(studyOf({ axes, kernel, implementations }));
    const found = python<{ whole: number[][]; of: number; strings: boolean }>(
      await bench.render(several, 'kernel-tuner', { limit: 5 }),
      dataText('tuners/kernel_tuner_space.py'),
    );
    const { rows } = await page(several, 1000);
    const designs = rows.map(
      ({ design: { implementation, threadsPerUnit, blockThreads, ...design } }) =>
      [implementation, threadsPerUnit, blockThreads, design.gridBlocks, design.balancing, design.registerCap ?? 0].join(' '), // prettier-ignore
    );
    const launched = found.whole.map(([implementation, threads, rounds, block, blocks, , balancing, cap]) => {
      const gridBlocks = blocks || Math.ceil((smallStudy().workload.units * threads) / (block * rounds));
      const named = smallStudy().axes.balancing![balancing];
      return [implementations[implementation].name, threads, block, gridBlocks, named, cap].join(' ');
    });
    expect(new Set(launched)).toEqual(new Set(designs));
    expect(found).toMatchObject({ strings: true });
    expect(found.of).toBeGreaterThan(found.whole.length);
  });

  it('the measurements of Kernel Tuner belong to the exported designs', async () => {
    const implementations = [{ name: 'plain' }, { name: 'cached', kernel: { registersPerThread: 64 } }];
    const few: StudyFile['axes'] = { threadsPerUnit: [1, 4], blockThreads: [64, 128], registerCap: [null] };
    const axes = { ...AXES, loop: ['nested' as const, 'flattened' as const], ...few };
    // No input is assumed, so the recommended design, which comes first, is the fastest.
    const study = studyOf({ axes, implementations, kernel: { ...smallStudy().kernel, origins: NOTHING_ELSE } });
    const several = await bench.run(study);
    const document = await bench.render(several, 'kernel-tuner', { limit: 1000 });
    const program = `
import exported
exported.tune("kernel.cu", [], cache="measured.json")
exported.write_cache("predicted.json")
print("true")`;
    python(document, program);
    const written = (name: string) => readFileSync(join(folder, 'work', name), 'utf8');
    const text = written('measured.json');
    type Predicted = { readonly cache: Readonly<Record<string, { readonly lockstep: { implementation: string } }>> };
    const predicted = JSON.parse(written('predicted.json')) as Predicted;
    const imported = unwrap(await importInto(several, text));
    const { rows } = await page(several, 1000);
    const named = Object.values(predicted.cache).map(({ lockstep }) => lockstep.implementation);
    expect(named).toEqual(rows.map(({ design }) => design.implementation));
    const linked = { runId: several, designs: rows.length };
    // The stand-in takes as many milliseconds as a design has blocks.
    const warnings = [/^The measured times are [\d,]+ times as long as the predictions \(median\)\./];
    expect(imported).toMatchObject({ cases: rows.length, linked, warnings });
    const measured = unwrap(await bench.engine.context.store.listMeasurements(imported.runId));
    const wanted = new Map(rows.map(({ designIndex, design }) => [designIndex, design]));
    for (const { designIndex, design, timesMs } of measured) {
      expect(design).toEqual(wanted.get(designIndex!));
      expect(timesMs[0]).toBe(wanted.get(designIndex!)!.gridBlocks);
    }
    // The measured designs must differ in each of these fields. Otherwise, a wrong list of values could pass unnoticed.
    for (const name of ['loop', 'balancing', 'implementation', 'unitsPerThread', 'gridBlocks'] as const)
      expect(new Set(measured.map(({ design }) => (design as Design)[name])).size, name).toBeGreaterThan(1);

    const turned = { ...study, implementations: implementations.toReversed() };
    expect(await importInto(await bench.run(turned), text)).toFail(null, /belong to another sweep/);
    const beyond = await importInto(several, text.replaceAll('"lockstep_balancing": 1,', '"lockstep_balancing": 9,'));
    expect(unwrap(beyond)).toMatchObject({
      warnings: [/lockstep_balancing=9 is not a number from 0 to 1/, ...warnings],
    });
    // Earlier versions wrote the file in this form.
    const earlier = await importInto(several, text.replaceAll(/lockstep_(loop|balancing|implementation)/g, '$1'));
    expect(unwrap(earlier)).toMatchObject({ linked: { designs: rows.length } });
  });

  it('measurements belong to the device of the sweep that measured, or else to the device of the script', async () => {
    const kernel = { ...smallStudy().kernel, origins: NOTHING_ELSE };
    const both = await bench.run(studyOf({ kernel, devices: [...DEVICES, 'nvidia-h100-sxm5-80gb'] }));
    const document = await bench.render(both, 'kernel-tuner', { limit: 20 });
    python(document, 'import exported; exported.tune("kernel.cu", [], cache="both.json"); print("true")');
    const text = readFileSync(join(folder, 'work', 'both.json'), 'utf8');
    expect(document.text).toContain('H100');
    for (const [name, deviceName, deviceId] of [
      ['unknown', null, 'nvidia-h100-sxm5-80gb'],
      ['NVIDIA H100 80GB HBM3', null, 'nvidia-h100-sxm5-80gb'],
      ['NVIDIA A100-SXM4-40GB', null, DEVICES[0]],
      ['unknown', DEVICES[0], DEVICES[0]],
    ] as const) {
      const file = text.replace('NVIDIA A100-SXM4-40GB', name);
      const { linked } = unwrap(await importInto(both, file, { ...(deviceName && { deviceName }) }));
      expect(linked).toMatchObject({ deviceId, designs: 20 });
    }
  });

  it('exports each launch once, even if its blocks can be written in several ways', async () => {
    // For 64 blocks, this launch axis has two values: a grid of 64, and the units per thread that give 64 blocks.
    const axes: StudyFile['axes'] = { threadsPerUnit: [1], blockThreads: [128], unitsPerThread: [1, 2, 4], gridBlocks: [64, 128] }; // prettier-ignore
    const twice = await bench.run(studyOf({ axes, workload: { lengths: 'geometric(0.05)', units: 128 * 256 } }));
    const { rows } = await page(twice, 100);
    const launches = new Set(rows.map(({ design }) => JSON.stringify(design)));
    expect(launches.size).toBeLessThan(rows.length);
    const listed = { listed: launches.size, of: rows.length, most: 10_000 };
    for (const format of ['kernel-tuner', 'optuna'] as const)
      expect((await bench.render(twice, format, { limit: 100 })).designs).toEqual(listed);
  });

  it('hostile names compile', async () => {
    const name = HOSTILE.slice(0, 200);
    const kernel = { name, registersPerThread: 40, instructionsPerIteration: 60 };
    const hostile = await bench.run(smallStudy({ name, kernel }));
    const formats = ['python', 'triton', 'kernel_tuner', 'optuna'];
    for (const format of formats) {
      const { text } = await bench.render(hostile, format.replace('_', '-'));
      writeFileSync(join(folder, `exported_${format}.py`), text);
    }
    const program = `${formats.map((format) => `import exported_${format}`).join('\n')}\nprint("true")`;
    expect(python(null, program)).toBe(true);
  });
});
