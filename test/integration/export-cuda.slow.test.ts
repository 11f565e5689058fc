import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parsePtxas, type KernelUsage } from '../../src-workers/bench/cuda/ptxas.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { refusal } from '../unit/engine-calls.ts';
import { HOSTILE, smallStudy } from '../unit/export-runs.ts';
import { lacks } from '../tools.mjs';
import { testFolder, useBench } from '../workplace.ts';
import { dataText } from '../data.ts';

const KERNEL = { name: 'walk', registersPerThread: 40, instructionsPerIteration: 60 };
const studyOf = (change: Partial<StudyFile> = {}): StudyFile =>
  smallStudy({ devices: ['nvidia-a100-sxm4-40gb'], kernel: KERNEL, ...change });

/** Returns a kernel that has the header's launch bounds, and a host function that launches it. */
const kernel = (file: string, name: string): string =>
  [
    `#define HEADER "${file}"`,
    `#define SHAPE lockstep_${name}`,
    `#define BOUNDS LOCKSTEP_${name.toUpperCase()}_BOUNDS`,
    dataText('cuda/launch-bounds.cu'),
  ].join('\n');

describe.skipIf(lacks('nvcc'))('the CUDA header under nvcc', () => {
  const bench = useBench();
  const folder = testFolder();

  // unit/export.test.ts compares the code of this study with that of a plain one.
  it('compiles without a warning for hostile names', async () => {
    const run = await bench.run(studyOf({ name: HOSTILE.slice(0, 200), kernel: { ...KERNEL, name: '*/ 3<evil>\n' } }));
    const header = await bench.render(run, 'cuda');
    writeFileSync(join(folder, header.fileName), header.text);
    writeFileSync(join(folder, 'hostile.cu'), kernel(header.fileName, 'k3_evil'));
    const flags = ['-c', '-arch=sm_80', '-std=c++14', '-Werror', 'all-warnings', '-Xcompiler', '-Wall,-Wextra,-Werror'];
    expect(() => execFileSync('nvcc', [...flags, 'hostile.cu'], { cwd: folder, stdio: 'pipe' })).not.toThrow();
  });

  it('counts beyond a 32-bit word, or is refused with the number', async () => {
    const kernel = { ...KERNEL, lengthsKnownBeforeLaunch: true, serialFraction: 0.05 };
    const axes = { threadsPerUnit: [1], blockThreads: [256], balancing: ['mixed(2)'] };
    const run = (lengths: string, units: number, unitsPerThread: number): Promise<number> =>
      bench.run(studyOf({ kernel, workload: { lengths, units }, axes: { ...axes, unitsPerThread: [unitsPerThread] } }));
    const refused = (runId: number, format: string) => refusal(bench.engine, 'export.render', { runId, format });
    const many = await run('categorical(1:0.9,500:0.1)', 2 ** 40, 65_536);
    const { text } = await bench.render(many, 'cuda');
    const counts = 'static_assert(lockstep_walk::class_units[0] > 4294967295ull, "");\n';
    writeFileSync(join(folder, 'many.cu'), text + counts);
    const flags = ['-cubin', '-std=c++14', 'many.cu'];
    expect(() => execFileSync('nvcc', flags, { cwd: folder, stdio: 'pipe' })).not.toThrow();
    const above = (what: string, limit: string): string => `${what}, which is above the limit of this code (${limit})`;
    expect(await refused(many, 'wgsl')).toMatch(
      /number of units of a class of design 0 is \S*, which is above the limit/,
    );
    const ofDesign = 'number of units of design 0 is 1,099,511,627,776';
    expect(await refused(many, 'cub')).toContain(above(ofDesign, '2,147,483,647'));
    const threshold = 'The threshold of a class of design 0 is 5,000,000,000';
    const long = await run('categorical(5000000000:0.999,9000000000000:0.001)', 100_000_000, 1);
    for (const format of ['cuda', 'wgsl', 'kokkos', 'sycl', 'cub', 'cuda-kernel'] as const)
      expect(await refused(long, format)).toContain(`${above(threshold, '4,294,967,295')}. Export`);
    expect((await bench.render(long, 'python')).text).toContain('"class_up_to": [5000000000, 9007199254740991]');
  });

  describe('with a register cap', () => {
    const CAP = 32;
    let fileName: string;
    beforeAll(async () => {
      const axes = { ...smallStudy().axes, blockThreads: [128], registerCap: [CAP] };
      const run = await bench.run(smallStudy({ devices: ['nvidia-a100-sxm4-40gb'], axes }));
      const header = await bench.render(run, 'cuda');
      expect(header.text).toContain(`register_cap = ${CAP}u`);
      fileName = header.fileName;
      writeFileSync(join(folder, fileName), header.text);
    });

    /**
     * Compiles a kernel that needs more registers than the cap, with `before` in front of the header. Returns
     * ptxas's report.
     */
    function compile(before: string, flags: readonly string[]): KernelUsage {
      const source = join(folder, 'capped.cu');
      writeFileSync(
        source,
        `${before}
#include "${fileName}"
__global__ void LOCKSTEP_WALK_BOUNDS walk(const float* in, float* out, int n) {
  float x[48];
  for (int i = 0; i < 48; ++i) x[i] = in[threadIdx.x + i * n];
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < 48; ++i) x[i] = x[i] * x[(i + 7) % 48] + in[k];
  for (int i = 0; i < 48; ++i) out[threadIdx.x + i * n] = x[i];
}
`,
      );
      const args = ['-cubin', '-arch=sm_80', '-Xptxas', '-v', ...flags, source, '-o', join(folder, 'capped.cubin')];
      const { status, stderr } = spawnSync('nvcc', args, { encoding: 'utf8' });
      expect([status, stderr]).toEqual([0, expect.stringContaining('Used ')]);
      return parsePtxas(stderr)[0];
    }

    it('limits the kernel to the cap, whatever -maxrregcount says', () => {
      expect(compile('', []).registersPerThread).toBe(CAP);
      expect(compile('', ['-maxrregcount=64']).registersPerThread).toBe(CAP);
    });

    it('lets -maxrregcount set the cap before CUDA 12.4', () => {
      const version = (part: string, number: number): string =>
        `#undef __CUDACC_VER_${part}__\n#define __CUDACC_VER_${part}__ ${number}\n`;
      const older = version('MAJOR', 12) + version('MINOR', 3);
      expect(compile(older, []).registersPerThread).toBeGreaterThan(CAP);
      expect(compile(older, [`-maxrregcount=${CAP}`]).registersPerThread).toBe(CAP);
    });
  });
});
