import { it } from 'vitest';
import { readKernel } from '../verify/parsers.ts';
import { encode } from '../data.ts';

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
  'files of kernels from anywhere %s: is read or refused',
  (_, text) => {
    for (const kind of ['ptx', 'sass', 'log', 'profile'] as const) readKernel(kind, encode(text));
  },
  // Reading takes seconds. If the work were quadratic, it would take many minutes.
);
