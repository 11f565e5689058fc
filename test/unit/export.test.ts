import { timeRange, timeText } from '../../src-workers/domain/times.ts';
import { createHash } from 'node:crypto';
import { parse } from 'csv-parse/sync';
import { beforeAll, describe, expect, it } from 'vitest';
import { listedText } from '../../src-main/cli/commands/export.ts';
import { exportAddress, ROW_LIMITS, rowLimit } from '../../src-renderer/views/export/address.ts';
import { framedReport } from '../../src-renderer/views/export/framed-report.ts';
import { readAddress } from '../../src-renderer/state/location.svelte.ts';
import { runStem, type ExportJob } from '../../src-main/services/export/exporter.ts';
import { EXPORTERS } from '../../src-main/services/export/formats.ts';
import type { ReportFacts } from '../../src-main/services/export/facts.ts';
import { reportTables } from '../../src-main/services/export/report-tables.ts';
import { exportRows, tableFormat } from '../../src-main/services/export/tables.ts';
import { comment, html, identifier, joined, markdown, stringText } from '../../src-main/services/export/text.ts';
import { ALL_VALID } from '../../src-main/services/ranking/rows.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { HOSTILE, NOTHING_ELSE, smallStudy } from './export-runs.ts';
import { useBench } from '../workplace.ts';

const bench = useBench();
let plain: number;
let hostile: number;
/** A run with the same content as `hostile`, but with harmless names. */
let named: number;

beforeAll(async () => {
  plain = await bench.run(smallStudy());
  hostile = await bench.run(
    smallStudy({
      name: HOSTILE.slice(0, 200),
      description: HOSTILE,
      kernel: { name: HOSTILE.slice(0, 200), registersPerThread: 40, instructionsPerIteration: 60 },
      implementations: [{ name: HOSTILE.slice(0, 200) }],
    }),
  );
  named = await bench.run(smallStudy({ implementations: [{ name: 'walk' }] }));
});

/** Returns the names of the elements in an HTML text, as the tokenizer of a browser sees its tags. */
const tags = (text: string): Set<string> =>
  new Set([...text.matchAll(/<\/?([a-z][a-z0-9]*)/gi)].map((match) => match[1].toLowerCase()));
const ALLOWED_TAGS =
  'html head meta title style body h1 h2 p code div table thead tbody tr th td svg path rect text circle g ul ol li i dl dt dd select option canvas output script';
const isAllowed = (tag: string): boolean => ALLOWED_TAGS.split(' ').includes(tag);

it('lists all designs in a table on request, but at most the maximum of a format', async () => {
  const { rows } = readAddress(exportAddress, new URLSearchParams('rows=all'));
  expect(ROW_LIMITS).toContain(rows);
  const { designs } = await bench.render(plain, 'csv', { limit: rowLimit(rows) });
  expect(designs?.of).toBeGreaterThan(100);
  expect(designs?.listed).toBe(designs?.of);
  const over = await bench.engine.call('export.render', { runId: plain, format: 'csv', limit: rowLimit('all') + 1 });
  expect(over.ok).toBe(false);
  const { views } = bench.engine.context;
  const pairs = tableFormat({
    id: 'pairs',
    label: 'Pairs',
    text: 'Two designs',
    extension: 'txt',
    mediaType: 'text/plain',
    most: 2,
    write: (view, list) => joined(exportRows(view, list).map(({ rank }) => `${rank}\n`)),
  });
  const job = { context: bench.engine.context, base: 'x', within: ALL_VALID };
  for (const [limit, ranks] of [[1, '1\n'] as const, [100, '1\n2\n'] as const]) {
    const written = await views.read(plain, (view) => pairs.write({ ...job, view, input: { limit } } as ExportJob));
    const { parts, designs } = unwrap(written);
    expect([(await parts.next()).value, designs]).toMatchObject([ranks, { listed: Math.min(limit, 2), most: 2 }]);
  }
});

it('weighs the designs of a table on request, and tells the interface which formats do and which have no colours', async () => {
  const { text } = await bench.render(plain, 'csv', { limit: 3, weigh: true });
  const [head, ...lines] = parse(text);
  expect(head.slice(-2)).toEqual(['expected_regret', 'chance_best']);
  type Weighed = { readonly rows: readonly { readonly expectedRegret: number; readonly chanceBest: number }[] };
  const { rows } = JSON.parse((await bench.render(plain, 'json', { limit: 3, weigh: true })).text) as Weighed;
  expect(rows).toHaveLength(3);
  for (const [at, { expectedRegret, chanceBest }] of rows.entries()) {
    expect(lines[at].slice(-2).map(Number)).toEqual([expectedRegret, chanceBest]);
    expect(expectedRegret).toBeGreaterThanOrEqual(0);
    expect(chanceBest).toBeLessThanOrEqual(1);
  }
  const known = await bench.call('advice.uncertainty', { runId: plain });
  expect(Math.min(...rows.map((row) => row.expectedRegret))).toBeGreaterThanOrEqual(known.robust.expectedRegret - 1e-3);
  expect((await bench.render(plain, 'csv', { limit: 3 })).text).not.toContain('chance_best');
  const formats = await bench.call('export.formats', {});
  const weighing = EXPORTERS.flatMap(({ id, weighs }) => (weighs ? [id] : []));
  expect(weighing).toContain('csv');
  expect(formats.flatMap(({ id, weighs }) => (weighs ? [id] : []))).toEqual(weighing);
  const shown = await Promise.all(['csv', 'markdown', 'json', 'cuda'].map((format) => bench.render(plain, format)));
  expect(shown.map((document) => document.plain)).toEqual([true, true, undefined, undefined]);
});

describe('a report', () => {
  let html: string;
  beforeAll(async () => void (html = (await bench.render(plain, 'html')).text));

  it('is a page without links and loaded files, whose only script, that of its map, is not in the preview', async () => {
    expect(html).toMatch(/^<!doctype html>/);
    expect([...tags(html)].filter((tag) => !isAllowed(tag))).toEqual([]);
    const scripts = [...html.matchAll(/<script>([^]*?)<\/script>/g)].map(([, script]) => script);
    expect(scripts).toHaveLength(1);
    expect(html.match(/<script/g)).toHaveLength(1);
    const hash = createHash('sha256').update(scripts[0]).digest('base64');
    expect(html).toContain(`default-src 'none'; script-src 'sha256-${hash}'; style-src`);
    expect(html).not.toMatch(/\b(src|href|xlink:href)\s*=|url\(|@import|https?:/i);
    const { page, css } = framedReport(html);
    expect(page).not.toMatch(/<script|<style/);
    expect([...tags(page)].sort()).toEqual([...tags(html)].filter((tag) => !['script', 'style'].includes(tag)).sort());
    expect(html).toContain(`<style>${css}</style>`);
  });

  it('draws a bar for every filled bin and a line for every device', async () => {
    const filter = { deviceId: 'nvidia-rtx-4090' };
    const { counts } = await bench.call('ranking.histogram', { runId: plain, filter, bins: 48 });
    expect(html.match(/<path[^>]* fill="var\(--s1\)"/g)).toHaveLength(counts.filter((n) => n > 0).length);
    const lines = html.match(/<path[^>]* fill="none"[^>]*stroke-linejoin/g)!;
    for (const series of [1, 2])
      expect(lines.filter((line) => line.includes(`stroke="var(--s${series})" stroke-width="1.75"`))).toHaveLength(1);
    expect(html.match(/<title>Ideal work: /g)).toHaveLength(2);
    expect(html).not.toContain('NaN');
  });

  it('has a map of every device, whose best cell is the best design', async () => {
    const attribute = /data-maps="([^"]*)"/.exec(html)![1];
    const maps = JSON.parse(attribute.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')) as {
      device: string; timeMs: (number | null)[]; chosen: number; settings: string[]; setting: number[];
    }[]; // prettier-ignore
    const compared = await bench.call('compare.devices', { runId: plain });
    expect(maps.map(({ device }) => device).sort()).toEqual(compared.devices.map(({ device }) => device.name).sort());
    for (const { device, timeMs } of maps) {
      const best = compared.devices.find((each) => each.device.name === device)!.best!.timeMs;
      expect(Math.min(...timeMs.filter((ms) => ms !== null))).toBeCloseTo(best, 4);
    }
    // The chosen design is the best of all designs, and therefore also the best of its cell.
    const [first] = maps;
    expect(first.timeMs[first.chosen]).toBe(Math.min(...first.timeMs.filter((ms) => ms !== null)));
    expect(first.settings[first.setting[first.chosen]]).toMatch(/Threads per unit: \d+/);
  });

  it('has the same content in Markdown: the best design, its time, each device and the ties', async () => {
    const { text } = await bench.render(plain, 'markdown');
    const page = await bench.call('ranking.page', { runId: plain, limit: 1 });
    const compared = await bench.call('compare.devices', { runId: plain });
    const [{ designIndex, timeMs }] = page.rows;
    const [{ lowMs, highMs }] = await bench.call('compare.ranges', { runId: plain, designs: [designIndex] });
    expect(text).toContain(`${timeText(timeMs)} (90\u00a0% range ${timeRange(lowMs, highMs)}), rank`);
    expect(text.match(/^\d\. /gm)!.length).toBeLessThanOrEqual(3);
    for (const { device } of compared.devices) expect(text).toContain(device.name);
    expect(text).toContain(`${page.ties} design`);
    const { regime } = await bench.call('design.explain', { runId: plain, designIndex });
    expect(text).toContain(`Predicted as: ${regime.label}.`);
    expect((await bench.render(plain, 'html')).text).toContain(`Predicted as: ${regime.label}.`);
    expect(text).not.toMatch(/NaN|undefined|\[object|\.\.$/m);
  });

  it('has a table of parts that add up to the time, even if one of them is negative', async () => {
    const { rows } = await bench.call('ranking.page', { runId: plain, limit: 1 });
    const breakdown = await bench.call('design.explain', { runId: plain, designIndex: rows[0].designIndex });
    const { timeMs, parts: own } = breakdown;
    const parts = { ...own, idealWork: own.idealWork + timeMs, lastWave: own.lastWave - timeMs };
    const facts = { breakdown: { ...breakdown, parts }, rows, devices: [], assumed: [], implementations: [] };
    const table = reportTables(facts as unknown as ReportFacts).parts;
    const shares = table.rows.map(([, , share]) => parseFloat(share));
    expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(100, 0);
  });

  it('names a faster design that the format cannot express', async () => {
    const kernel = { ...smallStudy().kernel, lengthsKnownBeforeLaunch: true, origins: NOTHING_ELSE };
    const axes = { balancing: ['none', 'merge-path', 'mixed(8:1,32)'], blockThreads: [64], unitsPerThread: [1, 7] };
    const workload = { lengths: 'zipf(1.2,2000)', units: 100_000 };
    const run = await bench.run(smallStudy({ kernel, axes, workload }));
    const { rows } = await bench.call('ranking.page', { runId: run, limit: 100 });
    const [best] = rows;
    const segmented = rows.find(({ design }) => design.balancing !== 'merge-path')!;
    expect(best.timeMs).toBeLessThan(segmented.timeMs);
    const { text, note } = await bench.render(run, 'cub');
    for (const { timeMs } of [best, segmented]) expect(note).toContain(timeText(timeMs));
    expect(note).toContain(`CUB's segmented reduction cannot express the faster design ${best.designIndex} (`);
    // Comments in the code are plain ASCII.
    expect(text).toContain(`// ${note!.replaceAll('\u00a0', ' ').replaceAll('µ', 'u')}\n`);
    const chosen = await bench.render(run, 'cub', { designIndex: segmented.designIndex });
    expect([(await bench.render(run, 'cuda')).note, chosen.note]).toEqual([undefined, undefined]);
  });

  it.each([{ gridBlocks: [16] }, { unitsPerThread: [2] }])('says whether %o fixes the blocks', async (launch) => {
    const run = await bench.run(smallStudy({ axes: { blockThreads: [64], ...launch } }));
    for (const format of ['cuda', 'python', 'cub'] as const) {
      const { text } = await bench.render(run, format);
      expect(text.includes('The design fixes the number of blocks')).toBe('gridBlocks' in launch);
    }
  });

  it.each(['markdown', 'html', 'cuda', 'wgsl'] as const)('names the predicted order of units in %s', async (format) => {
    const kernel = { ...smallStudy().kernel, lengthsKnownBeforeLaunch: true };
    const layouts: Readonly<Record<string, RegExp>> = {
      none: /Units keep their order\.\W+In round j, slot s takes/,
      'window-sort(256)': /Every 256 consecutive units are sorted by length, the shortest first\.\W+In round j/,
      'full-sort':
        /All units are sorted by length, the shortest first\. The blocks take random positions in this order\./,
      'best-buckets(4)': /Units are in 4 classes of length, the shortest first\. The blocks take .* in this order\./,
      'dynamic-fetch': /a slot that has finished a unit takes the next one from a common counter\./,
    };
    const axes = { balancing: Object.keys(layouts), blockThreads: [64] };
    const run = await bench.run(smallStudy({ kernel, axes }));
    const page = await bench.call('ranking.page', { runId: run, limit: 100 });
    for (const [balancing, layout] of Object.entries(layouts)) {
      const { designIndex } = page.rows.find((row) => row.design.balancing === balancing)!;
      expect((await bench.render(run, format, { designIndex })).text).toMatch(layout);
    }
  });

  it('launches blocks of two dimensions if they take tiles of an image', async () => {
    const workload = { lengths: 'example:mandelbrot(256,250,1000)', units: 512_000 };
    const axes = { blockThreads: [128], blockWidth: [null, 8], unitsPerThread: [1, 3] };
    const run = await bench.run(smallStudy({ devices: ['nvidia-a100-sxm4-40gb'], workload, axes }));
    const { rows } = await bench.call('ranking.page', { runId: run, limit: 100 });
    const { designIndex, design } = rows.find((row) => row.design.blockWidth === 8 && row.design.unitsPerThread === 3)!;
    // There are eight images of 32 × 16 tiles. A tile has 8 × 16 units, and a block has three tiles.
    expect(design.gridBlocks).toBe(Math.ceil((8 * 512) / 3));
    const cuda = (await bench.render(run, 'cuda', { designIndex })).text;
    const image = { image_width: 256, image_height: 250, image_units: 64_000 };
    const sizes = { block_width: 8, block_height: 16, ...image, tiles_across: 32, tiles_per_image: 512 };
    for (const line of [
      ...Object.entries(sizes).map(([name, size]) => `constexpr unsigned ${name} = ${size}u;`),
      '// kernel<<<lockstep_walk::grid_blocks, dim3(lockstep_walk::block_width, lockstep_walk::block_height)>>>(...);',
      '/// Units lie in tiles of 8 × 16 threads: row by row within a tile, and tiles row by row over the image. Places beyond the edges of the image stay empty.',
    ])
      expect(cuda).toContain(`${line}\n`);
    const wgsl = (await bench.render(run, 'wgsl', { designIndex })).text;
    expect(wgsl).toContain('// @compute @workgroup_size(BLOCK_WIDTH, BLOCK_HEIGHT)\n');
    expect((await bench.render(run, 'python', { designIndex })).text).toContain('    "block_width": 8,  # threads of');
    expect((await bench.render(run, 'csv')).text).toMatch(/,block_threads,block_width,grid_blocks,/);
    expect(await bench.engine.call('export.render', { runId: run, format: 'sycl', designIndex })).toFail('unsupported');
    const { text, note } = await bench.render(run, 'sycl');
    expect(text).not.toContain('Units in tiles');
    expect(note).toContain(`SYCL cannot express the faster design ${rows[0].designIndex} (`);
    expect((await bench.render(run, 'triton')).text).toContain('Triton cannot express the faster design');
    expect((await bench.render(run, 't4')).text).toMatch(/"block_width":\s*8/);
  });

  it('names the assumed time of the shortest launch, and explains the chosen design, not only the best', async () => {
    const axes = { blockThreads: [64], unitsPerThread: [1] };
    const run = await bench.run(smallStudy({ workload: { lengths: 'constant(1)', units: 3 }, axes }));
    expect((await bench.render(run, 'cuda')).text).toContain('2.500 us is the assumed time of the shortest launch');
    const [{ designIndex, rank }] = (await bench.call('ranking.page', { runId: plain, offset: 40, limit: 1 })).rows;
    expect((await bench.render(plain, 'markdown', { designIndex })).text).toContain(`rank ${rank} of`);
  });
});

// Making a table of choices takes seconds, so export-compiled.slow.test.ts does that.
it.each(EXPORTERS.map(({ id }) => id).filter((format) => format !== 'choice'))(
  'hostile names are harmless in %s',
  async (format) => {
    const { text, fileName } = await bench.render(hostile, format);
    expect(fileName).toMatch(/^[a-z0-9._-]+$/);
    for (const mark of ['\u202e', '\u2028', '\u0000']) expect(text).not.toContain(mark);
    const is = (...formats: readonly string[]): boolean => formats.includes(format);
    if (is('html', 'pdf')) {
      expect([...tags(text)].filter((tag) => !isAllowed(tag))).toEqual([]);
      // The name may contain "onerror=" as text, but not inside a tag.
      for (const [tag] of text.matchAll(/<[a-z][^>]*>/gi)) expect(tag).not.toMatch(/\son\w+\s*=/i);
      expect(text).toContain('&lt;script&gt;');
      expect(text.match(/<script/gi)).toHaveLength(1);
    } else if (is('markdown')) {
      const headings = text.split('\n').filter((line) => line.startsWith('#'));
      expect(headings).toHaveLength(new Set(headings).size);
      expect(headings.filter((line) => line.startsWith('# head'))).toEqual([]);
      // A backtick is the only character that could end the code.
      const prose = text.replace(/(?<!\\)`[^`\n]*`/g, 'CODE');
      expect(prose).not.toMatch(/(?<!\\)[`]|(?<!\\)<script|(?<!\\)!\[|(?<!\\)\[l(?<!\\)\]/);
      expect(text).not.toContain('```');
    } else if (is('cuda', 'cuda-kernel', 'python', 'kokkos', 'sycl', 'cub', 'wgsl', 'wgsl-kernel')) {
      // Without comments, the hostile document equals the plain one except for its identifier and numbers.
      const code = (document: string): string[] =>
        document
          .split('\n')
          .filter((line) => !/^(\/\/|# )/.test(line))
          .map((line) => line.replace(/(?<=implementation"?(?: =|:) )"(?:[^"\\]|\\.)*"/, 'TEXT'))
          .map((line) => line.replace(/lockstep_\w+?(?=_BOUNDS|_CUH|\b)/gi, 'NAME').replace(/\d+/g, '0'));
      expect(code(text)).toEqual(code((await bench.render(named, format)).text));
      for (const line of text.split('\n').filter((entry) => entry.startsWith('//')))
        expect(line).not.toMatch(/\*\/|\/\*|\\\s*$|\?\?\//);
      expect(text).toMatch(/^[\x20-\x7e\n]*$/);
      // export-python.test.ts compiles the following files in Python.
    } else if (is('triton', 'kernel-tuner', 'optuna')) expect(text).toMatch(/^[\x20-\x7e\n]*$/);
    else if (is('csv')) for (const row of parse(text)) for (const cell of row) expect(cell).not.toMatch(/^\s*[=+@]/);
    else if (is('json'))
      expect((JSON.parse(text) as { study: { description: string } }).study.description).toBe(HOSTILE);
    else if (is('t4', 'trace')) JSON.parse(text);
    else expect.fail(`Add a case for ${format}, which tests that hostile names are harmless in it.`);
  },
);

it.each([
  [{ listed: 100, of: 2000 }, 100, 'the best 100 of 2,000 designs; --top lists more'],
  [{ listed: 100, of: 2000, most: 1000 }, 100, 'the best 100 of 2,000 designs; --top lists more'],
  [{ listed: 1000, of: 2000, most: 1000 }, 5000, 'the best 1,000 of 2,000 designs, which is the limit of this format'],
  [{ listed: 45, of: 59, most: 1000 }, 100, 'the best 45 of 59 designs; the other designs have the same launches'],
])('the number of listed designs, %j of --top %d', (designs, top, text) => expect(listedText(designs, top)).toBe(text));

it('the T4 document has every field that schema version 1.0.0 requires of a result', async () => {
  const { text, fileName } = await bench.render(plain, 't4', { limit: 5 });
  expect(fileName).toBe('small-run-1.t4.json');
  const number = expect.any(Number) as number;
  const isPositive = expect.toSatisfy((value: number) => value > 0) as number;
  const isPlain = (value: unknown): boolean => ['number', 'string'].includes(typeof value);
  const result = {
    timestamp: expect.any(String) as string,
    configuration: expect.toSatisfy((values: object) => Object.values(values).every(isPlain)) as object,
    invalidity: /^(timeout|compile|runtime|correctness|constraints|correct)$/,
    correctness: number,
    times: { compilation_time: number, framework: number, search_algorithm: number, validation: number, runtimes: [] },
    objectives: ['time'],
    measurements: expect.arrayContaining([{ name: 'time', value: isPositive, unit: 'ms' }]) as unknown[],
  };
  const document: unknown = JSON.parse(text);
  expect(document).toMatchObject({ schema_version: /^\d+\.\d+\.\d+$/, results: Array(5).fill(result) as unknown });
});

it('the trace has every block of the simulated launch once, in its slot and one after another', async () => {
  const page = await bench.call('ranking.page', { runId: plain, limit: 1 });
  const { designIndex, design, residentBlocks } = page.rows[0];
  const { text, fileName } = await bench.render(plain, 'trace', { designIndex });
  expect(fileName).toBe('small-run-1.trace.json');
  const drawn = await bench.call('simulations.timeline', { runId: plain, designIndex });
  interface TraceEvent { name: string; ph: string; pid: number; tid: number; ts: number; dur: number; args: { blocks: number; block: number } } // prettier-ignore
  const { traceEvents, otherData } = JSON.parse(text) as { traceEvents: TraceEvent[]; otherData: object };
  expect(otherData).toMatchObject({ simulatedKernelMs: drawn.kernelMs, device: page.rows[0].device });
  // Viewers do not show a process or thread with the number 0.
  expect(Math.min(...traceEvents.flatMap(({ pid, tid = 1 }) => [pid, tid]))).toBe(1);
  const blocks = traceEvents.filter(({ ph, pid }) => ph === 'X' && pid > 1);
  expect(blocks).toHaveLength(drawn.blockIndex.length);
  if (drawn.shownMultiprocessors.length === drawn.multiprocessors)
    expect(blocks.reduce((sum, { args }) => sum + args.blocks, 0)).toBe(design.gridBlocks);
  expect(Math.max(...blocks.map(({ ts, dur }) => ts + dur)) / 1000).toBeCloseTo(drawn.kernelMs, 6);
  const busyUntil = new Map<string, number>();
  for (const { pid, tid, ts, dur } of blocks.sort((a, b) => a.ts - b.ts)) {
    expect(tid).toBeLessThanOrEqual(residentBlocks);
    const slot = `${pid} ${tid}`;
    // No digit may be lost. A viewer nests a slice that begins within another one.
    expect(ts).toBeGreaterThanOrEqual(busyUntil.get(slot) ?? 0);
    expect(Math.abs(ts * 1000 - Math.round(ts * 1000))).toBeLessThan(1e-4);
    busyUntil.set(slot, ts + dur);
  }
  // Every process must have a name.
  const named = new Set(traceEvents.filter(({ name }) => name === 'process_name').map(({ pid }) => pid));
  expect(traceEvents.filter(({ pid }) => !named.has(pid))).toEqual([]);
});

const WEIGHED = /mean time is within 1\.5.% of the least/;
it.each([
  ['assumed inputs are weighed', { ...NOTHING_ELSE, chainInstructions: undefined }, WEIGHED, /Picks the simplest/],
  ['nothing is assumed', NOTHING_ELSE, /Picks the simplest/, /mean time is within/],
])('code states one rule that chose its design, if %s', async (_, origins, rule, other) => {
  const kernel = { ...smallStudy().kernel, origins };
  const run = await bench.run(smallStudy({ kernel, devices: ['nvidia-a100-sxm4-40gb'] }));
  const { robust, point } = await bench.call('advice.uncertainty', { runId: run });
  expect(robust.designIndex).toBe(point.designIndex);
  const { text } = await bench.render(run, 'cuda');
  expect(text).toContain('designs of this device are tied for the best');
  expect(text).toMatch(rule);
  expect(text).not.toMatch(other);
});

/** Matches the lines of the allowed WGSL: comments, constants of two types, and one function. */
const WGSL_LINE =
  /^(\/\/.*|const [A-Z_]+: (u32 = \d+u|vec2<u32> = vec2<u32>\(\d+u, \d+u\));|fn workgroup_number\(id: vec3<u32>\) -> u32 \{| {2}return id\.y \* DISPATCH\.x \+ id\.x;|\}|)$/;

it('the WGSL constants are only declarations of WGSL, and split a launch that one dimension cannot hold', async () => {
  const declared = (await bench.render(hostile, 'wgsl')).text;
  for (const line of declared.split('\n')) expect(line).toMatch(WGSL_LINE);
  for (const [, value] of declared.matchAll(/(\d+)u[;,)]/g)) expect(Number(value)).toBeLessThan(2 ** 32);
  const workload = { lengths: 'constant(8)', units: 40_000_000 };
  const axes = { threadsPerUnit: [1], blockThreads: [64], unitsPerThread: [1] };
  const { text } = await bench.render(await bench.run(smallStudy({ name: 'Wide', workload, axes })), 'wgsl');
  const [, x, y] = /vec2<u32>\((\d+)u, (\d+)u\)/.exec(text)!;
  expect(text).toContain('WORKGROUP_COUNT: u32 = 625000u');
  expect(Number(x)).toBeLessThanOrEqual(65_535);
  expect(Number(x) * Number(y)).toBeGreaterThanOrEqual(625_000);
});

it('the file for Triton has blocks of whole warps', async () => {
  const axes = { ...smallStudy().axes, threadsPerUnit: [1], blockThreads: [16, 64, 96] };
  const { text } = await bench.render(await bench.run(smallStudy({ axes })), 'triton', { limit: 1000 });
  const warps = [...text.matchAll(/^ {4}\(1, \d+, \d+, ([\d.]+), (?:\d+|None)\):/gm)].map((match) => match[1]);
  expect(new Set(warps)).toEqual(new Set(['2']));
});

it('text of a document escapes markup, and cannot end a comment; any text becomes a valid identifier or file name', () => {
  expect(html(`<a href="x">'&`)).toBe('&lt;a href=&quot;x&quot;&gt;&#39;&amp;');
  expect(['80.7 % of it', '1. x', '- x'].map(markdown)).toEqual(['80.7 % of it', '1\\. x', '\\- x']);
  expect(['a */ b', 'a \\', 'a\nb', 'Größe 列 κ'].map(comment)).toEqual(['a * / b', 'a', 'a b', 'Größe 列 kappa']);
  expect(stringText('Größe 3 µs')).toBe('Gr  e 3 us');
  expect(comment('a ??/')).not.toContain('??/');
  // Python reads the encoding of a file from a comment in its first two lines (PEP 263). A name must not set it.
  expect(comment('x coding:utf-7 +AAo-')).not.toMatch(/coding[:=]/);
  expect(['3 + x', '<>'].map(identifier)).toEqual(['k3_x', 'kernel']);
  expect(runStem('…')).toBe('run');
});
