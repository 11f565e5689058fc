import { describe, expect, it } from 'vitest';
import { dataText } from '../data.ts';
import { selectFields, inspectedFields, listUnknown, type Inspection } from '../../src-workers/domain/inspection.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { demangled } from '../../src-workers/inspect/demangle.ts';
import { inspectKernel, type KernelTexts } from '../../src-workers/inspect/inspect.ts';

const listing = (name: string): string => dataText(`inspect/unrolled.${name}`);
const CODES: Readonly<Record<string, KernelTexts>> = {
  ptx: { ptx: listing('ptx') },
  sm_80: { sass: listing('sm_80.sass') },
  sm_90: { sass: listing('sm_90.sass') },
};
const read = (code: string, entry: string): Inspection => unwrap(inspectKernel('file', CODES[code], { entry }));
const chosenOf = ({ loops, chosen }: Inspection) => loops[chosen!.loop];

describe('loops that compilers unrolled or left as they were', () => {
  // The first number counts instructions from the head of the loop to its branch back, the second iterations in a pass.
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
      const loop = chosenOf(read(code, entry));
      expect([code, loop.line, loop.unrolled]).toEqual([code, line, iterations]);
      expect(loop.instructionsPerIteration * iterations).toBeCloseTo(instructions, 2);
    }
  });

  it.each([
    ['row', ['along-unit 4', 'along-unit 4', 'scattered 4'], 12],
    ['column', ['across-lanes 4', 'across-lanes 4', 'across-lanes 4', 'across-lanes 4'], 8],
    ['bins', ['across-lanes 4'], 0],
  ])('%s: machine code and PTX have the same accesses in an iteration and a unit', (entry, accesses, unitBytes) => {
    for (const code of Object.keys(CODES)) {
      const { accesses: found, phases } = read(code, entry);
      expect(found.map(({ pattern, elementBytes }) => `${pattern} ${elementBytes}`)).toEqual(accesses);
      // Iterations that remain after the unrolled loop are outside any loop, but belong to the unrolled loop.
      expect(phases.unit?.bytes ?? 0).toBe(unitBytes);
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
    expect(chosenOf(found).divergent).toBe(false);
  });

  it('distinguishes loops whose end depends on data from strides over all threads', () => {
    for (const code of Object.keys(CODES))
      for (const entry of ['row', 'steps', 'bins'])
        expect([code, entry, chosenOf(read(code, entry)).divergent]).toEqual([code, entry, entry !== 'bins']);
  });

  it('reports and counts instructions of tensor cores and on halves', () => {
    for (const code of ['sm_80', 'sm_90'])
      expect(read(code, 'tensor').notes.join(' ')).toMatch(
        /2 matrix instructions of tensor cores \(HMMA\.16816\.F32\)/,
      );
    expect(read('ptx', 'tensor').notes.join(' ')).toContain('1 matrix instruction of tensor cores');
    for (const code of Object.keys(CODES))
      expect(read(code, 'halves').notes.join(' ')).toContain(
        '1 instruction on 16-bit values (1 with two values at once)',
      );
  });

  it('names the inputs that code does not contain, and the field of a study with a CPU that replaces accesses', () => {
    const fields = inspectedFields(read('sm_90', 'row'));
    expect(listUnknown(fields).join(' ')).toMatch(/Registers.*footprintBytes.*combine.*refill.*lengths/);
    expect(listUnknown(inspectedFields(read('sm_90', 'steps'))).join(' ')).toContain('bytesPerIteration');
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
  for (const entry of ['n::step<double>', 'step<double>', 'step< double >', '_ZN1n4stepIdEEvv'])
    expect(unwrap(inspectKernel('file', { ptx }, { entry }))).toMatchObject({
      entry: '_ZN1n4stepIdEEvv',
      name: 'n::step<double>',
    });
  const several = inspectKernel('file', { ptx }, { entry: 'step' });
  expect(several).toMatchObject({ ok: false, error: { context: { entries: '_ZN1n4stepIfEEvv\n_ZN1n4stepIdEEvv' } } });
  expect(JSON.stringify(several)).toContain('2 kernels named step: n::step<float>, n::step<double>');
});
