import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { kernelManifestJsonSchema } from '../../src-main/contract/json-schema.ts';
import { parseKernelManifest } from '../../src-main/contract/kernel-manifest.ts';
import { parseStudy } from '../../src-main/contract/parse.ts';
import {
  checkOutput,
  designOrder,
  findEntry,
  launchValues,
  resolveNumber,
  orderKey,
  outputCount,
  unitLaunches,
  valueBytes,
} from '../../src-workers/bench/kernel/launches.ts';
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
  it('has a schema for editors that agrees with the contract (npm run schema writes it)', () =>
    expect(readFileSync(join(ROOT, 'db/kernel.schema.json'), 'utf8')).toBe(kernelManifestJsonSchema()));

  it('is valid in the example, and the study has the implementations that it names', () => {
    const study = unwrap(parseStudy(readFileSync(join(SPMV, 'spmv.json'), 'utf8')));
    expect(study.implementations!.map(({ name }) => name)).toEqual(manifest.entries.map((one) => one.implementation));
  });

  type Json = Record<string, unknown>;
  type Change = (manifest: Json & { arguments: (Json & { output: Json })[]; entries: Json[] }) => void;
  it.each<readonly [string, Change]>([
    ['lockstepKernel must be 1, the version', (m) => void (m.lockstepKernel = 2)],
    [
      'sources[0] must be the path of a .cu, a .hip, a .cl or a .wgsl file, not "spmv.c"',
      (m) => void (m.sources = ['spmv.c']),
    ],
    ['sources[0] must be the path of a file on this machine', (m) => void (m.sources = ['\\\\host\\a.cu'])],
    ['arguments[0].file must be the path of a file on this machine', (m) => void (m.arguments[0].file = '//host/a.u32')], // prettier-ignore
    ['arguments[5].output.reference must be the path of a file on this machine', (m) => void (m.arguments[5].output.reference = '\\/host/a.mtx#values')], // prettier-ignore
    [
      'arguments[6].value must be a number or arithmetic such as "4 * {launchUnits}", and "unit" is not one of units',
      (m) => void (m.arguments[6].value = '{unit}'),
    ],
    ['arguments[6] must have one of "file"', (m) => void (m.arguments[6].file = 'a.u32')],
    ['arguments[4] must have the type u32 or i32', (m) => void (m.arguments[4].type = 'f32')],
    ['arguments[5].output.relative must be a number ≥ 0', (m) => void (m.arguments[5].output.relative = -1)],
    ['arguments[6].type must be i8, u8, i16', (m) => void (m.arguments[6].type = 'int3')],
    ['arguments[6] must have a number as "value"; for a struct (TYPE[n])', (m) => void (m.arguments[6].type = 'u32[2]')], // prettier-ignore
    ['arguments[5].output.count must be a number or arithmetic such as "4 * {units}", and "gridBlocks" is not one of units', (m) => void (m.arguments[5].output.count = 'gridBlocks')], // prettier-ignore
    ['entries[0].sharedBytes must be a number or arithmetic', (m) => void (m.entries[0].sharedBytes = '4 *')],
    ['must have an argument whose output has a "reference"', (m) => void delete m.arguments[5].output.reference],
    ['must have a different name', (m) => void (m.arguments[1].name = 'rowStarts')],
    ['entries[0].entry must be the name of a function', (m) => void (m.entries[0].entry = 'a(); b')],
    ['entries[0].constants.A B must be a name of letters', (m) => void (m.entries[0].constants = { 'A B': 1 })],
    [
      'entries[1].axes.threadsPerUnit[0] must be a power of two',
      (m) => void (m.entries[1].axes = { threadsPerUnit: [3] }),
    ],
    ['entires is not a known field; did you mean "entries"?', (m) => void (m.entires = [])],
  ])('is refused with the wrong field: %s', (words, change) => {
    const changed = JSON.parse(text) as Parameters<Change>[0];
    change(changed);
    expect(refusal(parseKernelManifest(JSON.stringify(changed), 'k.json'))).toContain(words);
  });

  it.each<readonly [string, Partial<Design>]>([
    ['the implementation "Padded slices", only "Thread per row", ', { implementation: 'Padded slices' }],
    ['the balancing full-sort, only none', { balancing: 'full-sort' }],
    ['4 threads per unit, only 1', { threadsPerUnit: 4 }],
    ['64 threads per unit, only 2, 4, 8, 16, 32', { implementation: '2 to 32 threads per row', threadsPerUnit: 64 }],
    ['the flattened loop, only nested', { loop: 'flattened' }],
  ])('names a value that it does not implement: %s', (words, change) =>
    expect(refusal(findEntry(manifest, { ...design, ...change }))).toContain(`does not implement ${words}`),
  );

  it('finds the entry of a design', () => {
    const entry = (change: Partial<Design>): string => unwrap(findEntry(manifest, { ...design, ...change })).entry;
    expect(entry({})).toBe('threadPerRow');
    expect(entry({ implementation: 'Block per row', threadsPerUnit: 64 })).toBe('threadsPerRow');
    expect(entry({ implementation: 'Mixed', balancing: 'mixed(1:8,block)' })).toBe('classOfRows');
  });
});

it.each([
  ['f32', 'f32', 1, 4],
  ['int', 'i32', 1, 4],
  ['unsigned  long long', 'u64', 1, 8],
  ['uint16_t', 'u16', 1, 2],
  ['__half', 'f16', 1, 2],
  ['float[4]', 'f32', 4, 16],
  ['u8 [24]', 'u8', 24, 24],
] as const)('%s is a type of elements', (text, value, count, bytes) =>
  expect(elementType(text)).toEqual({ value, count, isStruct: text.includes('['), bytes }),
);

it.each(['int4', 'f32[0]', 'toString', ''])('%s is not a type of elements', (text) =>
  expect(elementType(text)).toBeNull(),
);

it('values are written as bytes, the lowest first', () => {
  const bytes = (type: ValueType, value: number): string => Buffer.from(valueBytes(type, [value])).toString('hex');
  expect(bytes('i8', -2)).toBe('fe');
  expect(bytes('u16', 258)).toBe('0201');
  expect(bytes('i64', -1)).toBe('ffffffffffffffff');
  expect(bytes('f16', 1.5)).toBe('003e');
  const halves = [0.1, -65519, 65520, 2 ** -24, 6e-5, 1 + 2 ** -11, 1 + 3 * 2 ** -11, 1 - 2 ** -13, -0, Infinity, NaN];
  for (const half of halves) {
    const expected = Buffer.alloc(2);
    new DataView(expected.buffer, expected.byteOffset).setFloat16(0, half, true);
    expect([half, bytes('f16', half)]).toEqual([half, expected.toString('hex')]);
  }
  expect(bytes('bf16', -1.5)).toBe('c0bf');
  // A tie is rounded to the even neighbour. A value above a tie is rounded upwards.
  expect(bytes('bf16', 1 + 2 ** -8)).toBe('803f');
  expect(bytes('bf16', 1 + 3 * 2 ** -8)).toBe('823f');
  expect(bytes('f64', 1)).toBe('000000000000f03f');
});

it('the elements of an output may depend on the units', () => {
  const count = (text: string | number) =>
    outputCount({ name: 'y', type: 'f32', output: { count: text, absolute: 0, relative: 0 } }, 10);
  expect(unwrap(count('{units} + 1'))).toBe(11);
  expect(unwrap(count(3))).toBe(3);
  expect(refusal(count('units / 4'))).toMatch(/"count" is units \/ 4, which is 2\.5 for 10 units\. .* with ceil/);
});

describe('the launches of a design', () => {
  it('are one, or one for each class with units, in the order of the classes', () => {
    expect(unitLaunches(design, lengths)).toEqual([{ threadsPerUnit: 1, gridBlocks: 3, firstUnit: 0, units: 5 }]);
    expect(unitLaunches(MIXED, lengths)).toEqual([
      { threadsPerUnit: 1, gridBlocks: 1, firstUnit: 0, units: 3 },
      { threadsPerUnit: 64, gridBlocks: 2, firstUnit: 3, units: 2 },
    ]);
    expect([...unwrap(designOrder(MIXED, lengths, 32))]).toEqual([1, 2, 4, 0, 3]);
  });

  it('take units in the order of the balancing', () => {
    const order = (balancing: string): number[] => [...unwrap(designOrder({ ...design, balancing }, lengths, 32))];
    expect(order('none')).toEqual([0, 1, 2, 3, 4]);
    expect(order('merge-path')).toEqual([0, 1, 2, 3, 4]);
    expect(order('full-sort')).toEqual([4, 1, 2, 3, 0]);
    expect(order('window-sort(2)')).toEqual([1, 0, 2, 3, 4]);
    expect(refusal(designOrder({ ...design, balancing: 'best-buckets(2)' }, lengths, null))).toMatch(/width/);
  });

  it('have the same key if they have the same order', () => {
    const keys = (balancing: string, ...blocks: number[]) =>
      blocks.map((blockThreads) => orderKey({ ...design, balancing, blockThreads }));
    expect(new Set(keys('window-sort(2)', 32, 64)).size).toBe(1);
    expect(new Set(keys('best-buckets(2)', 32, 64)).size).toBe(2);
    const otherGrid = MIXED.classes!.map((one) => ({ ...one, gridBlocks: one.gridBlocks + 1 }));
    expect(orderKey({ ...MIXED, classes: otherGrid })).toBe(orderKey(MIXED));
    const otherEnd = MIXED.classes!.map((one) => ({ ...one, upTo: one.upTo && one.upTo + 1 }));
    expect(orderKey({ ...MIXED, classes: otherEnd })).not.toBe(orderKey(MIXED));
  });

  it('have the values that a manifest names', () => {
    const [, second] = unitLaunches(MIXED, lengths);
    const values = launchValues(MIXED, second, 5);
    const named = { units: 5, launchUnits: 2, firstUnit: 3, threadsPerUnit: 64, gridBlocks: 2, blockThreads: 64, unitsPerThread: 2 }; // prettier-ignore
    for (const [name, value] of Object.entries(named)) expect(resolveNumber(`{${name}}`, values), name).toBe(value);
    expect([2.5, '4 * {blockThreads} + 1'].map((text) => resolveNumber(text, values))).toEqual([2.5, 257]);
  });
});

it('an output is correct if each element is within its tolerance', () => {
  const argument = { name: 'y', type: 'f32', output: { count: 3, absolute: 0.25, relative: 0.5 } } as const;
  const check = (...found: number[]) => checkOutput(argument, Float32Array.from(found), Float32Array.of(0, 2, -4));
  expect(check(0.25, 3.25, -6.25)).toEqual({ maxError: 2.25, wrong: 0, message: '' });
  expect(check(0.5, 2, -4)).toMatchObject({ wrong: 1, message: /element 0 is 0\.5 instead of 0/ });
  expect(check(0, 2, Number.NaN)).toMatchObject({ maxError: null, wrong: 1 });
  expect(checkOutput(argument, [Infinity], [Infinity])).toMatchObject({ maxError: 0, wrong: 0 });
});

it('a path is one word of a command line, whatever characters it has', () => {
  const values = { binary: 'BINARY' } as Parameters<typeof substituted>[1];
  for (const path of ['/a b/c', `/it's "x"`, 'C:\\new\\ folder', '/{binary}/{units}'])
    expect(unwrap(splitCommand(quotedWord(path))).map((word) => substituted(word, values))).toEqual([path]);
});

describe('compressed sparse rows', () => {
  const file = (banner: string, ...lines: string[]) => chunks(`%%MatrixMarket matrix ${banner}\n${lines.join('\n')}\n`);
  const arrays = async (...of: Parameters<typeof file>): Promise<number[][]> => {
    const { rowStarts, columns, values } = unwrap(await readCsr(file(...of), 'mtx:x'));
    return [[...rowStarts], [...columns], [...values]];
  };

  it('have the entries of each row by ascending column, mirrored if the file has only a triangle', async () => {
    const entries = ['3 3 3', '3 1 2.5', '1 1 1', '3 2 -1D1'] as const;
    expect(await arrays('coordinate real general', ...entries)).toEqual([
      [0, 1, 1, 3],
      [0, 0, 1],
      [1, 2.5, -10],
    ]);
    expect(await arrays('coordinate real symmetric', ...entries)).toEqual([
      [0, 2, 3, 5],
      [0, 2, 2, 0, 1],
      [1, 2.5, -10, 2.5, -10],
    ]);
    expect(await arrays('coordinate real skew-symmetric', '2 2 1', '2 1 3')).toEqual([
      [0, 1, 2],
      [1, 0],
      [-3, 3],
    ]);
    expect(await arrays('coordinate pattern general', '2 2 1', '2 1')).toEqual([[0, 0, 1], [0], [1]]);
    expect(await arrays('array real general', '2 2', '0', '5', '6', '0')).toEqual([
      [0, 1, 2],
      [1, 0],
      [6, 5],
    ]);
  });

  it('need real values', async () => {
    const read = await readCsr(file('coordinate complex general', '1 1 1', '1 1 2 3'), 'mtx:x');
    expect(refusal(read)).toMatch(/line 1: the values are complex/);
  });
});

describe('a design in OpenCL', () => {
  const shared = {
    ...manifest,
    entries: manifest.entries.map((one) => ({ ...one, sharedBytes: '{blockThreads} / 64' })),
  };
  const task = { manifest: shared, units: lengths.length };

  it('has a launch for each class, with the numbers of the class as bytes', () => {
    const { entry, launches } = unwrap(openclLaunches(task, MIXED, lengths));
    expect(entry).toBe('classOfRows');
    const ofPlaces = (firstRow: string, launchRows: string, threads: string, gridBlocks: string) =>
      ({ 6: '05000000', 7: gridBlocks, 8: firstRow, 9: launchRows, 10: threads }) as const;
    expect(launches).toEqual([
      { gridBlocks: 1, options: ['-DBLOCK_THREADS=64'], sharedBytes: 1, values: ofPlaces('00000000', '03000000', '01000000', '01000000') }, // prettier-ignore
      { gridBlocks: 2, options: ['-DBLOCK_THREADS=64'], sharedBytes: 1, values: ofPlaces('03000000', '02000000', '40000000', '02000000') }, // prettier-ignore
    ]);
  });

  it.each<readonly [string, Partial<Design>, (one: typeof shared) => typeof shared]>([
    [
      'The design has a cap of 32 registers per thread, but OpenCL cannot cap registers.',
      { registerCap: 32 },
      (one) => one,
    ],
    [
      '"sharedBytes" is {blockThreads} / 64. For this design that is 0.5, not a whole number',
      { blockThreads: 32 },
      (one) => one,
    ],
    [
      'The argument rows is -1. For this design that is -1, which u32 cannot hold',
      {},
      (one) => ({ ...one, arguments: one.arguments.map((a) => (a.name === 'rows' ? { ...a, value: '-1' } : a)) }),
    ],
  ])('is refused: %s', (words, change, changed) => {
    expect(refusal(openclLaunches({ ...task, manifest: changed(shared) }, { ...design, ...change }, lengths))).toContain(words); // prettier-ignore
  });
});
