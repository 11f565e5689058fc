import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HOSTILE, openBench, smallStudy, type Bench } from '../unit/export-runs.ts';

const nvcc = spawnSync('nvcc', ['--version'], { encoding: 'utf8' });
const absent = nvcc.status !== 0;

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

describe.skipIf(absent)(`the CUDA header under nvcc${absent ? ' (skipped: nvcc is not in PATH)' : ''}`, () => {
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
  ])(
    'compiles without a warning for $what, as C++14 and C++17',
    async ({ name, kernelName, identifier }) => {
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
    },
    120_000,
  );
});
