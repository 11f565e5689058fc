import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { kernelManifestJsonSchema } from '../../src-main/contract/json-schema.ts';
import { parseKernelManifest } from '../../src-main/contract/kernel-manifest.ts';
import { parseStudy } from '../../src-main/contract/parse.ts';
import * as launches from '../../src-workers/bench/kernel/launches.ts';
import { openclLaunches } from '../../src-workers/bench/kernel/opencl-program.ts';
import { quotedWord, splitCommand, substituted } from '../../src-workers/bench/program/command-line.ts';
import type { Design } from '../../src-workers/domain/design.ts';
import { elementType, type ValueType } from '../../src-workers/domain/kernel-manifest.ts';
import { unwrap, type Result } from '../../src-workers/domain/result.ts';
import { readCsr } from '../../src-workers/parse/csr.ts';
import { chunks } from '../data.ts';
import { designOf } from '../measuring.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const SPMV = join(ROOT, 'db/examples/kernels/spmv');
const text = readFileSync(join(SPMV, 'spmv.kernel.json'), 'utf8');
const manifest = unwrap(parseKernelManifest(text, 'spmv.kernel.json'));
const refusal = (result: Result<unknown>): string => (result.ok ? 'ok' : result.error.message);

const design = designOf({ implementation: 'Thread per row', unitsPerThread: 2, gridBlocks: 3 });
const MIXED: Design = {
  ...design,
  implementation: 'Mixed',
  balancing: 'mixed(3)',
  classes: [
    { upTo: 2, threadsPerUnit: 1, units: 3, gridBlocks: 1 },
    { upTo: 4, threadsPerUnit: 4, units: 0, gridBlocks: 1 },
    { upTo: null, threadsPerUnit: 64, units: 2, gridBlocks: 2 },
  ],
};
const lengths = Uint32Array.of(9, 1, 2, 5, 0);

describe('the manifest of a kernel', () => {
  it('has a schema for editors that agrees with the contract (npm run schema writes it), and is valid in the example', () => {
    expect(readFileSync(join(ROOT, 'db/kernel.schema.json'), 'utf8')).toBe(kernelManifestJsonSchema());
    const study = unwrap(parseStudy(readFileSync(join(SPMV, 'spmv.json'), 'utf8')));
    expect(study.implementations!.map(({ name }) => name)).toEqual(manifest.entries.map((one) => one.implementation));
  });

  type Json = Record<string, unknown>;
  it.each<readonly [path: string, value: unknown, words: string]>([
    ['lockstepKernel', 2, 'lockstepKernel must be 1, the version'],
    ['sources', ['spmv.c'], 'sources[0] must be the path of a .cu, a .hip, a .cl or a .wgsl file, not "spmv.c"'],
    ['sources', ['\\\\host\\a.cu'], 'sources[0] must be the path of a file on this machine'],
    ['arguments.0.file', '//host/a.u32', 'arguments[0].file must be the path of a file on this machine'],
    [
      'arguments.5.output.reference',
      '\\/host/a.mtx#values',
      'arguments[5].output.reference must be the path of a file on this machine',
    ],
    [
      'arguments.6.value',
      '{unit}',
      'arguments[6].value must be a number or arithmetic such as "4 * {launchUnits}", and "unit" is not one of units',
    ],
    ['arguments.6.file', 'a.u32', 'arguments[6] must have one of "file"'],
    ['arguments.4.type', 'f32', 'arguments[4] must have the type u32 or i32'],
    ['arguments.5.output.relative', -1, 'arguments[5].output.relative must be a number ≥ 0'],
    ['arguments.6.type', 'int3', 'arguments[6].type must be i8, u8, i16'],
    ['arguments.6.type', 'u32[2]', 'arguments[6] must have a number as "value"; for a struct (TYPE[n])'],
    [
      'arguments.5.output.count',
      'gridBlocks',
      'arguments[5].output.count must be a number or arithmetic such as "4 * {units}", and "gridBlocks" is not one of units',
    ],
    ['entries.0.sharedBytes', '4 *', 'entries[0].sharedBytes must be a number or arithmetic'],
    ['arguments.5.output.reference', undefined, 'must have an argument whose output has a "reference"'],
    ['arguments.1.name', 'rowStarts', 'must have a different name'],
    ['entries.0.entry', 'a(); b', 'entries[0].entry must be the name of a function'],
    ['entries.0.constants', { 'A B': 1 }, 'entries[0].constants.A B must be a name of letters'],
    ['entries.1.axes', { threadsPerUnit: [3] }, 'entries[1].axes.threadsPerUnit[0] must be a power of two'],
    ['entires', [], 'entires is not a known field; did you mean "entries"?'],
  ])('is refused with the wrong field: %s %j', (path, value, words) => {
    const changed = JSON.parse(text) as Json;
    const names = path.split('.');
    const last = names.pop()!;
    names.reduce((part, name) => part[name] as Json, changed)[last] = value;
    expect(refusal(parseKernelManifest(JSON.stringify(changed), 'k.json'))).toContain(words);
  });

  it.each<readonly [string, Partial<Design>]>([
    ['the implementation "Padded slices", only "Thread per row", ', { implementation: 'Padded slices' }],
    ['the balancing full-sort, only none', { balancing: 'full-sort' }],
    ['4 threads per unit, only 1', { threadsPerUnit: 4 }],
    ['64 threads per unit, only 2, 4, 8, 16, 32', { implementation: '2 to 32 threads per row', threadsPerUnit: 64 }],
    ['the flattened loop, only nested', { loop: 'flattened' }],
  ])('names a value that it does not implement: %s', (words, change) =>
    expect(refusal(launches.findEntry(manifest, { ...design, ...change }))).toContain(`does not implement ${words}`),
  );

  it('finds the entry of a design', () => {
    const entry = (change: Partial<Design>) => unwrap(launches.findEntry(manifest, { ...design, ...change })).entry;
    expect(entry({})).toBe('threadPerRow');
    expect(entry({ implementation: 'Block per row', threadsPerUnit: 64 })).toBe('threadsPerRow');
    expect(entry({ implementation: 'Mixed', balancing: 'mixed(1:8,block)' })).toBe('classOfRows');
  });
});

it('elements have a value, or several in a struct', () => {
  for (const [text, value, count, bytes] of [
    ['f32', 'f32', 1, 4],
    ['int', 'i32', 1, 4],
    ['unsigned  long long', 'u64', 1, 8],
    ['uint16_t', 'u16', 1, 2],
    ['__half', 'f16', 1, 2],
    ['float[4]', 'f32', 4, 16],
    ['u8 [24]', 'u8', 24, 24],
  ] as const)
    expect(elementType(text), text).toEqual({ value, count, isStruct: text.includes('['), bytes });
  for (const text of ['int4', 'f32[0]', 'toString', '']) expect(elementType(text), text).toBeNull();
});

it('values are written as bytes, the lowest first', () => {
  const bytes = (type: ValueType, value: number) => Buffer.from(launches.valueBytes(type, [value])).toString('hex');
  const written = [bytes('i8', -2), bytes('u16', 258), bytes('i64', -1), bytes('f16', 1.5), bytes('f64', 1)];
  expect(written).toEqual(['fe', '0201', 'ffffffffffffffff', '003e', '000000000000f03f']);
  const halves = [0.1, -65519, 65520, 2 ** -24, 6e-5, 1 + 2 ** -11, 1 + 3 * 2 ** -11, 1 - 2 ** -13, -0, Infinity, NaN];
  for (const half of halves) {
    const expected = Buffer.alloc(2);
    new DataView(expected.buffer, expected.byteOffset).setFloat16(0, half, true);
    expect([half, bytes('f16', half)]).toEqual([half, expected.toString('hex')]);
  }
  // A tie is rounded to the even neighbour. A value above a tie is rounded upwards.
  const rounded = [-1.5, 1 + 2 ** -8, 1 + 3 * 2 ** -8].map((value) => bytes('bf16', value));
  expect(rounded).toEqual(['c0bf', '803f', '823f']);
});

it('the elements of an output may depend on the units', () => {
  const count = (text: string | number) =>
    launches.outputCount({ name: 'y', type: 'f32', output: { count: text, absolute: 0, relative: 0 } }, 10);
  expect([count('{units} + 1'), count(3)].map(unwrap)).toEqual([11, 3]);
  expect(refusal(count('units / 4'))).toMatch(/"count" is units \/ 4, which is 2\.5 for 10 units\. .* with ceil/);
});

describe('the launches of a design', () => {
  it('are one, or one for each class with units, in the order of the classes', () => {
    const whole = { threadsPerUnit: 1, gridBlocks: 3, firstUnit: 0, units: 5 };
    expect(launches.unitLaunches(design, lengths)).toEqual([whole]);
    expect(launches.unitLaunches(MIXED, lengths)).toEqual([
      { threadsPerUnit: 1, gridBlocks: 1, firstUnit: 0, units: 3 },
      { threadsPerUnit: 64, gridBlocks: 2, firstUnit: 3, units: 2 },
    ]);
  });

  it.each<[string, readonly number[], Partial<Design>?]>([
    ['none', [0, 1, 2, 3, 4]],
    ['merge-path', [0, 1, 2, 3, 4]],
    ['full-sort', [4, 1, 2, 3, 0]],
    ['window-sort(2)', [1, 0, 2, 3, 4]],
    ['mixed(3)', [1, 2, 4, 0, 3], MIXED],
  ])('take units in the order of the balancing %s', (balancing, expected, change) => {
    const order = launches.designOrder({ ...design, ...change, balancing }, lengths, 32);
    expect([...unwrap(order)]).toEqual(expected);
  });

  it('have the same key if they have the same order, and buckets need the width of a thread group', () => {
    const bucketed = { ...design, balancing: 'best-buckets(2)' };
    expect(refusal(launches.designOrder(bucketed, lengths, null))).toMatch(/width/);
    const keys = (balancing: string, ...blocks: number[]) =>
      blocks.map((blockThreads) => launches.orderKey({ ...design, balancing, blockThreads }));
    expect(new Set(keys('window-sort(2)', 32, 64)).size).toBe(1);
    expect(new Set(keys('best-buckets(2)', 32, 64)).size).toBe(2);
    const otherGrid = MIXED.classes!.map((one) => ({ ...one, gridBlocks: one.gridBlocks + 1 }));
    expect(launches.orderKey({ ...MIXED, classes: otherGrid })).toBe(launches.orderKey(MIXED));
    const otherEnd = MIXED.classes!.map((one) => ({ ...one, upTo: one.upTo && one.upTo + 1 }));
    expect(launches.orderKey({ ...MIXED, classes: otherEnd })).not.toBe(launches.orderKey(MIXED));
  });

  it('have the values that a manifest names', () => {
    const [, second] = launches.unitLaunches(MIXED, lengths);
    const values = launches.launchValues(MIXED, second, 5);
    const named = { units: 5, launchUnits: 2, firstUnit: 3, threadsPerUnit: 64, gridBlocks: 2, blockThreads: 64, unitsPerThread: 2 }; // prettier-ignore
    const { resolveNumber } = launches;
    for (const [name, value] of Object.entries(named)) expect(resolveNumber(`{${name}}`, values), name).toBe(value);
    expect([2.5, '4 * {blockThreads} + 1'].map((text) => resolveNumber(text, values))).toEqual([2.5, 257]);
  });
});

it('an output is correct if each element is within its tolerance', () => {
  const argument = { name: 'y', type: 'f32', output: { count: 3, absolute: 0.25, relative: 0.5 } } as const;
  const check = (...found: number[]) =>
    launches.checkOutput(argument, Float32Array.from(found), Float32Array.of(0, 2, -4));
  expect(check(0.25, 3.25, -6.25)).toEqual({ maxError: 2.25, wrong: 0, message: '' });
  expect(check(0.5, 2, -4)).toMatchObject({ wrong: 1, message: /element 0 is 0\.5 instead of 0/ });
  expect(check(0, 2, Number.NaN)).toMatchObject({ maxError: null, wrong: 1 });
  expect(launches.checkOutput(argument, [Infinity], [Infinity])).toMatchObject({ maxError: 0, wrong: 0 });
});

it('a path is one word of a command line, whatever characters it has', () => {
  const values = { binary: 'BINARY' } as Parameters<typeof substituted>[1];
  for (const path of ['/a b/c', `/it's "x"`, 'C:\\new\\ folder', '/{binary}/{units}'])
    expect(unwrap(splitCommand(quotedWord(path))).map((word) => substituted(word, values))).toEqual([path]);
});

describe('compressed sparse rows', () => {
  const file = (banner: string, ...lines: string[]) => chunks(`%%MatrixMarket matrix ${banner}\n${lines.join('\n')}\n`);
  const arrays = async (...of: Parameters<typeof file>): Promise<string> => {
    const { rowStarts, columns, values } = unwrap(await readCsr(file(...of), 'mtx:x'));
    return [rowStarts, columns, values].map(String).join('; ');
  };

  it('have the entries of each row by ascending column, mirrored if the file has only a triangle', async () => {
    const entries = ['3 3 3', '3 1 2.5', '1 1 1', '3 2 -1D1'] as const;
    expect(await arrays('coordinate real general', ...entries)).toBe('0,1,1,3; 0,0,1; 1,2.5,-10');
    expect(await arrays('coordinate real symmetric', ...entries)).toBe('0,2,3,5; 0,2,2,0,1; 1,2.5,-10,2.5,-10');
    expect(await arrays('coordinate real skew-symmetric', '2 2 1', '2 1 3')).toBe('0,1,2; 1,0; -3,3');
    expect(await arrays('coordinate pattern general', '2 2 1', '2 1')).toBe('0,0,1; 0; 1');
    expect(await arrays('array real general', '2 2', '0', '5', '6', '0')).toBe('0,1,2; 1,0; 6,5');
  });

  it('need real values', async () => {
    const read = await readCsr(file('coordinate complex general', '1 1 1', '1 1 2 3'), 'mtx:x');
    expect(refusal(read)).toMatch(/line 1: the values are complex/);
  });
});

describe('a design in OpenCL', () => {
  const sharing = manifest.entries.map((one) => ({ ...one, sharedBytes: '{blockThreads} / 64' }));
  const task = { manifest: { ...manifest, entries: sharing }, units: lengths.length };

  it('has a launch for each class, with the numbers of the class as bytes', () => {
    const { entry, launches: made } = unwrap(openclLaunches(task, MIXED, lengths));
    expect(entry).toBe('classOfRows');
    const ofPlaces = (firstRow: string, launchRows: string, threads: string, gridBlocks: string) =>
      ({ 6: '05000000', 7: gridBlocks, 8: firstRow, 9: launchRows, 10: threads }) as const;
    expect(made).toEqual([
      { gridBlocks: 1, options: ['-DBLOCK_THREADS=64'], sharedBytes: 1, values: ofPlaces('00000000', '03000000', '01000000', '01000000') }, // prettier-ignore
      { gridBlocks: 2, options: ['-DBLOCK_THREADS=64'], sharedBytes: 1, values: ofPlaces('03000000', '02000000', '40000000', '02000000') }, // prettier-ignore
    ]);
  });

  it('is refused if it caps registers, or if a number of its launches is not valid', () => {
    const refused = (change: Partial<Design>, of = task) =>
      refusal(openclLaunches(of, { ...design, ...change }, lengths));
    const capped = 'The design has a cap of 32 registers per thread, but OpenCL cannot cap registers.';
    expect(refused({ registerCap: 32 })).toContain(capped);
    const half = '"sharedBytes" is {blockThreads} / 64. For this design that is 0.5, not a whole number';
    expect(refused({ blockThreads: 32 })).toContain(half);
    const given = manifest.arguments.map((one) => (one.name === 'rows' ? { ...one, value: '-1' } : one));
    const negative = 'The argument rows is -1. For this design that is -1, which u32 cannot hold';
    expect(refused({}, { ...task, manifest: { ...task.manifest, arguments: given } })).toContain(negative);
  });
});
