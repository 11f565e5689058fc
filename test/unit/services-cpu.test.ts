import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RunSummary } from '../../src-main/contract/api.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { designCells } from '../../src-main/cli/design-columns.ts';
import { deviceRows } from '../../src-main/services/devices/compare.ts';
import { compareRows } from '../../src-renderer/views/compare/rows.ts';
import { withCores } from '../../src-renderer/views/study/edit.ts';
import { parseStudy } from '../../src-main/contract/parse.ts';
import { term } from '../../src-workers/domain/terms.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { EXPORTERS } from '../../src-main/services/export/formats.ts';
import { ended, progressed } from './engine-calls.ts';
import { smallStudy } from './export-runs.ts';
import { sweep as sweepOn, useBench } from '../workplace.ts';

const MATRIX = join(import.meta.dirname, '../../db/examples/ca-GrQc.mtx');
const DEVICES = ['amd-epyc-7302p', 'nvidia-a100-sxm4-40gb', 'nvidia-grace-gh200'];
const mixed = (change: Partial<StudyFile> = {}): StudyFile =>
  smallStudy({
    kernel: { ...smallStudy().kernel, bytesPerIteration: 12, serialFraction: 0, lengthsKnownBeforeLaunch: true },
    devices: DEVICES,
    axes: {
      threadsPerUnit: [1, 4],
      balancing: ['none', 'row-split', 'merge-path'],
      blockThreads: [128, 256],
      unitsPerThread: [1, 2],
      cores: { from: 1, to: 20 },
    },
    ...change,
  });

const { call, engine } = useBench();

const sweep = (study: StudyFile): Promise<RunSummary> => sweepOn(engine, study);
const page = (runId: number) => call('ranking.page', { runId, limit: 100, detail: true });

describe('a study of CPUs and a GPU', () => {
  it('runs, ranks and compares both in one space', async () => {
    const run = await sweep(mixed());
    expect(run).toMatchObject({ state: 'complete', enumerated: 3 * 2 * 3 * 22 * 2 });
    // The Epyc has 16 valid core counts of 20, and the Grace has all 20; both have two partitions. The A100 has two
    // values of granularity, block and launch, each with units in order and with the merge path.
    expect(run.valid).toBe(2 * 16 + 2 * 20 + 2 * (2 * 2 * 2));
    const size = await call('space.size', { study: mixed() });
    expect(size).toMatchObject({ enumerated: run.enumerated, valid: run.valid });
    expect(size.invalid.map(({ reason }) => reason)).toEqual(['not-on-device', 'cores']);
    expect(size.invalid.reduce((sum, { count }) => sum + count, 0)).toBe(run.invalid);

    const { rows } = await page(run.id);
    expect(new Set(rows.map(({ deviceId }) => deviceId))).toEqual(new Set(DEVICES));
    for (const row of rows) {
      if (row.deviceId === 'nvidia-a100-sxm4-40gb') continue;
      expect(row).toMatchObject({ residentBlocks: 1, waves: 1, limitedBy: [], design: { blockThreads: 1 } });
    }
    const detail = await call('runs.get', { id: run.id });
    expect(detail.machine).toMatch(/, \d+ cores?, Node \d+\.\d+\.\d+$/);
    const wanted = DEVICES.map((id) => [id, id.startsWith('nvidia-a100') ? 'gpu' : 'cpu']);
    expect(detail.devices.map(({ id, kind }) => [id, kind])).toEqual(wanted);

    const compared = await call('compare.devices', { runId: run.id });
    // No design is valid on a CPU and on a GPU.
    expect(compared.cross[0][1]).toBeNaN();
    const entries = compared.devices.map((entry) => ({ device: entry.device, entry }));
    const table = compareRows(entries, detail.study!, false, (key, form) => term(key, 'cuda', form));
    const texts = (id: string) => table.find((row) => row.id === id)!.texts;
    expect(texts('cores')).toEqual(['16', '', '72']);
    expect(texts('multiprocessors')).toEqual(['', '108', '']);
    expect(texts('coresUsed')).toEqual([expect.stringContaining(' of 16'), '–', expect.stringContaining(' of 72')]);
    expect(texts('block')).toEqual(['–', expect.stringMatching(/^\d/), '–']);
    for (const { id: format } of EXPORTERS) {
      // Making a table of choices takes seconds, so export-compiled.slow.test.ts does that.
      if (format === 'choice') continue;
      expect((await call('export.render', { runId: run.id, format, limit: 50 })).text.length).toBeGreaterThan(100);
    }
    const { designIndex, design } = compared.devices[0].best!;
    // The command line shows the cores of the design and no blocks.
    const cores = expect.stringMatching(new RegExp(`^${design.gridBlocks} cores?$`)) as string;
    expect(designCells(design)).toEqual(['–', '–', design.balancing, '–', cores]);
    const markdown = await call('export.render', { runId: run.id, format: 'markdown', designIndex });
    expect(markdown.text).toContain(`${design.gridBlocks} of 16 cores, units shared out by ${design.balancing}`);
    // Only designs for a GPU have launch code.
    const cuda = await call('export.render', { runId: run.id, format: 'cuda' });
    expect(cuda.text).toContain('A100');
    expect(cuda.text).toMatch(/order=merge-path\n[^]*grid_blocks = \d+u/);
    for (const wrong of [{ designIndex }, { deviceId: DEVICES[0] }])
      expect(await engine.call('export.render', { runId: run.id, format: 'cuda', ...wrong })).toFail('unsupported');
  });

  it.each([
    [DEVICES[0], [{ field: 'seed', was: '1', is: '2' }]],
    [DEVICES[1], []],
  ])('a run is stale after a change of the seed only if this changes its times: %s', async (device, changed) => {
    const { id } = await call('studies.save', { study: mixed({ devices: [device] }) });
    const times = async () => {
      const run = await ended(engine, 'runs.start', { studyId: id });
      return { run, rows: (await page(run.id)).rows.map(({ designIndex, timeMs }) => [designIndex, timeMs]) };
    };
    const before = await times();
    await call('studies.save', { id, study: mixed({ devices: [device], seed: 2 }) });
    const after = await times();
    expect(JSON.stringify(after.rows) === JSON.stringify(before.rows)).toBe(changed.length === 0);
    expect((await call('runs.get', { id: before.run.id })).staleFields).toEqual(changed);
    expect((await call('runs.changes', { studyId: id })).at(-1)).toMatchObject({ id: after.run.id, fields: changed });
  });

  it('a bundle for HIP has the thread groups of its GPU, although a CPU comes first', async () => {
    const { id: runId } = await sweep(mixed({ axes: { ...mixed().axes, balancing: ['none', 'row-split'] } }));
    const { files } = await call('bench.bundle', { runId, hip: true, archive: false, count: 1 });
    const plan = Buffer.from(files.find(({ path }) => path === 'plan.jsonl')!.bytes).toString();
    expect(JSON.parse(plan)).toMatchObject({ plan: { backend: 'hip', threadGroupWidth: 32 } });
  });

  it('maps show the launches of the selected kind of device, or all launches for both kinds', async () => {
    const run = await sweep(mixed());
    const map = (hold: object) => call('landscape.grid', { runId: run.id, x: 'launch', y: 'balancing', hold });
    const both = await map({});
    expect([both.xValues.length, both.xValues[2]]).toEqual([22, '1 core']);
    expect((await map({ device: 1 })).xValues).toEqual(both.xValues.slice(0, 2));
    const grid = await map({ device: 0 });
    expect(grid.xValues).toEqual(both.xValues.slice(2));
    expect(Number.isNaN(grid.timeMs[2])).toBe(true);
    const three = await call('ranking.design', { runId: run.id, designIndex: grid.designIndex[20 + 2] });
    expect(three).toMatchObject({ deviceId: DEVICES[0], predictedMs: grid.timeMs[20 + 2] });
    expect(`${three.design.gridBlocks} cores`).toBe(grid.xValues[2]);
    const slices = await call('ranking.slices', { runId: run.id, designIndex: three.designIndex });
    const { at: place, values, designIndex, timeMs } = slices.find(({ axis }) => axis === 'launch')!;
    expect([values, designIndex[place], timeMs[place]]).toEqual([grid.xValues, three.designIndex, three.predictedMs]);
    const sample = await call('landscape.parallel', { runId: run.id, filter: { deviceId: three.deviceId } });
    const at = sample.axes.findIndex(({ id }) => id === 'launch');
    expect(sample.axes[at].categories).toEqual(grid.xValues);
    const first = await call('ranking.design', { runId: run.id, designIndex: sample.designIndex[0] });
    expect(sample.axes[at].categories![sample.columns[at][0]]).toMatch(new RegExp(`^${first.design.gridBlocks} core`));
    const small = { x: 'launch', y: 'blockThreads', facet: 'balancing', hold: { device: 0 } };
    const facets = await call('landscape.facets', { runId: run.id, ...small });
    expect(facets.columns).toBe(20);
    for (const [y, { best }] of facets.facets.entries()) {
      const times = grid.timeMs.slice(20 * y, 20 * y + 20).filter(Number.isFinite);
      expect(best).toBe(times.length > 0 ? Math.min(...times) : NaN);
    }
  });

  it('predicts with the rows of an uploaded matrix in their order, and resumes with them', async () => {
    const bytes = new Uint8Array(readFileSync(MATRIX));
    const uploaded = await call('workload.upload', { fileName: 'rows.mtx', bytes });
    const study = mixed({
      workload: { lengths: uploaded.lengths, units: uploaded.units! },
      devices: ['amd-epyc-7302p', 'intel-xeon-platinum-8360y'],
      axes: { balancing: ['row-split'], blockThreads: { from: 1, to: 64 }, cores: { from: 1, to: 1024 } },
    });
    const { id } = await call('studies.save', { study });
    const { runId } = await call('runs.start', { studyId: id });
    await progressed(engine);
    await call('runs.cancel', { id: runId });
    const { state, valid, invalid, enumerated } = await call('runs.get', { id: runId });
    expect(state).toBe('cancelled');
    expect(valid + invalid).toBeLessThan(enumerated);
    expect(await ended(engine, 'runs.resume', { id: runId })).toMatchObject({ state: 'complete' });
    const whole = await sweep(study);
    const columns = async (id: number) => unwrap(await engine.context.store.loadRunColumns(id));
    expect(await columns(runId)).toEqual(await columns(whole.id));

    // The file itself gives the same shares. Draws from its law would give others.
    const file = await sweep({ ...study, workload: { lengths: `mtx:${MATRIX}`, units: uploaded.units! } });
    expect((await columns(file.id)).timeMs).toEqual((await columns(whole.id)).timeMs);
    // A run that is opened explains its designs by the order that it has saved.
    const best = (await page(file.id)).rows[0];
    expect(best.breakdown!.timeMs).toBe(best.timeMs);
  });

  it('the Study view adds the axes that a CPU needs, and CPUs are compared with CPUs only', async () => {
    const ofGpu = mixed({ devices: ['nvidia-a100-sxm4-40gb'], axes: { blockThreads: [128] } });
    const gpus = unwrap(parseStudy(JSON.stringify(ofGpu)));
    const withCpu = withCores({ ...gpus, devices: [...gpus.devices, 'amd-epyc-7302p'] }, 16);
    expect((await call('space.size', { study: withCpu })).valid).toBe(3 + 3 * 16);
    expect(withCores(withCpu, 64)).toEqual(withCpu);
    const { catalogue } = engine.context;
    const rowsOf = async (...ids: readonly string[]) => deviceRows(unwrap(await catalogue.devices(ids)));
    const cpus = unwrap(await rowsOf('amd-epyc-7302p', 'amd-epyc-7763'));
    expect(cpus.rows.find(({ id }) => id === 'cores')).toMatchObject({ values: [16, 64], best: [1] });
    expect(await rowsOf('amd-epyc-7302p', 'nvidia-a100-sxm4-40gb')).toFail('unsupported');
    expect(await catalogue.devices(['amd-epyc-7303'])).toFail('not-found');
  });
});
