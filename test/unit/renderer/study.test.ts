import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { parseStudy } from '../../../src-main/contract/parse.ts';
import { studyFileSchema, type Study } from '../../../src-main/contract/study.ts';
import {
  changeText,
  failureText,
  fieldLabel,
  fieldValue,
  type FieldWords,
} from '../../../src-renderer/format/fields.ts';
import { NBSP } from '../../../src-renderer/format/numbers.ts';
import { deviceText, ownDevices, readDevice, studyText } from '../../../src-renderer/shell/study-file.ts';
import type { CatalogueDevice } from '../../../src-renderer/state/library.svelte.ts';
import * as axisText from '../../../src-renderer/views/study/axis-text.ts';
import { listedDevices, withListed } from '../../../src-renderer/views/study/device-list.ts';
import * as editor from '../../../src-renderer/views/study/distributions.ts';
import { copyOf, withNumber, withSource } from '../../../src-renderer/views/study/device-draft.ts';
import { kernelFields } from '../../../src-renderer/views/study/kernel-fields.ts';
import { markedGroups, pmfBins } from '../../../src-renderer/views/study/pmf-chart.ts';
import { laneWords, sharingCause, sharingCostText } from '../../../src-renderer/views/study/sharing-text.ts';
import { isEstimate } from '../../../src-workers/domain/device.ts';
import { isPhase } from '../../../src-workers/domain/provenance.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { fileStem } from '../../../src-workers/domain/text.ts';
import { term, VOCABULARIES, type Term } from '../../../src-workers/domain/terms.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import { geometricLaw, moments, uniformLaw, zipfLaw } from '../../../src-workers/models/workload/laws.ts';
import { gpu } from '../../catalogue.ts';
import { forAll, whole } from '../../for-all.ts';

const say: Term = (key, form) => term(key, 'cuda', form);

it('a study that is saved with its lengths names their file, in quotes if the name needs them', () => {
  const named = (path: string): unknown =>
    JSON.parse(studyText({ $schema: '../s.json', workload: { units: 3 } } as unknown as Study, path));
  expect(named('/me/my.lengths.csv')).toEqual({ workload: { units: 3, lengths: 'file:my.lengths.csv' } });
  expect(named('C:\\a "b"#1.csv')).toEqual({ workload: { units: 3, lengths: 'file:"a ""b""#1.csv"' } });
});

it('a study is saved with the devices of the user, whose files are known again', () => {
  const known = ['a', 'b', 'c'].map((id) => ({ id, kind: 'gpu', own: id !== 'b' }) as CatalogueDevice);
  const own = ownDevices({ devices: ['b', 'c:66'] } as unknown as Study, known);
  expect(own.map(({ id }) => id)).toEqual(['c']);
  expect(readDevice(deviceText(own[0]))).toEqual({ id: 'c', kind: 'gpu' });
  expect(['{"lockstep":1,"kind":"gpu","id":"c"}', '{', '[]'].map(readDevice)).toEqual([null, null, null]);
});

it('a described device has its estimates marked, under any source, until they are entered', () => {
  const device = withSource(copyOf({ ...gpu('nvidia-rtx-4070'), own: false }, []), 'data sheet');
  expect(device.sources['*']).toBe('data sheet');
  expect(isEstimate(device, 'memoryLatencyCycles')).toBe(true);
  expect(isEstimate(withNumber(device, 'memoryLatencyCycles', 500), 'memoryLatencyCycles')).toBe(false);
});

it.each([
  ['Ünïcode, 2nd try', 'ünïcode-2nd-try'],
  ['行列 3', '行列-3'],
  ['हिन्दी', 'हिन्दी'],
  ['../../etc/passwd', 'etc-passwd'],
  ['列'.repeat(200), '列'.repeat(60)],
  ['…', 'study'],
])('the file of the study %s is %s', (name, stem) => expect(fileStem(name, 'study')).toBe(stem));

describe('axis text', () => {
  it.each([
    ['1 2 4 8', [1, 2, 4, 8]],
    ['8, 2, 2, 4', [2, 4, 8]],
    ['32 … 1,024, step 32', { from: 32, to: 1024, step: 32 }],
    ['32..1024 step 32', { from: 32, to: 1024, step: 32 }],
    ['32-1024/32', { from: 32, to: 1024, step: 32 }],
    ['1 … 32', { from: 1, to: 32 }],
    ['1 … 32 ×2', [1, 2, 4, 8, 16, 32]],
    // A comma is a separator if it cannot group digits.
    ['1,2,4', [1, 2, 4]],
    ['128,256,512', [128, 256, 512]],
    ['1,024', [1024]],
    ['1,048,576', [1_048_576]],
    ['512 1,024', [512, 1024]],
  ])('%s is read as %j', (text, axis) => expect(unwrap(axisText.parseAxis(text))).toEqual(axis));

  it.each([
    ['64 abc', /“abc”/],
    ['1024 … 32', /runs backwards/],
    ['1 … 100000', /100,000 values/],
    ['0 1', /“0”/],
    ['32 … 1e9', /^“1e9” is not a whole number from 1 to 2,147,483,647 in digits\. Write/],
    ['32..1e9', /^“1e9” is/],
    ['1 … 9999999999', /^“9999999999” is/],
    ['32 … 1,024, step 1e2', /^“1e2” is/],
    ['1 … 2 … 3', /^“1 … 2 … 3” is neither a list nor a range/],
    ['', /Write values such as/],
  ])('%s is refused, with the typed text and what to write instead', (text, message) =>
    expect(axisText.parseAxis(text)).toFail(null, message),
  );

  it('shows long lists with even steps as a range', () => {
    const axes = [[1, 2, 4, 8, 16, 32], [32, 40, 48, 56, 64, 72, 80], { from: 1, to: 32 }];
    expect(axes.map(axisText.printAxis)).toEqual(['1 2 4 8 16 32', '32 … 80, step 8', '1 … 32']);
  });

  it('reads back its own text with the same values', () => {
    const list = fc.uniqueArray(whole(1, 4096), { minLength: 1, maxLength: 40 });
    const range = fc
      .record({ from: whole(1, 2000), span: fc.nat(2000), step: whole(1, 64) })
      .map(({ from, span, step }) => ({ from, to: from + span, step }));
    const sorted = list.map((values) => values.sort((a, b) => a - b));
    forAll(fc.oneof(sorted, range), (axis) => {
      const values = axisText.axisValues(axis);
      expect(axisText.axisValues(unwrap(axisText.parseAxis(axisText.printAxis(axis))))).toEqual(values);
      expect(axisText.axisCount(axis)).toBe(values.length);
    });
  });

  it('reads register caps with and without a cap, and widths with rows', () => {
    const caps = ['none', 'none, 48 64', '32 … 64, step 16'].map((text) => unwrap(axisText.parseCaps(text)));
    expect(caps).toEqual([[null], [null, 48, 64], [32, 48, 64]]);
    expect(unwrap(axisText.parseWidths('row, 8 16'))).toEqual([null, 8, 16]);
    for (const refused of [axisText.parseCaps('2048'), axisText.parseWidths('none')]) expect(refused).toFail(null);
    expect(axisText.printCaps([null, 8, 16], 'row')).toBe('row, 8 16');
    expect(axisText.printCaps([null, 64, 56, 48])).toBe('none, 64 56 48');
  });
});

describe('fields of a study in words of the interface', () => {
  const devices = [{ id: 'nvidia-a.b', name: 'GeForce RTX 4090' }] as unknown as FieldWords['devices'];
  const words: FieldWords = { say, devices };

  it.each([
    ['kernel.serialFraction', '0.047619047619047616', 'Serial fraction σ', '0.04762'],
    ['axes.registerCap', '[null,64,128]', 'Register cap', 'none, 64 128'],
    ['axes.blockThreads', '{"from":32,"to":1024,"step":32}', 'Block size', '32 … 1,024, step 32'],
    ['workload.lengths', `"stored:${'0'.repeat(64)}:jobs.csv#steps"`, 'Lengths', 'jobs.csv#steps'],
    ['workload.truncation', '', 'Probability cut', '–'],
    ['devices', '["nvidia-a.b","gone"]', 'Devices', 'RTX 4090, gone'],
    ['kernel.lengthsKnownBeforeLaunch', 'true', 'Lengths known before launch', 'yes'],
    ['kernel.sharedMemoryBytesPerBlock', '49152', 'Shared memory', '48 KiB'],
    ['pipeline.nvidia-a.b.latencyCycles', '412.5', 'Latency floor of RTX 4090', '412.5'],
    ['constraints', '[{"quantity":"waves","atMost":2}]', 'Constraints', 'Waves ≤ 2'],
    ['axes.balancing', '["none","dynamic-fetch"]', 'Balancing', 'none, dynamic-fetch'],
  ])('%s', (field, json, label, value) => {
    expect([fieldLabel(field, words), fieldValue(field, json, words).replaceAll(NBSP, ' ')]).toEqual([label, value]);
    const failure = { code: 'bad-input', message: `${field} is wrong.`, context: { field } } as const;
    expect(failureText(failure, words)).toBe(`${label} is wrong.`);
  });

  it('have a name for every field of an example, and describe a change in one sentence', () => {
    const study = unwrap(parseStudy(readFileSync('db/examples/acts.json', 'utf8')));
    for (const part of ['workload', 'kernel', 'axes'] as const)
      for (const [key, value] of Object.entries(study[part])) {
        if (value === undefined || key === 'origins') continue;
        expect(fieldLabel(`${part}.${key}`, words)).not.toContain('.');
        expect(fieldValue(`${part}.${key}`, JSON.stringify(value), words)).not.toMatch(/[[{"]/);
      }
    expect(changeText({ field: 'workload.units', was: '20000', is: '4' }, words)).toBe('Units was 20,000 and is now 4');
  });

  it('accept, for the kernel, exactly the values that a study may have', () => {
    const { kernel } = studyFileSchema.entries;
    for (const { id, min, max } of kernelFields(say)) {
      const accepts = (value: number) =>
        v.safeParse(kernel.entries[id], isPhase(id) ? { instructions: value } : value).success;
      expect([id, accepts(min === 0 && !accepts(0) ? Number.MIN_VALUE : min)]).toEqual([id, true]);
      expect([id, accepts(max), accepts(max * 1.001 + 1), accepts(1e308)]).toEqual([id, true, false, false]);
    }
  });
});

it('distributions of the editor start with valid parameters, and accept every value that their sliders can reach', () => {
  for (const { id, law, parameters } of editor.DISTRIBUTIONS) {
    const accepted = (values: readonly number[]) =>
      expect(law(values), `${id}(${values.join(',')})`).toMatchObject({ ok: true });
    const starts = parameters.map(({ start }) => start);
    accepted(starts);
    // The ends of a uniform law must be in order, whatever the other slider's value is.
    const others = id === 'uniform' ? [parameters[0].min, parameters[1].max] : starts;
    parameters.forEach(({ start, min, max }, i) => {
      expect(start).toBeWithin(min, max);
      for (const end of [min, max]) accepted(others.with(i, end));
    });
  }
});

it('distributions of the editor are read back as they were written, and do not change other workloads', () => {
  const found = editor.readDistribution('negative-binomial( 5 , 0.3 )')!;
  expect(editor.writeDistribution(found)).toBe('negative-binomial(5,0.3)');
  for (const other of ['example:collatz', 'geometric(0.1,0.2)', 'mixture(0.5*constant(1),0.5*constant(2))'])
    expect(editor.readDistribution(other)).toBeNull();
});

it('the lengths of a law are counted as distinct lengths, and only a part that was left out is mentioned', () => {
  const said = (support: readonly number[], truncatedMass = 0) =>
    editor.supportText({ support: Float64Array.from(support), truncatedMass });
  expect([said([32]), said([1, 2, 5])]).toEqual(['1 distinct length', '3 distinct lengths']);
  expect(said([1, 2], 1e-6)).toBe('2 distinct lengths; 1.0e−6 of the units are longer and left out');
});

it('the list of devices keeps the row of an unticked device, and ticking it again restores the same study', () => {
  const LISTED = ['v100', 'a100', 'h100'];
  expect(listedDevices(LISTED, ['v100', 'h100'])).toEqual(LISTED);
  // New devices are inserted after their predecessor.
  expect(listedDevices(LISTED, ['v100', 'mi300', 'h100'])).toEqual(['v100', 'mi300', 'a100', 'h100']);
  expect(listedDevices([], ['h100', 'v100'])).toEqual(['h100', 'v100']);
  expect(listedDevices(['a100'], ['v100'])).toEqual(['v100', 'a100']);
  const without = (id: string) => LISTED.filter((other) => other !== id);
  for (const id of LISTED) expect(withListed(without(id), id, LISTED)).toEqual(LISTED);
  expect(withListed(LISTED, 'mi300', LISTED)).toEqual([...LISTED, 'mi300']);
});

describe('bars of the lengths', () => {
  const binsOf = (law: LengthLaw, depths: Parameters<typeof pmfBins>[0]['depths'] = []) =>
    pmfBins({ law, mean: moments(law).mean, depths, widthPx: 600 });

  it('contain all of the probability: what they omit is stated, and extend as far as the marks', () => {
    for (const made of [geometricLaw(0.05), uniformLaw(0, 3), zipfLaw(1.5, 10_000), geometricLaw(0.002)]) {
      const { probability, beyond } = binsOf(unwrap(made));
      expect(probability.reduce((a, b) => a + b) + beyond).toBeCloseTo(1, 9);
      expect(beyond).toBeLessThan(1e-3);
      // A bar is at least 2 px wide.
      expect(probability.length).toBeLessThanOrEqual(300);
    }
    expect(binsOf(unwrap(geometricLaw(0.05)), [{ at: 200, label: 'depth' }]).to).toBeGreaterThanOrEqual(200);
  });

  it('have marks of groups in the space: of the recommended design, or else the cheapest, and the largest', () => {
    const rows = [32, 16, 8, 4, 2, 1].map((n) => ({ unitsPerGroup: n, threadsPerUnit: 32 / n, laneCost: 4 + n }));
    expect(markedGroups(rows, [1, 2, 4], 2)).toEqual([16, 32]);
    expect([markedGroups(rows, [1, 2, 4], null), markedGroups(rows, [32], 32)]).toEqual([[8, 32], []]);
  });

  it('have a logarithmic axis if the longest unit exceeds 30 means, so that the tail is more than one bar', () => {
    expect(binsOf(unwrap(geometricLaw(0.05))).log).toBe(false);
    const { log, edges, probability, to, beyond } = binsOf(unwrap(zipfLaw(1.5, 100_000)));
    // Each short length has its own bar, and no bar has a larger probability than the likeliest length.
    const expected = { log: true, to: 100_000, beyond: 0, edges: [0.5, 1.5, 2.5, 3.5] };
    expect({ log, to, beyond, edges: [...edges.slice(0, 4)] }).toEqual(expected);
    expect(Math.max(...probability)).toBe(probability[0]);
    expect(probability.filter((p) => p > 0.001).length).toBeGreaterThan(30);
    // Units without an iteration have their own bar at the low end.
    const zeros = { support: Float64Array.of(0, 1, 1000), probability: Float64Array.of(0.5, 0.495, 0.005) };
    const few = binsOf({ ...zeros, label: '', truncatedMass: 0 });
    expect([few.log, few.edges[0], few.probability[0]]).toEqual([true, -0.5, 0.5]);
  });
});

it('vocabularies have a word for every term', () => {
  for (const { id } of VOCABULARIES) expect(term('threadGroup', id, 'many')).not.toBe('');
  expect(term('threadGroup', 'cuda')).toBe('warp');
  expect(term('block', 'opencl', 'many')).toBe('work-groups');
  // In a vocabulary that calls a block a work-group, the group in lockstep must have another name.
  for (const { id } of VOCABULARIES)
    expect(term('workGroup', id).replace(/[ -]/, '')).not.toBe(term('block', id).replace(/[ -]/, ''));
});

it('the cost of sharing a unit is described by its cause, and not at all if it costs nothing', () => {
  const kernel = (serialFraction: number, cooperationCost: number, more: Partial<Study['kernel']> = {}) =>
    ({ serialFraction, cooperationCost, ...more }) as Study['kernel'];
  expect(sharingCostText(0.4, kernel(0.05, 0))).toBe(`costs 40${NBSP}% in serial work`);
  expect(sharingCostText(0.4, kernel(0, 0.1))).toBe(`costs 40${NBSP}% in cooperation`);
  expect(sharingCostText(0.4, kernel(0.05, 0.1))).toBe(`costs 40${NBSP}% in serial work and cooperation`);
  expect(sharingCostText(0, kernel(0, 0))).toBe('costs nothing');
  const unit = { instructions: 18 };
  expect(sharingCause(kernel(0.05, 0, { unit }))).toBe('serial work and set-up');
  expect(sharingCause(kernel(0.05, 0.1, { unit, sharing: 'deal' }))).toBe('idle lanes, set-up and combining');
});

it('the lane costs beside the recommendation name the cheapest number of threads, and why another design is recommended', () => {
  const costs = { 1: 2, 2: 2.1, 8: 2.5 };
  const rows = Object.entries(costs).map(([u, laneCost]) => ({ threadsPerUnit: +u, unitsPerGroup: 32 / +u, laneCost }));
  expect(laneWords(rows, 8, say)).toMatchObject({
    best: '1 thread × 32 units',
    next: `2 threads +5.0${NBSP}%`,
    recommended: `Recommended for the whole launch: 8 threads, +25.0${NBSP}%.`,
    why: /memory, on resident blocks/,
  });
  const recommended = [256, 1, null].map((threads) => laneWords(rows, threads, say)!.recommended);
  const others = ['Recommended for the whole launch: 256 threads.', 'The recommendation is the same.', ''];
  expect(recommended).toEqual(others);
  expect(laneWords([], 8, say)).toBeNull();
});
