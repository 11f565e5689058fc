import { describe, expect, it } from 'vitest';
import { inspectedFields, listUnknown, selectFields, type Inspection } from '../../src-workers/domain/inspection.ts';
import type { Phase } from '../../src-workers/domain/kernel.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { demangled } from '../../src-workers/inspect/demangle.ts';
import { inspectKernel, type KernelTexts } from '../../src-workers/inspect/inspect.ts';
import { dataText } from '../data.ts';

const LOOPS = dataText('cycle-sim/loops.ptx');
const PHASES = dataText('inspect/phases.ptx');
const KERNELS = dataText('inspect/kernels.ptx');
const CODES: Readonly<Record<string, KernelTexts>> = {
  ptx: { ptx: dataText('inspect/unrolled.ptx') },
  sm_80: { sass: dataText('inspect/unrolled.sm_80.sass') },
  sm_90: { sass: dataText('inspect/unrolled.sm_90.sass') },
};
const readCode = (code: string, entry: string): Inspection => unwrap(inspectKernel('file', CODES[code], { entry }));
const read = (ptx: string, entry: string): Inspection => unwrap(inspectKernel('file', { ptx }, { entry }));
const stepOf = ({ loops, chosen }: Inspection) => loops[chosen!.loop];
const patternsOf = ({ accesses }: Inspection) => accesses.map((one) => `${one.pattern} ${one.elementBytes}`);
const readEither = (entry: string) => read(LOOPS.includes(`.entry ${entry}(`) ? LOOPS : PHASES, entry);
const found = (phase: Phase | undefined) =>
  phase && [phase.instructions, phase.dependentExchanges ?? 0, phase.dependentLoads ?? 0, phase.bytes ?? 0];

describe('FP32 instructions that read three registers', () => {
  const SASS = dataText('measured/h100-loops.sass');
  // The loop of nested1 is a chain of 16 instructions a·b + c. The loop of spmv8 has one such instruction.
  it.each(Object.entries({ nested1: 16, spmv8: 1 }))('%s has %i, in PTX and in machine code', (entry, count) => {
    for (const texts of [{ ptx: LOOPS }, { sass: SASS }])
      expect(stepOf(unwrap(inspectKernel('file', texts, { entry }))).threeRegisters).toBe(count);
  });

  it('are those that find no operand of the instruction before', () => {
    // The kernel has 16 FP32 instructions with three operands. In PTX, they count if the one before is of their own
    // chain, or if there is none before. In machine code, they count if the one before has no reuse mark.
    const counted = [{ ptx: LOOPS }, { sass: SASS }].map((texts) => inspectKernel('file', texts, { entry: 'ilp1' }));
    expect(counted.map((one) => stepOf(unwrap(one)).threeRegisters)).toEqual([5, 2]);
  });
});

describe('phases of PTX', () => {
  const THREE_STEPS = [Number(((7 + 5 + 5) / 3).toPrecision(4)), 1, 0, 0];
  // The tree has 15 instructions for each of two values over all three steps, and five constants.
  const TREE = [Number(((2 * 15 + 5) / 3).toPrecision(4)), 1, 0, 0];
  const BLOCK_ROW = [5 + 1 + 3 + 1 + 1 + 9 + 2 + 5 + 1, 2, 1, 12];
  // The counts were made by hand, with one term per block: instructions, then exchanges, loads on the chain, bytes.
  it.each([
    ['nested1', 19, { prologue: [8 + 9 + 1, 0, 0, 0], unit: [2 + 7 + 1 + 3 + 4, 0, 1, 8] }],
    // The first of the three steps loads the constants for all steps.
    ['nested8', 19, { prologue: [17 + 7 + 1, 0, 0, 0], unit: [3 + 5 + 1 + 3 + 3 + 4, 0, 1, 8], combine: THREE_STEPS }],
    ['nested32', 19, { prologue: [25, 0, 0, 0], unit: [19, 0, 1, 8], combine: [(7 + 4 * 5) / 5, 1, 0, 0] }],
    ['ilp1', 19, { prologue: [8 + 9 + 1, 0, 0, 0], unit: [2 + 10 + 4 + 6 + 4, 0, 1, 8] }],
    // nvcc makes two loops that share a head.
    ['flat1', 19, { prologue: [12 + 8 + 1, 0, 1, 4], unit: [6 + 4, 0, 1, 8] }],
    ['flatone1', 19 + 2, { prologue: [12 + 7 + 1, 0, 1, 4], refill: [7 + 4, 0, 1, 8] }],
    // The counter has the same address for all threads.
    ['fetchone1', 19 + 2, { prologue: [11 + 5 + 1, 0, 2, 4], refill: [7 + 4, 0, 2, 8] }],
    ['spmv1', 11, { prologue: [9 + 12 + 1, 0, 0, 0], unit: [2 + 7 + 4 + 2 + 4, 0, 1, 12] }],
    ['spmv8', 11, { prologue: [18 + 10 + 1, 0, 0, 0], unit: [3 + 7 + 4 + 3 + 3 + 4, 0, 1, 12], combine: THREE_STEPS }],
    ['shared4', 17, { prologue: [16 + 5, 0, 0, 0], unit: [3 + 5 + 2 + 4 + 1, 0, 2, 12] }],
    ['minmax', 7, { prologue: [16 + 6 + 1, 0, 0, 0], unit: [10 + 4 + 2 + 3 + 4, 0, 1, 24], combine: TREE }],
    ['blockrow', 7, { prologue: [9, 0, 0, 0], unit: BLOCK_ROW, combine: [2 + 6 + 4, 2, 0, 0] }],
    ['running', 11 / 2, { prologue: [12 + 3, 0, 0, 0], unit: [4 + 7 + 3 + 3 + 5 + 1, 0, 1, 8] }],
    ['flat', 3 + 6 + 2, { prologue: [8 + 5 + 1, 0, 0, 0], refill: [7, 0, 0, 4] }],
  ])('%s: has the counts made by hand', (entry, step, byHand: Readonly<Record<string, readonly number[]>>) => {
    const inspection = readEither(entry);
    expect(stepOf(inspection).instructionsPerIteration).toBe(step);
    const phases = Object.entries(inspection.phases).map(([name, phase]) => [name, found(phase)]);
    expect(Object.fromEntries(phases)).toEqual(byHand);
  });

  it('finds how long an iteration waits for its own results', () => {
    // In a cycle-level simulator with a latency of 8 cycles, an iteration of these two loops takes 153 and 78 cycles.
    expect(stepOf(read(LOOPS, 'nested1')).chainInstructions * 8).toBeNear(153, 0.05);
    expect(stepOf(read(LOOPS, 'ilp1')).chainInstructions * 8).toBeNear(78, 0.05);
    // The chain has the load of the column and of x, each with its address, three additions, comparison and branch.
    const spmv = stepOf(read(LOOPS, 'spmv1'));
    expect(spmv.chainInstructions).toBeCloseTo(1 + 1 + 1 + 1.5 + 7 / 8 + 7 / 8, 1);
    expect(spmv).toMatchObject({ dependentLoads: 2, dependentExchanges: 0 });
    expect(stepOf(read(PHASES, 'shared4'))).toMatchObject({ dependentLoads: 0, dependentExchanges: 2 });
  });

  it.each([
    ['nested8', []],
    ['spmv8', ['along-unit 4', 'along-unit 4', 'scattered 4']],
    ['ell', ['across-lanes 4', 'across-lanes 4', 'scattered 4']],
    ['sell', ['across-lanes 8']],
    ['blockrow', ['along-unit 4']],
    ['minmax', ['along-unit 8']],
    ['push', ['along-unit 4', 'scattered 4']],
    ['records', ['scattered 4']],
    ['fill', ['across-lanes 4']],
    // The loop reads both halves of a node, at two addresses, and the list of hits.
    ['traverse', ['scattered 8', 'scattered 8', 'scattered 4']],
    // The counts are for one of the four iterations in a pass.
    ['unrolled', ['along-unit 4', 'along-unit 4', 'scattered 4']],
  ])('%s reads %j in an iteration', (entry, accesses) => expect(patternsOf(readEither(entry))).toEqual(accesses));

  // In these kernels, the next iteration needs the previous result: escape times, Newton's method, walks along a list. In
  // the others it does not: sums over rows, and loops whose iterations the code itself gives to several lanes.
  it('recognises an iteration that needs the result of the one before it', () => {
    const entriesOf = ({ sass, ptx }: KernelTexts) =>
      Array.from((sass ?? ptx!).matchAll(/(?:\.entry |^\.text\.)(\w+)/gm), ([, entry]) => entry);
    const serial = (texts: KernelTexts) => {
      const found = entriesOf(texts).map((entry) => unwrap(inspectKernel('file', texts, { entry })));
      const names = found.flatMap(({ serialFraction, name }) => (serialFraction === 1 ? [name] : []));
      return names.sort().join(' ');
    };
    expect(serial({ ptx: KERNELS })).toBe('branches chase collatz mandelbrot marked newton spilling walks::walk<int>');
    for (const texts of [{ ptx: LOOPS }, { sass: dataText('measured/h100-loops.sass') }])
      expect(serial(texts)).toBe('chase fetch1 fetchone1 flat1 flatone1 ilp1 nested1 uniform');
    expect(serial({ ptx: PHASES })).toBe('flat traverse');
    for (const texts of Object.values(CODES)) expect(serial(texts)).toBe('halves steps');
    for (const code of ['ptx', 'sass']) {
      const texts = { [code]: dataText(`inspect/recurrences.${code}`) };
      const waiting = entriesOf(texts).filter((entry) => entry.startsWith('waits'));
      expect(serial(texts)).toBe(waiting.sort().join(' '));
    }
  });

  it('combines nothing if iterations leave no result in a register', () => {
    const histogram = read(KERNELS, 'histogram');
    expect(histogram.phases.combine).toEqual({ instructions: 0 });
    expect(listUnknown(inspectedFields(histogram)).join(' ')).not.toContain('combine');
    expect(readCode('sm_90', 'bins').phases.combine).toEqual({ instructions: 0 });
    // In these kernels, a sum or the length of a list stays in a register.
    for (const [entry, ptx] of Object.entries({ csr: KERNELS, spmv1: LOOPS, traverse: PHASES }))
      expect(read(ptx, entry).phases.combine).toBeUndefined();
  });

  it('distinguishes exchanges within an iteration from those at the end of a unit', () => {
    const sharing = ['nested8', 'spmv1', 'flatone1', 'blockrow', 'shared4'].map((entry) => readEither(entry).sharing);
    expect(sharing).toEqual(['deal', 'deal', 'split', 'deal', 'split']);
    const noted = (entry: string, ptx = LOOPS) =>
      /\d+ threads|neither a load|$/.exec(read(ptx, entry).notes.join())![0];
    const notes = ['8 threads', '32 threads', '', 'neither a load'];
    expect(['nested8', 'nested32', 'spmv1', 'nested1'].map((entry) => noted(entry))).toEqual(notes);
    const redux = LOOPS.replaceAll(/shfl\S+\s+(\S+)\|.p\d+, (\S+,) .*, /g, 'redux.sync.add.s32 $1, $2 ');
    expect(noted('nested32', redux)).toBe('32 threads');
  });

  it('does not mistake a branch for the end of a unit if the unit continues', () => {
    const traverse = read(PHASES, 'traverse');
    expect(Object.keys(traverse.phases)).toEqual(['prologue', 'unit']);
    expect(stepOf(traverse).instructionsPerIteration).toBe(10 + 7 + 3 + 10 + 4 + 4 + 2 + 2);
  });

  it('lists loops that are in no phase, and says if there is no loop or no kernel', () => {
    const ptx = `.version 9.0\n.target sm_90\n.entry k()\n{
$L_1:\nadd.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, 9;\n@%p1 bra $L_1;
$L_2:\nadd.s32 %r2, %r2, 1;\nsetp.lt.s32 %p2, %r2, %tid.x;\n@%p2 bra $L_2;\nret;\n}`;
    expect(read(ptx, 'k')).toMatchObject({ chosen: { loop: 1 }, notes: [expect.stringContaining('not counted: 1.')] });
    const without = read(`${ptx.split('$L_1')[0]}ret;\n}`, 'k');
    expect(without.notes).toEqual([expect.stringContaining('has no loop')]);
    expect(listUnknown(inspectedFields(without))[1]).toContain('instructionsPerIteration');
    expect(inspectKernel('k.ptx', { ptx: ptx.slice(0, -1) }, {})).toFail('bad-input', /whole \.entry/);
  });
});

describe('loops that compilers unrolled or left as they were', () => {
  // The first number counts instructions from the head of the loop to its branch back, the second iterations in a pass.
  // Only the ends of `row` and `steps` depend on data. Other loops are strides over all threads or have fixed numbers.
  it.each([
    ['row', 16, { ptx: [29, 4], sm_80: [87, 16], sm_90: [88, 16] }],
    ['column', 25, { ptx: [68, 4], sm_80: [72, 4], sm_90: [73, 4] }],
    // The loop has four steps in its source.
    ['steps', 37, { ptx: [40, 4], sm_80: [39, 4], sm_90: [39, 4] }],
    // The loop that joins the bins has longer passes, but is not chosen.
    ['bins', 55, { ptx: [17, 1], sm_80: [13, 1], sm_90: [12, 1] }],
    ['bodies', 76, { ptx: [1411, 32], sm_80: [996, 32], sm_90: [996, 32] }],
    ['lanes', 91, { ptx: [12, 4], sm_80: [15, 4], sm_90: [15, 4] }],
    ['halves', 99, { ptx: [6, 1], sm_80: [9, 1], sm_90: [9, 1] }],
    ['tensor', 109, { ptx: [8, 1], sm_80: [23, 1], sm_90: [24, 1] }],
  ] as const)('%s: has the counts made by hand', (entry, line, byHand: Readonly<Record<string, readonly number[]>>) => {
    for (const [code, [instructions, iterations]] of Object.entries(byHand)) {
      const loop = stepOf(readCode(code, entry));
      expect(loop, code).toMatchObject({ line, unrolled: iterations, divergent: /row|steps/.test(entry) });
      expect(loop.instructionsPerIteration * iterations).toBeCloseTo(instructions, 2);
    }
  });

  it.each([
    ['row', ['along-unit 4', 'along-unit 4', 'scattered 4'], 12],
    ['column', ['across-lanes 4', 'across-lanes 4', 'across-lanes 4', 'across-lanes 4'], 8],
    ['bins', ['across-lanes 4'], 0],
    // Each lane writes its own result, so its own unit may be a column of a padded slice.
    ['lanes', ['across-lanes 4'], 12],
  ])('%s: machine code and PTX have the same accesses in an iteration and a unit', (entry, accesses, unitBytes) => {
    for (const code of Object.keys(CODES)) {
      const inspection = readCode(code, entry);
      // Iterations that remain after the unrolled loop are outside any loop, but belong to the unrolled loop.
      expect([patternsOf(inspection), inspection.phases.unit?.bytes ?? 0]).toEqual([accesses, unitBytes]);
    }
  });

  it('have the counts made by hand if the body has branches, with lines, without, and on one line as in a macro', () => {
    const ptx = dataText('inspect/branches.ptx');
    for (const text of [ptx, ...['', '\t.loc\t1 20 1\n'].map((line) => ptx.replaceAll(/^\t\.loc.*\n/gm, line))]) {
      const [walk, level] = ['walk', 'level'].map((entry) => read(text, entry));
      // Two branches lead back to the head of the loop, each with its own addition to the number of steps.
      expect([stepOf(walk).unrolled, stepOf(walk).instructionsPerIteration]).toEqual([4, 64 / 4]);
      // The remainder, three copies of an iteration outside any loop, belongs to the unrolled loop.
      expect([stepOf(level).unrolled, found(level.phases.unit)]).toEqual([4, [9 + 5 + 4 + 2 + 3, 0, 2, 12]]);
    }
  });

  it('follows an index of 64 bits that each pass converts from 32 bits', () => {
    const ptx = `.version 9.0\n.target sm_90\n.entry k()\n{
mad.lo.s32 %r1, %ctaid.x, %ntid.x, %tid.x;\nmul.lo.s32 %r2, %nctaid.x, %ntid.x;\ncvt.s64.s32 %rd1, %r1;
$L_1:\nshl.b64 %rd2, %rd1, 2;\nadd.s64 %rd3, %rd4, %rd2;\nld.global.u32 %r3, [%rd3];
add.s32 %r1, %r1, %r2;\ncvt.s64.s32 %rd1, %r1;\nsetp.lt.u64 %p1, %rd1, %rd5;\n@%p1 bra $L_1;\nret;\n}`;
    const found = unwrap(inspectKernel('file', { ptx }, {}));
    expect(found.accesses).toEqual([{ pattern: 'across-lanes', elementBytes: 4 }]);
    // Threads begin at consecutive positions. The stride is the number of threads.
    expect(stepOf(found).divergent).toBe(false);
  });

  it('reports and counts instructions of tensor cores and on halves', () => {
    const notesOf = (code: string, entry: string) => readCode(code, entry).notes.join(' ');
    for (const code of ['sm_80', 'sm_90'])
      expect(notesOf(code, 'tensor')).toMatch(/2 matrix instructions of tensor cores \(HMMA\.16816\.F32\)/);
    expect(notesOf('ptx', 'tensor')).toContain('1 matrix instruction of tensor cores');
    for (const code of Object.keys(CODES))
      expect(notesOf(code, 'halves')).toContain('1 instruction on 16-bit values (1 with two values at once)');
  });

  it('names the inputs that code does not contain, and the field of a study with a CPU that replaces accesses', () => {
    const fields = inspectedFields(readCode('sm_90', 'row'));
    expect(listUnknown(fields).join(' ')).toMatch(/Registers.*footprintBytes.*combine.*refill.*lengths/);
    expect(listUnknown(inspectedFields(readCode('sm_90', 'steps'))).join(' ')).toContain('bytesPerIteration');
    expect(selectFields(fields, false)).toBe(fields);
    expect(selectFields(fields, true)).toMatchObject({ bytesPerIteration: 12 });
    expect(selectFields(fields, true)).not.toHaveProperty('accesses');
  });
});

it.each([
  ['csr', 'csr'],
  ['_Z3csrPKi', 'csr'],
  ['_ZN5walks4walkIiEEvPKT_PS1_i', 'walks::walk<int>'],
  ['_Z13MatrixMulCUDAILi32EEvPfS0_S0_ii', 'MatrixMulCUDA<32>'],
  ['_Z22spmv_csr_scalar_kernelIf11texReaderSPEvPKT_PKiS5_iPS1_', 'spmv_csr_scalar_kernel<float, texReaderSP>'],
  ['_Z1kIPKdLb1ELin3EEvv', 'k<double const*, true, -3>'],
  ['_Z1kISaIiEEvv', 'k<…>'],
  ['_ZN', '_ZN'],
  ['_Z99k', '_Z99k'],
])('names of kernels %s is %s', (mangled, name) => expect(demangled(mangled)).toBe(name));

it('names of kernels are accepted as in the source, and distinguished by their template arguments', () => {
  const kernels = ['_ZN1n4stepIfEEvv', '_ZN1n4stepIdEEvv'].map((name) => `.entry ${name}()\n{\nret;\n}\n`).join('');
  const ptx = `.version 9.0\n.target sm_90\n${kernels}`;
  const step = { entry: '_ZN1n4stepIdEEvv', name: 'n::step<double>' };
  for (const entry of ['n::step<double>', 'step<double>', 'step< double >', '_ZN1n4stepIdEEvv'])
    expect(unwrap(inspectKernel('file', { ptx }, { entry }))).toMatchObject(step);
  const several = inspectKernel('file', { ptx }, { entry: 'step' });
  expect(several).toMatchObject({ ok: false, error: { context: { entries: '_ZN1n4stepIfEEvv\n_ZN1n4stepIdEEvv' } } });
  expect(JSON.stringify(several)).toContain('2 kernels named step: n::step<float>, n::step<double>');
});
