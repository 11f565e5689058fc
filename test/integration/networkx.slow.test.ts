import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { readLengths } from '../../src-workers/parse/length-file.ts';
import { bytesSource } from '../../src-workers/parse/source.ts';
import { findTool, lacks } from '../tools.mjs';
import { testFolder } from '../workplace.ts';
import { dataText } from '../data.ts';

/** This program writes graphs of networkx in each format, and prints the degrees. A loop counts once. */
const PROGRAM = dataText('python/networkx-graphs.py');

describe.skipIf(lacks('networkx'))('networkx itself', () => {
  it('writes graphs, and we read the same degrees', async () => {
    const folder = testFolder();
    const out = execFileSync(findTool('networkx')!, ['-c', PROGRAM], { cwd: folder, encoding: 'utf8' });
    const expected = JSON.parse(out) as Record<string, readonly number[]>;
    const lengthsOf = async (file: string): Promise<readonly number[]> => [
      ...unwrap(await readLengths(bytesSource(readFileSync(join(folder, file))), file)).lengths!,
    ];
    for (const name of ['sparse', 'power', 'directed', 'named']) {
      expect(await lengthsOf(`${name}.graphml`), name).toEqual(expected[name]);
      expect(await lengthsOf(`${name}.adjlist`), name).toEqual(expected[name]);
      if (name !== 'directed') expect(await lengthsOf(`${name}.graph`)).toEqual(expected[`${name} without loops`]);
    }
  });
});
