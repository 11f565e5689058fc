import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readLengths } from '../../src-workers/parse/length-file.ts';
import { bytesSource } from '../../src-workers/parse/source.ts';
import { findTool, lacks } from '../tools.mjs';
import { testFolder } from '../workplace.ts';
import { dataText } from '../data.ts';

/** Writes files in each format, and prints their lengths or the expected refusal, and options for their columns. */
const PROGRAM = dataText('python/write-lengths.py');

interface Written {
  readonly file: string;
  readonly expected: readonly number[] | string;
  readonly columns: { readonly length?: string };
}

describe.skipIf(lacks('scipy'))('NumPy, SciPy and pandas themselves', () => {
  it('write files, and we read the same lengths or refuse the file with advice', async () => {
    const folder = testFolder();
    const out = execFileSync(findTool('scipy')!, ['-W', 'ignore', '-c', PROGRAM], { cwd: folder, encoding: 'utf8' });
    const written = JSON.parse(out) as readonly Written[];
    expect(written.length).toBeGreaterThan(50);
    for (const { file, expected, columns } of written) {
      const bytes = new Uint8Array(readFileSync(join(folder, file)));
      const chosen = columns.length === undefined ? undefined : { ...columns, length: columns.length };
      const read = await readLengths(bytesSource(bytes), file, chosen);
      if (typeof expected === 'string') {
        expect(read.ok ? 'read' : read.error.message, file).toContain(expected);
      } else if (read.ok && read.value.lengths === null) {
        // A histogram has no order of units.
        const { law, units } = read.value;
        const lengths = [...law.support].flatMap((length, at) =>
          Array<number>(Math.round(law.probability[at] * units!)).fill(length),
        );
        expect(lengths, file).toEqual(expected);
      } else expect(read.ok ? [...read.value.lengths!] : read.error.message, file).toEqual(expected);
    }
  });
});
