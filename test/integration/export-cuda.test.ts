import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parsePtxas, type KernelUsage } from '../../src-workers/bench/cuda/ptxas.ts';
import { HOSTILE, openBench, smallStudy, type Bench } from '../unit/export-runs.ts';
import { lacks } from '../tools.mjs';

/** A kernel with the header's launch bounds, and a host function that launches it. */
const kernel = (file: string, name: string): string => `
#include "${file}"
namespace shape = lockstep_${name};
__global__ void LOCKSTEP_${name.toUpperCase()}_BOUNDS walk(const unsigned* lengths, float* out, unsigned units) {
  const unsigned slots = gridDim.x * (blockDim.x / shape::threads_per_unit);
  unsigned unit = (blockIdx.x * blockDim.x + threadIdx.x) / shape::threads_per_unit;
  for (unsigned m = 0; m < shape::units_per_thread && unit < units; ++m, unit += slots) {
    float sum = 0.0f;
    for (unsigned i = threadIdx.x % shape::threads_per_unit; i < lengths[unit]; i += shape::threads_per_unit) sum += 0.5f * sum + 1.0f;
    atomicAdd(&out[unit], sum);
  }
}
void launch(const unsigned* lengths, float* out, unsigned units) {
  walk<<<shape::grid_for(units), shape::block_threads>>>(lengths, out, units);
  walk<<<shape::grid_blocks, shape::block_threads>>>(lengths, out, units);
}
static_assert(shape::grid_for(1ull) == 1u, "one unit needs one block");
static_assert(shape::grid_for(0ull) == 0u, "no unit needs no block");
static_assert(shape::grid_for(shape::units_per_block + 1ull) == 2u, "the next unit needs the next block");
`;

describe.skipIf(lacks('nvcc', 'g++'))('the CUDA header under nvcc', () => {
  let bench: Bench;
  let folder: string;
  beforeAll(async () => {
    bench = await openBench();
    folder = mkdtempSync(join(tmpdir(), 'lockstep-nvcc-'));
  });
  afterAll(async () => {
    await bench.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each([
    { what: 'a plain study', name: 'Small', kernelName: 'walk', identifier: 'walk' },
    { what: 'hostile names', name: HOSTILE.slice(0, 200), kernelName: '*/ 3<evil>\n', identifier: 'k3_evil' },
  ])('compiles without a warning for $what, as C++14 and C++17', async ({ name, kernelName, identifier }) => {
    const run = await bench.run(
      smallStudy({
        name,
        devices: ['nvidia-a100-sxm4-40gb'],
        kernel: { name: kernelName, registersPerThread: 40, instructionsPerIteration: 60 },
      }),
    );
    const header = await bench.render(run, 'cuda');
    writeFileSync(join(folder, header.fileName), header.text);
    const source = join(folder, `${identifier}.cu`);
    writeFileSync(source, kernel(header.fileName, identifier));
    for (const standard of ['c++14', 'c++17']) {
      const flags = [
        '-c',
        '-arch=sm_80',
        `-std=${standard}`,
        '-Werror',
        'all-warnings',
        '-Xcompiler',
        '-Wall,-Wextra,-Werror',
      ];
      expect(() =>
        execFileSync('nvcc', [...flags, source, '-o', join(folder, 'out.o')], { encoding: 'utf8', stdio: 'pipe' }),
      ).not.toThrow();
    }
  });

  describe('with a register cap', () => {
    const CAP = 32;
    let fileName: string;
    beforeAll(async () => {
      const study = smallStudy({ devices: ['nvidia-a100-sxm4-40gb'] });
      const run = await bench.run({ ...study, axes: { ...study.axes, blockThreads: [128], registerCap: [CAP] } });
      const header = await bench.render(run, 'cuda');
      expect(header.text).toContain(`register_cap = ${CAP}u`);
      fileName = header.fileName;
      writeFileSync(join(folder, fileName), header.text);
    });

    /** What ptxas says of a kernel that needs far more registers than the cap, after lines that stand before the header. */
    function compile(before: string, flags: readonly string[]): KernelUsage {
      const source = join(folder, 'capped.cu');
      writeFileSync(
        source,
        `${before}
#include "${fileName}"
__global__ void LOCKSTEP_WALK_BOUNDS walk(const float* in, float* out, int n) {
  float x[80];
  for (int i = 0; i < 80; ++i) x[i] = in[threadIdx.x + i * n];
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < 80; ++i) x[i] = x[i] * x[(i + 7) % 80] + in[k];
  for (int i = 0; i < 80; ++i) out[threadIdx.x + i * n] = x[i];
}
`,
      );
      const args = ['-c', '-arch=sm_80', '-Xptxas', '-v', ...flags, source, '-o', join(folder, 'capped.o')];
      const { status, stderr } = spawnSync('nvcc', args, { encoding: 'utf8' });
      expect([status, stderr]).toEqual([0, expect.stringContaining('Used ')]);
      return parsePtxas(stderr)[0];
    }

    it('holds the kernel to the cap, whatever -maxrregcount says', () => {
      expect(compile('', []).registersPerThread).toBe(CAP);
      expect(compile('', ['-maxrregcount=64']).registersPerThread).toBe(CAP);
    });

    it('leaves the cap to -maxrregcount before CUDA 12.4', () => {
      const older =
        '#undef __CUDACC_VER_MAJOR__\n#undef __CUDACC_VER_MINOR__\n#define __CUDACC_VER_MAJOR__ 12\n#define __CUDACC_VER_MINOR__ 3';
      expect(compile(older, []).registersPerThread).toBeGreaterThan(CAP);
      expect(compile(older, [`-maxrregcount=${CAP}`]).registersPerThread).toBe(CAP);
    });
  });
});
