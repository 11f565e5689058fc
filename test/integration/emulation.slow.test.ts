import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { TraceReport } from '../../src-main/services/measuring/trace.ts';
import { EMULATION_NOTE } from '../../src-workers/bench/cuda/emulation.ts';
import { lockstep, type Outcome } from '../command-line.ts';
import { lacks } from '../tools.mjs';
import { testFolder } from '../workplace.ts';

/** Runs the user's CUDA programs on a machine without a GPU. */

const folder = testFolder();
beforeAll(() => {
  vi.stubEnv('XDG_CACHE_HOME', join(folder, 'cache'));
  writeFileSync(join(folder, 'unused.h'), 'static int unusedFunction(int x) { int y; return 1; }\n');
});
afterAll(() => vi.unstubAllEnvs());

const app = join(folder, 'app');
function emulate(source: string, ...more: readonly string[]): Promise<Outcome> {
  const file = join(folder, 'app.cu');
  writeFileSync(file, source);
  return lockstep('emulate', file, '-o', app, ...more);
}

/** Uses every feature of launches, shared memory, groups and the runtime, with the expected result. */
const PROGRAM = `#include <cstdio>
#include <cooperative_groups.h>
#include <iostream>
#include "unused.h"
namespace cg = cooperative_groups;
__constant__ float scales[2];
__device__ unsigned counted;
template <class T, int N>
__global__ void __launch_bounds__(64) sums(const T *in, T *out, unsigned n) {
  extern __shared__ __align__(16) unsigned char raw[];
  static __shared__ int early;
  T *held = reinterpret_cast<T *>(raw);
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) early = 0;
  held[threadIdx.x] = i < n ? in[i] * (T)scales[1] : 0;
  __syncthreads();
  const int inside = __syncthreads_count(i < n);
  cg::thread_block_tile<N> tile = cg::tiled_partition<N>(cg::this_thread_block());
  T value = held[threadIdx.x];
  for (int distance = tile.size() / 2; distance > 0; distance /= 2) value += tile.shfl_down(value, distance);
  if (tile.thread_rank() == 0) atomicAdd(out, value);
  if (threadIdx.x == 0) atomicAdd(&counted, inside);
}
/// Lanes leave before others meet, and the group is not full.
__global__ void votes(uint2 *out) {
  if (threadIdx.z == 1) return;
  const unsigned lane = threadIdx.y * blockDim.x + threadIdx.x;
  const unsigned found = __ballot_sync(0xffffffff, lane % 3 == 0);
  const int up = __shfl_up_sync(0xffffffff, (int)lane, 1, 4);
  out[lane] = make_uint2(found, max(up, 0u));
}
#define CHECK(call) if ((call) != cudaSuccess) { printf("%s\\n", cudaGetErrorString(cudaGetLastError())); return 1; }
int main() {
  int unusedVariable, n = 100;
  double *in, *out; uint2 *pairs; double host[100], sum = 0; float scale[] = {0, 2};
  CHECK(cudaMallocManaged(&in, n * sizeof *in));
  CHECK(cudaMalloc(&out, sizeof *out));
  CHECK(cudaMalloc((void **)&pairs, 12 * sizeof *pairs));
  for (int i = 0; i < n; ++i) host[i] = i;
  cudaMemcpyToSymbol(scales, scale, sizeof scale);
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  cudaMemset(out, 0, sizeof *out);
  cudaEvent_t from, to; cudaEventCreate(&from); cudaEventCreate(&to);
  cudaEventRecord(from);
  sums<double, 16><<<(n + 63) / 64, 64, 64 * sizeof(double)>>>(in, out, n);
  cudaEventRecord(to);
  CHECK(cudaDeviceSynchronize());
  votes<<<1, dim3(4, 3, 2)>>>(pairs);
  float ms; cudaEventElapsedTime(&ms, from, to);
  cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost);
  unsigned all; cudaMemcpyFromSymbol(&all, counted, sizeof all);
  std::cout << "sum " << sum << " counted " << all << " ms " << ms << " <<<1, 2>>>(0)\\n";
  printf("votes %x up %u %u\\n", pairs[5].x, pairs[4].y, pairs[5].y);
  sums<double, 16><<<1, 2048>>>(in, out, n);
  printf("%s\\n", cudaGetErrorString(cudaGetLastError()));
  printf("{\\"timeNs\\": 5}\\n");
}
`;

describe.skipIf(lacks('g++') || process.platform !== 'linux')('a CUDA program without a GPU', () => {
  it('runs its launches, and says that it has no times', async () => {
    const { status, out, err } = await emulate(PROGRAM);
    expect([status, err]).toEqual([0, '']);
    expect(out).toMatch(/its times mean nothing/);
    const ran = spawnSync(app, { encoding: 'utf8' });
    expect(ran.stderr).toBe(`${EMULATION_NOTE}\n`);
    expect(ran.stdout).toBe('sum 9900 counted 100 ms 0 <<<1, 2>>>(0)\nvotes 249 up 4 4\ninvalid configuration argument\n{"timeNs": 5}\n'); // prettier-ignore
  }, 120_000);

  it('writes the lengths of its units', async () => {
    const source = `#include "lockstep.cuh"
__global__ void steps(unsigned units) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= units) return;
  LOCKSTEP_UNIT(i);
  for (unsigned n = i % 5; n > 0; --n) LOCKSTEP_STEP();
}
int main() {
  LOCKSTEP_TRACE_UNITS(UNITS);
  steps<<<2, 32>>>(UNITS);
  return cudaDeviceSynchronize();
}
`;
    expect((await emulate(source, '-DLOCKSTEP_TRACE', '-D', 'UNITS=50')).err).toBe('');
    const lengths = join(folder, 'lengths.csv');
    const traced = await lockstep('trace', '--json', '-o', lengths, '--', app);
    expect(JSON.parse(traced.out)).toMatchObject({
      units: 50,
      meanLength: 2,
      maxLength: 4,
    } satisfies Partial<TraceReport>);
    expect(readFileSync(lengths, 'utf8').split('\n').slice(1, 7)).toEqual(['0', '1', '2', '3', '4', '0']);
  }, 120_000);

  it.each([
    ['int main() { asm volatile("bar.sync 0;"); }', /app\.cu has inline PTX \(bar\.sync\), which the emulation cannot run\. Put it between #ifndef LOCKSTEP_EMULATION and #endif/], // prettier-ignore
    [
      '#include <mma.h>\nint main() {}',
      /app\.cu includes mma\.h, which was not found\. .* the emulation has cooperative_groups\.h/,
    ],
    ['int main() { cudaGraph_t graph; }', /app\.cu:1:\d+: error: .*cudaGraph_t.* the emulation lacks it: exclude it in app\.cu/], // prettier-ignore
    ['__global__ void f();\nint main() { f<<<1, 2>>>; }', /a launch cannot be read: f<<<1, 2>>>; .*\. Write kernel<<</],
  ])(
    'is refused with advice: %s',
    async (source, words) => {
      const { status, out, err } = await emulate(source);
      expect([status, out]).toEqual([1, '']);
      expect(err).toMatch(words);
    },
    60_000,
  );

  it('cannot be measured', async () => {
    const database = join(folder, 'test.db');
    const swept = await lockstep('sweep', join(import.meta.dirname, '..', '..', 'db', 'examples', 'acts.json'), '--db', database); // prettier-ignore
    expect(swept.err).not.toMatch(/lockstep: .*error/);
    expect((await emulate(PROGRAM)).status).toBe(0);
    const { status, out, err } = await lockstep('bench', '1', '--exec', app, '--device', 'nvidia-rtx-4090', '--top', '1', '--repeats', '1', '--warm-ups', '0', '--units', 'all', '--db', database, '--json'); // prettier-ignore
    expect([status, err]).toEqual([1, expect.not.stringContaining('lockstep: Run')]);
    const [one] = (JSON.parse(out) as { cases: { medianMs: number | null; failure: string }[] }).cases;
    expect(one).toMatchObject({ medianMs: null, failure: expect.stringMatching(/CPU emulation of CUDA, whose times mean nothing/) }); // prettier-ignore
    expect((await lockstep('bench', '1', '--target', 'emulation', '--db', database)).err).toMatch(/Specify its manifest \(--kernel\)/); // prettier-ignore
  }, 120_000);
});
