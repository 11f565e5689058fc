import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { kernelFileKind, type Inspection } from '../../src-workers/domain/inspection.ts';
import type { Result } from '../../src-workers/domain/result.ts';
import { inspectKernel, type KernelTexts } from '../../src-workers/inspect/inspect.ts';

const PTX = readFileSync('test/data/inspect/kernels.ptx', 'utf8');
const at = (name: string): number => PTX.indexOf(`.visible .entry ${name}(`);
const KERNEL = `.version 9.0\n.target sm_90\n${PTX.slice(at('branches'), at('mandelbrot'))}`;
const SASS = `	.target	sm_90
.text.k:
        /*0000*/                   S2R R0, SR_TID.X ;
.L_x_1:
        /*0010*/                   LDG.E R8, desc[UR4][R2.64] ;
        /*0020*/                   ISETP.NE.AND P0, PT, R8, RZ, PT ;
        /*0030*/               @P0 BRA \`(.L_x_1) ;
        /*0040*/                   EXIT ;
`;
const LOG = `ptxas info    : Compiling entry function 'k' for 'sm_90'
    0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 1024 bytes smem
`;
const PROFILE = `"ID","Kernel Name","Block Size","CC","Metric Name","Metric Unit","Metric Value"
"0","k(int)","(256, 1, 1)","9.0","smsp__thread_inst_executed_per_inst_executed.ratio","","16"
"0","k(int)","(256, 1, 1)","9.0","launch__registers_per_thread","","32"
`;
/** The smallest ELF file for a device: its header, and names in the header of its only section. */
const CUBIN = (() => {
  const bytes = new Uint8Array(256);
  const view = new DataView(bytes.buffer);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0x41, 8]);
  view.setUint16(0x12, 190, true);
  view.setBigUint64(0x28, 64n, true);
  view.setUint32(0x30, 0x6005a04, true);
  view.setUint16(0x3a, 64, true);
  view.setUint16(0x3c, 2, true);
  return bytes;
})();

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const FILES: readonly (readonly [keyof KernelTexts, Uint8Array])[] = [
  ['ptx', encode(KERNEL)],
  ['sass', encode(SASS)],
  ['log', encode(LOG)],
  ['profile', encode(PROFILE)],
  ['cubin', CUBIN],
];

/** Whatever was read holds numbers that are numbers; whatever is refused names the file. Anything thrown fails. */
function expectSane(result: Result<Inspection>): void {
  if (!result.ok) {
    expect(result.error.message).toContain('hostile');
    return;
  }
  const { loops, chosen, registersPerThread } = result.value;
  for (const { instructionsPerIteration, dependentLoads, shortestPath, byClass } of loops) {
    const sum = Object.values(byClass).reduce((a, b) => a + b, 0);
    // Parts of unrolled loops are rounded to six digits each.
    expect(Math.abs(sum - instructionsPerIteration)).toBeLessThanOrEqual(1e-4 * instructionsPerIteration);
    expect(shortestPath).toBeLessThanOrEqual(instructionsPerIteration);
    expect(dependentLoads).toBeLessThanOrEqual(instructionsPerIteration);
  }
  if (chosen) expect(loops[chosen.loop]).toBeDefined();
  if (registersPerThread !== null) expect(Number.isFinite(registersPerThread)).toBe(true);
}

const textsOf = (kind: keyof KernelTexts, bytes: Uint8Array): KernelTexts => ({
  [kind]: kind === 'cubin' ? bytes : new TextDecoder().decode(bytes),
});
const TOKENS = [
  ...[
    '.version 9.0\n',
    '.target sm_90\n',
    '.entry k(',
    ')\n{\n',
    '}',
    '{',
    ';',
    '\n',
    '$L:',
    '@%p1 bra $L',
    'bra $L',
    'brx.idx %r1, $L',
  ],
  ...[
    'ld.global.u32 %r1, [%r1]',
    '.loc 1 3 1\n',
    '// lockstep:loop\n',
    '/*',
    '*/',
    'L: .branchtargets $L',
    '\t/*0010*/ ',
    'BRA 0x10 ;\n',
  ],
  ...[
    '.text.k:\n',
    '@P0 ',
    'LDG.E R1, [R1.64]',
    ' EXIT ;\n',
    'Function : k\n',
    '"ID",',
    '"Kernel Name"',
    '"0","k"',
    ',',
    '"',
  ],
];

describe('files of kernels from anywhere', () => {
  it.each(FILES)('%s with pieces replaced', (kind, whole) => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(whole.length), fc.nat(40), fc.uint8Array({ maxLength: 12 })), {
          minLength: 1,
          maxLength: 4,
        }),
        (edits) => {
          let bytes = whole;
          for (const [from, removed, put] of edits)
            bytes = Uint8Array.from([...bytes.subarray(0, from), ...put, ...bytes.subarray(from + removed)]);
          kernelFileKind('hostile', bytes);
          expectSane(inspectKernel('hostile', textsOf(kind, bytes), {}));
        },
      ),
      { numRuns: 150 },
    );
  });
  it('made of the words of all formats', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...TOKENS), { maxLength: 80 }),
        fc.constantFrom('ptx', 'sass', 'log', 'profile'),
        (words, kind) =>
          expectSane(inspectKernel('hostile', textsOf(kind as keyof KernelTexts, encode(words.join(''))), {})),
      ),
      { numRuns: 400 },
    );
  });
  it.each([
    ['open comments', '/*'.repeat(200_000)],
    ['empty lines', '\n'.repeat(1_000_000)],
    ['a statement without end', `.entry k()\n{\n${'add %r1,\n'.repeat(200_000)}`],
    ['labels alone', `.entry k()\n{\n${'$L:'.repeat(100_000)}}`],
    ['one long line of commas', `.text.k:\n/*0010*/ A ${','.repeat(1_000_000)};`],
    [
      'loops in loops',
      `.entry k()\n{\n${Array.from({ length: 800 }, (_, i) => `$L${i}:\nadd.s32 %r${i}, %r${i}, 1;`).join('\n')}\n${Array.from({ length: 800 }, (_, i) => `@%p1 bra $L${799 - i};`).join('\n')}\nret;\n}`,
    ],
    ...[19_000, 150_000].map((many) => [
      `${many} branches to one place`,
      `.entry k()\n{\nadd.s32 %r1, %r1, 1;\n$L:\n${'@%p1 bra $L;\n'.repeat(many)}ret;\n}`,
    ]),
  ])(
    '%s: read or refused',
    (_, text) => {
      kernelFileKind('hostile', encode(text));
      for (const kind of ['ptx', 'sass', 'log', 'profile'] as const)
        expectSane(inspectKernel('hostile', { [kind]: text }, {}));
    },
    // Seconds; a way to read that grows with the square of these sizes takes many minutes.
    120_000,
  );
});
