import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { findTool, lacks } from '../tools.mjs';
import { testFolder, useBench } from '../workplace.ts';
import { dataText } from '../data.ts';

/**
 * Tests the Triton example: study, export and kernel. A substitute replaces Triton's language, so nothing compiles it.
 */

const ROOT = join(import.meta.dirname, '../..');
const JAGGED = join(ROOT, 'db/examples/kernels/jagged');
const STAND_IN = join(ROOT, 'test/data/python/triton-on-numpy');

/** This program sums rows with each configuration of the export, and with those that its pruning keeps. */
const PROGRAM = dataText('python/triton-rows.py');

describe.skipIf(lacks('scipy'))('the worked example of a Triton kernel', () => {
  const bench = useBench();
  const folder = testFolder();

  it('sums every row once in each configuration of its export', async () => {
    const study = JSON.parse(readFileSync(join(JAGGED, 'jagged.json'), 'utf8')) as StudyFile;
    const lengths = study.workload.lengths.replace('../..', join(ROOT, 'db/examples'));
    const run = await bench.run({ ...study, workload: { ...study.workload, lengths } });
    const { text } = await bench.render(run, 'triton', { limit: 20 });
    writeFileSync(join(folder, 'jagged_configs.py'), text);
    copyFileSync(join(JAGGED, 'jagged_sum.py'), join(folder, 'jagged_sum.py'));
    const said = execFileSync(findTool('scipy')!, ['-W', 'error', '-c', PROGRAM], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, PYTHONPATH: STAND_IN, PYTHONDONTWRITEBYTECODE: '1' },
    });
    const found = JSON.parse(said) as { kept: number[]; launches: number; configs: Record<string, number>[] };
    expect(found.configs).toHaveLength(20);
    expect(found.launches).toBe(60);
    for (const kept of found.kept) expect(kept).toBeGreaterThan(0);
    // A program takes several rows at once, and the number of rows differs between configurations.
    expect(new Set(found.configs.map((config) => config.THREADS_PER_UNIT)).size).toBeGreaterThan(1);
    expect(found.configs.some((config) => config.BLOCK_UNITS > 1)).toBe(true);

    // The output of these commands is in the README.
    const shown = readFileSync(join(ROOT, 'db/examples/kernels/README.md'), 'utf8');
    const [best] = found.configs;
    expect(shown).toContain(
      `THREADS_PER_UNIT=${best.THREADS_PER_UNIT}, BLOCK_UNITS=${best.BLOCK_UNITS}, num_warps=${best.num_warps}`,
    );
  });
});
