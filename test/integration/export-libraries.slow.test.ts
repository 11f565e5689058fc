import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RankPage } from '../../src-main/contract/api.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { smallStudy } from '../unit/export-runs.ts';
import { findTool, lacks } from '../tools.mjs';
import { EMULATING_NVCC } from './bench-cuda-plans.ts';
import { testFolder, useBench } from '../workplace.ts';

/*
 * The headers for C++ libraries, compiled and run on recorders of the part of each interface that they use; CUB's
 * collectives come from CUB itself under nvcc, and Kokkos is Kokkos itself where Debian's package is there.
 */

const RECORDERS: Readonly<Record<string, string>> = {
  'Kokkos_Core.hpp': `#pragma once
#define KOKKOS_INLINE_FUNCTION inline
namespace Kokkos {
struct DefaultExecutionSpace {};
struct HostSpace {};
template <class, class> struct SpaceAccessibility { static constexpr bool accessible = false; };
inline constexpr int AUTO = 0;
template <unsigned MAX_THREADS, unsigned MIN_BLOCKS> struct LaunchBounds {};
template <class Space, class Bounds> struct TeamPolicy {
  int league, team, vector;
  TeamPolicy(int league_size, int team_size, int vector_length) : league(league_size), team(team_size), vector(vector_length) {}
};
}`,
  'sycl/sycl.hpp': `#pragma once
#include <cstddef>
namespace sycl {
template <int> struct range { std::size_t size; explicit range(std::size_t n) : size(n) {} };
template <int N> struct nd_range {
  range<N> global, local;
  nd_range(range<N> all, range<N> group) : global(all), local(group) {}
};
template <int> struct nd_item {
  std::size_t group, local, groups;
  std::size_t get_group(int) const { return group; }
  std::size_t get_local_id(int) const { return local; }
  std::size_t get_group_range(int) const { return groups; }
};
}`,
  'cub/warp/warp_reduce.cuh': `#pragma once
namespace cub {
template <class T, int WIDTH> struct WarpReduce {
  struct TempStorage {};
  explicit WarpReduce(TempStorage&) {}
  template <class Op> T Reduce(T value, Op op, int valid) {
    const int lane = threadIdx.x % WIDTH;
    T sum = value;
    for (int other = 1; other < WIDTH; ++other) {
      const T theirs = __shfl_sync(0xffffffffu, value, static_cast<int>(threadIdx.x % 32) / WIDTH * WIDTH + other);
      if (lane == 0 && other < valid) sum = op(sum, theirs);
    }
    return sum;
  }
};
}`,
  'cub/block/block_reduce.cuh': `#pragma once
namespace cub {
template <class T, int THREADS> struct BlockReduce {
  struct TempStorage { T values[THREADS]; };
  TempStorage& storage;
  explicit BlockReduce(TempStorage& own) : storage(own) {}
  template <class Op> T Reduce(T value, Op op, int valid) {
    storage.values[threadIdx.x] = value;
    __syncthreads();
    for (int other = 1; threadIdx.x == 0 && other < valid; ++other) value = op(value, storage.values[other]);
    return value;
  }
};
}`,
};

/** Every unit of every launch is taken by as many threads as share it; prints the launches. */
const KOKKOS = `
#include "exported.hpp"
#include <cstdio>
#include <vector>
namespace shape = lockstep_walk;
struct Member {
  int rank, teams, thread, size;
  int league_rank() const { return rank; }
  int league_size() const { return teams; }
  int team_rank() const { return thread; }
  int team_size() const { return size; }
};
int main() {
  for (int which = 0; which < shape::launch_count; ++which)
    for (const long long units : {0ll, 1ll, 999ll, 50000ll}) {
      const auto policy = shape::policy_for(units, which);
      if (policy.team * policy.vector != shape::block_threads) return 2;
      const int per_unit = shape::threads_per_unit[which] / policy.vector;
      // A team may be smaller than the design's, as on a host.
      for (const int size : {policy.team, 1, 3}) {
        std::vector<int> taken(units);
        for (int team = 0; team < policy.league; ++team)
          for (int thread = 0; thread < size; ++thread)
            shape::for_each_unit(Member{team, policy.league, thread, size}, units, which, [&](long long at) { ++taken.at(at); });
        for (const int times : taken) if (times != (per_unit < size ? per_unit : size)) return 1;
      }
      if (units == 999) std::printf("%d %d %d\\n", policy.league, policy.team, policy.vector);
    }
}`;

const SYCL = `
#include "exported.hpp"
#include <cstdio>
#include <vector>
namespace shape = lockstep_walk;
int main() {
  for (std::size_t which = 0; which < shape::launch_count; ++which)
    for (const std::size_t units : {std::size_t(0), std::size_t(1), std::size_t(999), std::size_t(50000)}) {
      const auto range = shape::range_for(units, which);
      const std::size_t groups = range.global.size / range.local.size;
      std::vector<unsigned long long> ranks(units);
      for (std::size_t group = 0; group < groups; ++group)
        for (std::size_t local = 0; local < range.local.size; ++local)
          shape::for_each_unit(sycl::nd_item<1>{group, local, groups}, units, which,
                               [&](long long at, std::size_t rank) { ranks.at(at) += rank + 1; });
      const std::size_t u = shape::threads_per_unit[which];
      for (const auto sum : ranks) if (sum != u * (u + 1) / 2) return 1;
      if (units == 999) std::printf("%zu %zu\\n", range.global.size, range.local.size);
    }
}
int attributed() { return []() LOCKSTEP_WALK_SIZES { return 0; }(); }`;

/** Sums and maxima of segments of all lengths up to 600, empty ones too, against the host's. */
const CUB = `
#include <cuda_runtime.h>
#include <cstdio>
#include "exported.cuh"
namespace shape = lockstep_walk;
struct Sum { __host__ __device__ float operator()(float a, float b) const { return a + b; } };
struct Max { __host__ __device__ float operator()(float a, float b) const { return a > b ? a : b; } };
template <class T> T* copied(const std::vector<T>& from) {
  T* to = nullptr;
  if (cudaMalloc(reinterpret_cast<void**>(&to), from.size() * sizeof(T) + 1) != cudaSuccess) std::abort();
  if (cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice) != cudaSuccess) std::abort();
  return to;
}
int main() {
  std::vector<unsigned> offsets{0};
  for (unsigned s = 0; s < 700; ++s) offsets.push_back(offsets.back() + (s * 37) % 601 * (s % 5 != 0) % 601);
  std::vector<float> in(offsets.back());
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i * 7 % 101);
  const auto parts = shape::partition_segments(offsets.data(), 700);
  const float* values = copied(in);
  const unsigned *starts = copied(offsets), *segments = copied(parts.segments);
  float* out = copied(std::vector<float>(700, -1));
  const auto check = [&](auto op, float initial) {
    if (shape::reduce(values, out, starts, segments, parts.begins, op, initial) != cudaSuccess) return false;
    if (cudaDeviceSynchronize() != cudaSuccess) return false;
    std::vector<float> found(700);
    if (cudaMemcpy(found.data(), out, 700 * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess) return false;
    for (unsigned s = 0; s < 700; ++s) {
      float sum = initial;
      for (unsigned i = offsets[s]; i < offsets[s + 1]; ++i) sum = op(sum, in[i]);
      if (sum != found[s]) return false;
    }
    return true;
  };
  if (!check(Sum(), 3.0f) || !check(Max(), 0.0f)) return 1;
  for (unsigned which = 0; which < shape::launch_count; ++which)
    std::printf("%u %u\\n", shape::threads_per_unit[which], parts.begins[which + 1] - parts.begins[which]);
}`;

describe.skipIf(lacks('g++'))('the headers for libraries', () => {
  const bench = useBench();
  const folder = testFolder();
  let run: number;
  let rows: RankPage['rows'];
  beforeAll(async () => {
    for (const [name, text] of Object.entries(RECORDERS)) {
      mkdirSync(dirname(join(folder, 'recorders', name)), { recursive: true });
      writeFileSync(join(folder, 'recorders', name), text);
    }
    run = await bench.run(
      smallStudy({
        devices: ['nvidia-a100-sxm4-40gb'],
        workload: { lengths: 'zipf(1.2,2000)', units: 100_000 },
        kernel: { name: 'walk', registersPerThread: 40, instructionsPerIteration: 60, lengthsKnownBeforeLaunch: true },
        axes: {
          threadsPerUnit: [1, 4],
          balancing: ['none', 'mixed(1:8,4:32,32:100,64:400,block)'],
          blockThreads: [256],
          unitsPerThread: [1, 3],
          blocksPerMultiprocessor: [4],
        },
      }),
    );
    const page = unwrap(await bench.engine.call('ranking.page', { runId: run, limit: 100 }));
    rows = page.rows;
  });

  /** What a program with an exported header prints, compiled with the recorders. */
  function ran(header: string, file: string, program: string, compiler: string, flags: readonly string[]): string {
    writeFileSync(join(folder, file), header);
    writeFileSync(join(folder, 'main.cu'), program);
    const env = { ...process.env, CPLUS_INCLUDE_PATH: join(folder, 'recorders') };
    execFileSync(compiler, [...flags, 'main.cu', '-o', 'main'], { cwd: folder, env, stdio: 'pipe' });
    return execFileSync(join(folder, 'main'), { encoding: 'utf8' });
  }
  const GXX = ['-std=c++17', '-O1', '-Wall', '-Wextra', '-Werror', '-Wno-attributes', '-x', 'c++'];
  /** The best design of so many threads per unit; of a mixed one, whatever they are. */
  const designOf = (threads: 4 | 'mixed', isGridFixed = false) =>
    rows.find(
      ({ designIndex, design }) =>
        (threads === 'mixed' ? design.classes : !design.classes && design.threadsPerUnit === threads) &&
        // The grid is the last value of the axis of launches.
        (designIndex % 3 === 2) === isGridFixed,
    )!;

  describe.each([
    [4, false],
    ['mixed', false],
    [4, true],
    ['mixed', true],
  ] as const)('of a design of %s threads per unit, with a fixed grid: %s', (threads, isGridFixed) => {
    it('Kokkos and SYCL launch every unit once, with the blocks of the prediction', async () => {
      const { designIndex, design } = designOf(threads, isGridFixed);
      const launches = design.classes ?? [design];
      const blocks = launches.map(({ threadsPerUnit, gridBlocks }) =>
        isGridFixed ? gridBlocks : Math.ceil(999 / ((design.blockThreads / threadsPerUnit) * design.unitsPerThread)),
      );
      const kokkos = await bench.render(run, 'kokkos', { designIndex });
      const vectors = launches.map(({ threadsPerUnit }) => Math.min(32, threadsPerUnit));
      expect(ran(kokkos.text, 'exported.hpp', KOKKOS, findTool('g++')!, GXX)).toBe(
        vectors.map((vector, at) => `${blocks[at]} ${design.blockThreads / vector} ${vector}\n`).join(''),
      );
      const sycl = await bench.render(run, 'sycl', { designIndex });
      expect(ran(sycl.text, 'exported.hpp', SYCL, findTool('g++')!, GXX)).toBe(
        blocks.map((groups) => `${groups * design.blockThreads} ${design.blockThreads}\n`).join(''),
      );
    });
  });

  it.each([
    [4, false],
    [4, true],
    ['mixed', false],
    ['mixed', true],
  ] as const)(
    'grid_for of %s threads per unit, with a fixed grid: %s, is the blocks of the prediction for its units',
    async (threads, isGridFixed) => {
      const { designIndex, design } = designOf(threads, isGridFixed);
      const pairs = design.classes
        ? design.classes.map((_, which) => [`class_units[${which}], ${which}`, `class_grid_blocks[${which}]`])
        : [['100000', 'grid_blocks']];
      const program = `#include "exported.hpp"
#include <cstdio>
int main() { ${pairs.map(([of, blocks]) => `std::printf("%u %u\\n", lockstep_walk::grid_for(${of}), lockstep_walk::${blocks});`.replace('grid_for(class', 'grid_for(lockstep_walk::class')).join(' ')} }`;
      const cuda = await bench.render(run, 'cuda', { designIndex });
      const said = ran(cuda.text, 'exported.hpp', program, findTool('g++')!, GXX).trim().split('\n');
      const predicted = (design.classes ?? [design]).map(({ gridBlocks }) => `${gridBlocks} ${gridBlocks}`);
      expect(said).toEqual(predicted);
    },
  );

  it('CUB reduces segments of every class as the host does', async () => {
    const { text } = await bench.render(run, 'cub');
    const said = ran(text, 'exported.cuh', CUB, EMULATING_NVCC, ['-std=c++17']).trim().split('\n');
    expect(said.map((line) => Number(line.split(' ')[0]))).toEqual([1, 4, 32, 64, 256]);
    // Every class has segments, or the check of it says nothing.
    for (const line of said) expect(Number(line.split(' ')[1])).toBeGreaterThan(10);
  });

  it.skipIf(lacks('nvcc'))('CUB itself compiles them without a warning for three architectures', async () => {
    writeFileSync(join(folder, 'exported.cuh'), (await bench.render(run, 'cub')).text);
    writeFileSync(join(folder, 'main.cu'), `#include <cstdlib>\n${CUB}`);
    const architectures = ['75', '80', '90'].flatMap((sm) => ['-gencode', `arch=compute_${sm},code=sm_${sm}`]);
    const flags = ['-std=c++17', '-O1', '--threads', '2', '-Werror', 'all-warnings', '-Xcompiler', '-Wall,-Wextra'];
    expect(() =>
      execFileSync('nvcc', [...flags, ...architectures, '-c', 'main.cu', '-o', 'main.o'], {
        cwd: folder,
        stdio: 'pipe',
      }),
    ).not.toThrow();
  });

  it.skipIf(lacks('kokkos'))(
    'Kokkos itself launches every unit on a host, by the policy and by a team of its own',
    async () => {
      const { designIndex } = designOf(4);
      writeFileSync(join(folder, 'exported.hpp'), (await bench.render(run, 'kokkos', { designIndex })).text);
      const program = `#include "exported.hpp"
namespace shape = lockstep_walk;
using Policy = shape::policy<>;
int wrong(const Policy& policy, long long units) {
  Kokkos::View<int*> sums("sums", units);
  Kokkos::parallel_for(policy, KOKKOS_LAMBDA(const Policy::member_type& team) {
    shape::for_each_unit(team, units, 0, [&](long long at) {
      int sum = 0;
      Kokkos::parallel_reduce(Kokkos::ThreadVectorRange(team, 10), [&](int i, int& part) { part += i; }, sum);
      Kokkos::single(Kokkos::PerThread(team), [&] { Kokkos::atomic_add(&sums(at), sum); });
    });
  });
  Kokkos::fence();
  int count = 0;
  for (long long at = 0; at < units; ++at) count += sums(at) != 45;
  return count;
}
int main() {
  Kokkos::initialize();
  const int by_policy = wrong(shape::policy_for(100003), 100003);
  const int by_auto = wrong(Policy(shape::league_for(100003), Kokkos::AUTO, shape::vector_length[0]), 100003);
  Kokkos::finalize();
  return by_policy + by_auto > 0;
}`;
      writeFileSync(join(folder, 'kokkos.cpp'), program);
      const flags = ['-std=c++17', '-fopenmp', '-isystem', dirname(findTool('kokkos')!)];
      const execute = (command: string, args: readonly string[]) =>
        execFileSync(command, args, { cwd: folder, stdio: 'pipe' });
      execute(findTool('g++')!, [...flags, 'kokkos.cpp', '-o', 'kokkos', '-ltrilinos_kokkoscore', '-ldl']);
      expect(() => execute(join(folder, 'kokkos'), [])).not.toThrow();
    },
  );
});
