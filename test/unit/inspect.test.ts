import { describe, expect, it } from 'vitest';
import {
  inspectedFields,
  kernelFileKind,
  withInspected,
  type Inspection,
} from '../../src-workers/domain/inspection.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { inspectKernel, sourceName, type Asked, type KernelTexts } from '../../src-workers/inspect/inspect.ts';
import { fitLengths } from '../../src-workers/inspect/lengths.ts';
import { lossMoments } from '../../src-workers/models/imbalance/closed-form.ts';
import { resolveWorkload } from '../../src-workers/parse/grammar.ts';
import { dataText, encode } from '../data.ts';

const PTX = dataText('inspect/kernels.ptx');
const read = (texts: KernelTexts, asked: Asked = {}): Inspection => unwrap(inspectKernel('file', texts, asked));
const chosenOf = ({ loops, chosen }: Inspection) => loops[chosen!.loop];

describe('loops of PTX', () => {
  it('chase: has the counts made by hand', () => {
    // The lists have all instructions of an iteration, by class. Both loads read the node that the last pass loaded.
    const byHand = {
      memory: ['ld.global.v2.u32 {%r16, %r17}, [%rd11]', 'ld.global.f64 %fd2, [%rd11+8]'],
      fp64: ['setp.lt.f64 %p2, %fd1, %fd2'],
      integer: [
        ...['mov.u32 %r5, %r23', 'mul.wide.s32 %rd10, %r24, 16', 'add.s64 %rd11, %rd3, %rd10'],
        ...['selp.b32 %r24, %r16, %r17, %p2', 'add.s32 %r23, %r5, 1', 'setp.gt.s32 %p3, %r24, -1'],
      ],
      control: ['@%p3 bra $L__BB2_3'],
    };
    const body = PTX.slice(PTX.indexOf('.entry chase('));
    const spaced = body.slice(0, body.indexOf('\n}')).replaceAll(/\s+/g, ' ');
    for (const one of Object.values(byHand).flat()) expect(spaced).toContain(`${one};`);
    const byClass = { fp32: 0, integer: 6, fp64: 1, special: 0, memory: 2, control: 1 };
    const counts = { line: 34, instructionsPerIteration: 10, dependentLoads: 1, unrolled: 1, byClass };
    expect(chosenOf(read({ ptx: PTX }, { entry: 'chase' }))).toMatchObject({ ...counts, divergent: true });
    const integer = { instructionsPerIteration: 8, dependentLoads: 0, byClass: { integer: 7, control: 1 } };
    expect(chosenOf(read({ ptx: PTX }, { entry: 'collatz' }))).toMatchObject({ line: 18, ...integer });
  });

  it.each([
    ['', 1],
    ['st.global.u32 [%rd4], %r5;', 2],
  ])('waits for an atomic only if its result is read: %j', (use, dependentLoads) => {
    const ptx = dataText('inspect/histogram.ptx').replace('// use of %r5', use);
    const found = read({ ptx });
    expect(chosenOf(found).dependentLoads).toBe(dependentLoads);
    expect(found.notes.join(' ')).toContain('An iteration has 1 atomic on device memory.');
  });

  it('divides an unrolled loop by the step of its counter, by a given number, and by its marks', () => {
    const csr = read({ ptx: PTX }, { entry: 'csr' });
    // Four iterations have 12 loads, 12 multiplications, the counters of two arrays, two comparisons and the branch.
    const quarter = { instructionsPerIteration: 7.25, unrolled: 4, byClass: { fp32: 1 }, dependentLoads: 0.5 };
    expect(chosenOf(csr)).toMatchObject(quarter);
    expect(csr.notes.join(' ')).toContain('loop 1, with 12 instructions');
    const asked = chosenOf(read({ ptx: PTX }, { entry: 'csr', iterationsPerLoop: 2 }));
    expect(asked).toMatchObject({ instructionsPerIteration: 14.5, unrolled: 2 });
    const marked = read({ ptx: PTX }, { entry: 'marked' });
    expect(marked.chosen!.why).toContain('marked');
    const found = { marked: true, divergent: false, unrolled: 4, instructionsPerIteration: 8.25 };
    expect(chosenOf(marked)).toMatchObject(found);
    expect(marked.loops.flatMap((loop) => (loop.marked ? [loop.unrolled] : [])).sort()).toEqual([1, 4]);
    // Without the marks, inspection chooses the loop whose end differs between threads.
    const plain = read({ ptx: PTX.replaceAll('// lockstep:loop', '') }, { entry: 'marked' });
    expect(chosenOf(plain)).toMatchObject({ divergent: true, line: 55 });
    expect(read({ ptx: PTX }, { entry: 'marked', loop: 4 }).chosen).toEqual({ loop: 3, why: 'as asked' });
  });

  it('counts both sides of a branch, and the shorter one', () => {
    const loop = chosenOf(read({ ptx: PTX }, { entry: 'branches' }));
    // 7 instructions are before the branch, 5 at the end, 6 and 1 left, 9 right. PTX has one more branch.
    const paths = { instructionsPerIteration: 7 + 1 + 6 + 10 + 5, shortestPath: 7 + 1 + 6 + 5 };
    expect(loop).toMatchObject({ ...paths, dependentLoads: 1 });
  });

  it('counts a load that a branch needs like one that an address needs', () => {
    const loads = (body: string): number => {
      const ptx = `.version 9.0\n.target sm_90\n.entry k()\n{\n$L_1:\n${body}\nsetp.gt.s32 %p1, %r9, %tid.x;\n@%p1 bra $L_1;\nret;\n}`;
      return chosenOf(read({ ptx })).dependentLoads;
    };
    expect(loads('ld.global.u32 %r1, [%rd1];\nld.global.u32 %r2, [%rd2];')).toBe(1);
    expect(loads('ld.global.u32 %r1, [%rd1];\nld.global.u32 %r2, [%r1];\nld.shared.u32 %r3, [%r2];')).toBe(2);
    expect(
      loads('ld.global.u32 %r1, [%rd1];\nsetp.eq.s32 %p2, %r1, 0;\n@%p2 bra $L_2;\nld.global.u32 %r2, [%rd2];\n$L_2:'),
    ).toBe(2);
    expect(loads('ld.global.u32 %r1, [%rd1];\nmov.u32 %r1, 0;\nld.global.u32 %r2, [%r1];')).toBe(1);
    expect(loads('ld.global.u32 %r1, [%rd1];\n@%p3 mov.u32 %r1, 0;\nld.global.u32 %r2, [%r1];')).toBe(2);
  });

  it.each([
    ['ld.global.f32 %f1, [%rd6];', true],
    ['ld.global.f32 %f1, [%rd1];', false],
  ])('an end that depends on where a thread left an earlier loop differs if that did: %j', (sought, divergent) => {
    // while (at < m && table[at] < sought) at++; for (k = counts[at]; k > 0; k--) …
    const ptx = dataText('inspect/pick.ptx').replace('// load of %f1', sought);
    expect(read({ ptx }).loops.map((loop) => loop.divergent)).toEqual([divergent, divergent]);
  });

  it('says if a part of the shared memory is not known', () => {
    const noted = (entry: string) => read({ ptx: PTX }, { entry }).notes.some((note) => note.includes('dynamic'));
    expect([noted('walk'), noted('histogram'), noted('csr')]).toEqual([true, false, false]);
  });

  it('names kernels as in the source, and lists them if the user must choose one', () => {
    expect(sourceName('_ZN5walks4walkIiEEvPKT_PS1_i')).toBe('walk');
    expect(sourceName('_Z3csrPKi')).toBe('csr');
    expect(sourceName('void spmv::csr<float>(const float *)')).toBe('csr');
    expect(read({ ptx: PTX }, { entry: 'walk' }).entry).toBe('_ZN5walks4walkIiEEvPKT_PS1_i');
    const several = inspectKernel('kernels.ptx', { ptx: PTX }, {});
    expect(several).toFail('bad-input');
    expect(JSON.stringify(several)).toContain('collatz');
    for (const absent of [{ entry: 'cs' }, { entry: 'csr', arch: 'sm_80' }, { entry: 'csr', loop: 3 }])
      expect(inspectKernel('kernels.ptx', { ptx: PTX }, absent)).toFail('not-found');
  });
});

/** This loop over a row has two loads in a chain, an FMA, three integer instructions and the branch. */
const LISTED = dataText('inspect/csr.sm_90.sass');

describe('loops of machine code', () => {
  const expected = {
    instructionsPerIteration: 9,
    byClass: { fp32: 1, integer: 3, fp64: 0, special: 1, memory: 3, control: 1 },
    dependentLoads: 2,
    divergent: true,
    unrolled: 1,
  };
  it('reads a listing of nvdisasm with its lines', () => {
    const found = read({ sass: LISTED });
    expect(found).toMatchObject({ entry: 'csr', arch: 'sm_90', from: 'sass', loops: [{ ...expected, line: 9 }] });
    expect(found).toMatchObject({
      // The access to the element at the column is marked as scattered. The access to the column itself is not.
      accesses: [{ pattern: 'scattered', elementBytes: 4 }],
      phases: { prologue: { instructions: 2 }, unit: { instructions: 6, dependentLoads: 1, bytes: 8 } },
    });
  });
  it('reads a listing of cuobjdump, which has addresses instead of labels', () => {
    const lines = LISTED.replace(/^[\s\S]*?\.text\.csr:\n/, '\tcode for sm_80\n\t\tFunction : csr\n')
      .replaceAll(/^(\s+\/\/##.*|\.L_x_\d:)\n/gm, '')
      .replace('`(.L_x_1)', '0x60')
      .replace('`(.L_x_2)', '0x110')
      .replaceAll(/;$/gm, ';                      /* 0x000000ff00007202 */');
    expect(read({ sass: lines })).toMatchObject({ arch: 'sm_80', loops: [{ ...expected, line: null }] });
  });
  it.each([
    ['ISETP.NE.AND P0, PT, R6, RZ, PT', 'ISETP.NE.AND P0 R6, RZ, PT'],
    ['IADD3 R6, P1, P2, R6, -0x1, RZ', 'IADD3 R6'],
    ['IADD3 R6, P1, P2, R6, -0x1, RZ', 'SHL R6, R6 2'],
    ['IADD3 R6, P1, P2, R6, -0x1, RZ', 'IMAD R6, R6'],
  ])('reads a listing in which %s lost operands: %s', (whole, damaged) => {
    const found = read({ sass: LISTED.replace(whole, damaged) });
    expect(found).toMatchObject({ entry: 'csr', loops: [{ instructionsPerIteration: 9 }] });
  });
  it('takes marks from the PTX beside it, by their lines', () => {
    const ptx = `.version 9.0\n.target sm_90\n.entry csr()\n{\n$L_1:\n.loc 1 9 1\n// lockstep:loop\nadd.s32 %r1, %r1, 1;\n@%p1 bra $L_1;\nret;\n}`;
    expect(chosenOf(read({ ptx, sass: LISTED }))).toMatchObject({ marked: true, instructionsPerIteration: 9 });
  });
});

describe('a profile', () => {
  const LONG = dataText('inspect/launch-by-metric.ncu.csv');
  const WIDE = `"ID","Kernel Name","Block Size","Grid Size","CC","gpu__time_duration.sum","launch__registers_per_thread","smsp__thread_inst_executed_per_inst_executed.ratio"
"","","","","","ms","register/thread",""
"0","csr(int)","(256, 1, 1)","(10, 2, 1)","8.0","1","40","8"
"1","csr(int)","(256, 1, 1)","(10, 2, 1)","8.0","3","40","24"
`;
  it('is read with one line for each metric', () => {
    expect(read({ profile: LONG })).toMatchObject({
      entry: 'csr(const int *, int)',
      arch: 'sm_90',
      from: 'ncu',
      registersPerThread: 32,
      sharedMemoryBytesPerBlock: 1020,
      launch: {
        launches: 1,
        blockThreads: 256,
        gridBlocks: 1024,
        durationMs: 1.5005,
        dramBytes: 2.5e6,
        executedInstructions: 1_250_000,
        // On a German system, numbers are written in this form.
        issuedInstructions: 1_310_720.5,
        l1Sectors: null,
        l2Sectors: 9,
        meanActiveLanes: 16,
      },
      loops: [],
      chosen: null,
    });
  });
  it('is read with one column for each metric, and launches are weighted by their durations', () =>
    expect(read({ profile: WIDE }, { entry: 'csr' })).toMatchObject({
      registersPerThread: 40,
      sharedMemoryBytesPerBlock: null,
      launch: { launches: 2, gridBlocks: 20, durationMs: 4, meanActiveLanes: 20 },
      lengths: { aggregateLoss: 1.6 },
    }));
  it.each([
    [31, null],
    [16, null],
    [9, null],
    [31, 40],
    [6, 40],
  ])('with %d active lanes and mean %s gives a law with that loss', async (lanes, mean) => {
    const fitted = unwrap(fitLengths(lanes, mean));
    const law = unwrap(await resolveWorkload(fitted.lengths, { openFile: () => Promise.reject(new Error('no file')) }));
    expect(lossMoments(law, [32])[0].aggregateLoss).toBeCloseTo(32 / lanes, 3);
    if (mean !== null) expect(fitted.mean / mean).toBeCloseTo(1, 1);
    expect(fitted.note).toContain('fitted');
  });
  it('names a family of laws that cannot have such a loss', () => {
    expect(fitLengths(7, null)).toFail('unsupported');
    expect(fitLengths(1.5, 40)).toFail('unsupported');
    // The remaining fields of the profile are still used.
    expect(read({ profile: LONG.replace('"16"', '"7"') }).lengths).toBeNull();
  });
});

it.each([
  ['ptx', 'k.txt', PTX],
  ['sass', 'k.txt', LISTED],
  ['source', 'K.CU', ''],
  ['ptxas', 'log', "ptxas info    : Compiling entry function 'k' for 'sm_90'"],
  ['ncu', 'p.csv', '==PROF== x\n"ID","Kernel Name","CC"\n'],
  ['cubin', 'k', '\x7fELF\x02'],
  [null, 'lengths.csv', 'id,steps\n1,5\n'],
  [null, 'm.mtx', '%%MatrixMarket matrix'],
  [null, 's.json', '{"lockstep": 1}'],
])('the kind of a file by its content: %s of %s', (kind, name, text) =>
  expect(kernelFileKind(name, encode(text))).toBe(kind),
);

it('changes the known fields of a kernel, marks them as imported, and removes the fields that they replace', () => {
  const found = inspectedFields(read({ ptx: PTX }, { entry: 'chase' }));
  const numbers = { registersPerThread: 40, setupIterationsPerUnit: 3, serialFraction: 0.1, kneeSoftness: 5 };
  const kernel = {
    name: 'walk',
    ...numbers,
    // What code cannot show stays with an array of the same pattern and element.
    accesses: [{ pattern: 'scattered', elementBytes: 16, footprintBytes: 3_200_000, missFraction: 1 } as const],
    origins: { registersPerThread: 'given', setupIterationsPerUnit: 'given', kneeSoftness: 'given' },
  };
  const { prologue: _prologue, unit: _unit, ...flat } = found;
  const shares = { integerShare: 0.6, fp64Share: 0.1, specialShare: 0, threeRegisterShare: 0 };
  expect(flat).toEqual({
    instructionsPerIteration: 10,
    ...shares,
    chainInstructions: 6.875,
    dependentExchanges: 0,
    dependentLoadsPerIteration: 1,
    accesses: [{ pattern: 'scattered', elementBytes: 16 }],
    // Each iteration loads the address of the next iteration.
    sharing: 'split',
    serialFraction: 1,
  });
  const replaced = { cooperationCost: 0, flattenedCost: 0, bytesPerIteration: 0 };
  const imported = Object.fromEntries(Object.keys({ ...found, ...replaced }).map((field) => [field, 'imported']));
  const written = JSON.parse(JSON.stringify(withInspected(kernel, found))) as typeof kernel;
  expect(written).toEqual({
    name: 'walk',
    registersPerThread: 40,
    kneeSoftness: 5,
    ...found,
    ...replaced,
    accesses: kernel.accesses,
    origins: { registersPerThread: 'given', kneeSoftness: 'given', ...imported },
  });
});

it('writes a kernel with a single loop, without the phases around it', () => {
  const loops = dataText('cycle-sim/loops.ptx');
  const kernel = { accesses: [], unit: { instructions: 9 }, combine: { instructions: 4 }, origins: {} };
  const written = withInspected(kernel, inspectedFields(read({ ptx: loops }, { entry: 'flatone1' })));
  expect(JSON.parse(JSON.stringify(written))).toMatchObject({
    bytesPerIteration: 0,
    refill: { instructions: 11 },
    combine: { instructions: 4 },
    origins: { refill: 'imported', bytesPerIteration: 'imported' },
  });
  expect([written.accesses, written.unit]).toEqual([undefined, undefined]);
});
