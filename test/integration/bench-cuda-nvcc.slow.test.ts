import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { COMPILE_FLAGS, cudaPlan, LINK_FLAGS, type CudaObject } from '../../src-workers/bench/cuda/cuda-plan.ts';
import { parsePtxas, type KernelUsage } from '../../src-workers/bench/cuda/ptxas.ts';
import { unitLoopProfile } from '../../src-workers/bench/stand-in.ts';
import type { KernelProfile } from '../../src-workers/domain/kernel.ts';
import { KERNEL_DEFAULTS } from '../../src-workers/domain/provenance.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { deviceCode, innerLoops, type InnerLoop, type Operation } from './bench-cuda-machine-code.ts';
import { EMULATED_NAME, NO_FILES, ofType, planOf, recordsOf, runToEnd, SOURCES, WORKLOAD } from './bench-cuda-plans.ts';
import { findTool, lacks } from '../tools.mjs';
import { testFolder } from '../workplace.ts';
import { unitLoop } from '../measuring.ts';

const nvcc = findTool('nvcc');
/**
 * The first is one of the oldest architectures that nvcc 13 knows, and the second one of the newest. nvcc has two
 * compilers, and uses the newer one for architectures from 10.0 on.
 */
const ARCHITECTURES = ['sm_75', 'sm_120'];
/** Architectures for which unit loops are compiled, one for each compiler. */
const LOOP_ARCHITECTURES = ['sm_80', 'sm_120'];
/** `-O3` matters only for the host's code. The emulation compiles that code with an optimiser's warnings. */
const FLAGS = COMPILE_FLAGS.filter((flag) => flag !== '-O3');
const CAP = 24;
/** A short kernel with loads. */
const KERNEL: KernelProfile = {
  ...KERNEL_DEFAULTS,
  name: 'short',
  registersPerThread: 64,
  instructionsPerIteration: 48,
  integerShare: 0.25,
  serialFraction: 0.05,
  cooperationCost: 0.05,
  dependentLoadsPerIteration: 1,
  bytesPerIteration: 12,
};
const PROFILE = unitLoopProfile(KERNEL, 'cuda');

describe.skipIf(lacks('nvcc'))('the CUDA sources under nvcc', () => {
  const folder = testFolder();

  const kernels = new Map<string, readonly KernelUsage[]>();
  const said: string[] = [];
  const architecturesOf = ({ source }: CudaObject): readonly string[] =>
    source === 'main.cu' ? ARCHITECTURES : LOOP_ARCHITECTURES;
  const objectOf = ({ name }: CudaObject): string => join(folder, `${name}.o`);
  let objects: readonly CudaObject[];

  beforeAll(async () => {
    // stand-in-nvcc.slow.test.ts compiles other numbers of threads.
    const cases = [unitLoop('free', {}), unitLoop('capped', { registerCap: CAP })];
    const workload = { ...WORKLOAD, lengths: Uint32Array.of(1), profile: PROFILE };
    objects = unwrap(await cudaPlan(planOf(cases, { workload }), NO_FILES)).objects;
    // Two compilations run side by side, because the host program takes as long to compile as all unit loops.
    await Promise.all(
      [[objects[0]], objects.slice(1)].map(async (several) => {
        for (const object of several) {
          const codes = architecturesOf(object).map((name) => `arch=${name.replace('sm', 'compute')},code=${name}`);
          const flags = [
            ...[...FLAGS, ...codes.flatMap((code) => ['-gencode', code])],
            ...['-Werror', 'all-warnings', '-Xcompiler', '-Wall,-Wextra,-Werror'],
            // The tests read the machine code, which must not be compressed.
            ...['--no-compress', ...object.flags],
          ];
          const ended = await runToEnd(nvcc!, [...flags, '-c', object.source, '-o', objectOf(object)], SOURCES);
          kernels.set(object.name, parsePtxas(ended.stdout + ended.stderr));
          if (ended.code !== 0) said.push(ended.stderr);
        }
      }),
    );
  });

  it('compile without a warning for every architecture', () => {
    expect(said).toEqual([]);
    for (const object of objects) {
      const found = new Set(kernels.get(object.name)!.map(({ architecture }) => architecture));
      expect(found, object.name).toEqual(new Set(architecturesOf(object)));
    }
  });

  it('hold a register cap by spilling in the loop, and keep everything in registers without one', () => {
    const free = kernels.get('unit-loop-u1')!;
    const capped = kernels.get(`unit-loop-u1-${CAP}`)!;
    // Each program has four kinds of loops.
    expect(free.length).toBe(4 * LOOP_ARCHITECTURES.length);
    for (const { kernel, spillStoreBytes } of free) expect(spillStoreBytes, kernel).toBe(0);
    for (const { kernel, registersPerThread } of capped) expect(registersPerThread, kernel).toBeLessThanOrEqual(CAP);
    const uncapped = nestedLoops('unit-loop-u1');
    for (const [at, { local }] of nestedLoops(`unit-loop-u1-${CAP}`).entries()) {
      expect(uncapped[at].local).toBe(0);
      // Each missing register costs a load and a store per pass. The factor allows for registers that are needed only
      // outside the loop, and for registers that spilling itself needs.
      const isOwn = ({ kernel, architecture }: KernelUsage): boolean =>
        NESTED.test(kernel) && architecture === LOOP_ARCHITECTURES[at];
      const registers = free.find(isOwn)!.registersPerThread;
      expect(local / 2, LOOP_ARCHITECTURES[at]).toBeGreaterThan(0.75 * (registers - CAP));
      expect(local / 2, LOOP_ARCHITECTURES[at]).toBeLessThan(1.5 * (registers - CAP));
    }
  });

  const NESTED = /[0-9]nestedE/;
  /** Returns the loop over a unit's iterations if loops are nested, for each architecture. */
  const nestedLoops = (name: string): readonly InnerLoop[] => {
    const programs = innerLoops(readFileSync(join(folder, `${name}.o`)));
    expect(programs.length).toBe(LOOP_ARCHITECTURES.length);
    return programs.map((loops) => [...loops].find(([kernel]) => NESTED.test(kernel))![1]);
  };

  it('spill no register where cycles are counted', () => {
    for (const { kernel, spillStoreBytes, spillLoadBytes } of kernels.get('main')!)
      expect([kernel, spillStoreBytes, spillLoadBytes]).toEqual([kernel, 0, 0]);
  });

  /**
   * Returns the operations between the first and the last reading of the clock, both included, for every architecture
   * and every kernel with a matching name.
   */
  function timed(name: RegExp): readonly { readonly kernel: string; readonly operations: readonly Operation[] }[] {
    const programs = deviceCode(readFileSync(objectOf(objects[0])));
    expect(programs.length).toBe(ARCHITECTURES.length);
    return programs.flatMap((kernels, at) => {
      const found = [...kernels].filter(([kernel]) => name.test(kernel));
      expect(found.length, ARCHITECTURES[at]).toBeGreaterThan(0);
      return found.map(([kernel, operations]) => ({
        kernel: `${ARCHITECTURES[at]} ${kernel}`,
        operations: operations.slice(operations.indexOf('clock'), operations.lastIndexOf('clock') + 1),
      }));
    });
  }
  const count = (operations: readonly Operation[], which: Operation): number =>
    operations.filter((operation) => operation === which).length;

  it.each<[string, RegExp, readonly Operation[]]>([
    ['FloatAdd', /chainsINS_8FloatAddE/, ['float-add']],
    ['FloatMultiply', /chainsINS_13FloatMultiplyE/, ['float-multiply']],
    ['FloatMultiplyAdd, one chain and several', /chainsINS_16FloatMultiplyAddE/, ['float-multiply-add']],
    ['DoubleMultiplyAdd', /chainsINS_17DoubleMultiplyAddE/, ['double-multiply-add']],
    // The assembler may use a multiplication by one to add. It also counts the passes of the loop.
    ['IntegerAdd', /chainsINS_10IntegerAddE/, ['integer-add', 'integer-multiply-add']],
    ['IntegerMultiplyAdd', /chainsINS_18IntegerMultiplyAddE/, ['integer-multiply-add']],
    ['Logic', /chainsINS_5LogicE/, ['logic']],
    ['Shuffle', /chainsINS_7ShuffleE/, ['shuffle']],
    ['Match', /chainsINS_5MatchE/, ['match']],
    ['Special', /chainsINS_7SpecialE/, ['special']],
  ])('keep every operation of %s between two readings of the clock', (_what, name, units) => {
    for (const { kernel, operations } of timed(name)) {
      expect(count(operations, 'clock'), kernel).toBe(2);
      expect(count(operations, 'load') + count(operations, 'store'), kernel).toBe(0);
      const found = units.reduce((sum, unit) => sum + count(operations, unit), 0);
      // The kernel repeats the operation 256 times. The compiler adds a few operations for the loop or for copies.
      expect(found, kernel).toBeGreaterThanOrEqual(256);
      expect(found, kernel).toBeLessThan(256 + 6);
    }
  });

  it('keep a timed load between two readings of the clock, and read the second after it has arrived', () => {
    for (const { kernel, operations } of timed(/fineChase/))
      expect(operations, kernel).toEqual(['clock', 'load', 'store-shared', 'clock']);
  });

  it('keep a walk along a ring between two readings of the clock, and read the second after its last load has arrived', () => {
    for (const { kernel, operations } of timed(/[0-9]chase/)) {
      const without = operations.filter((operation) => ['clock', 'load', 'store'].includes(operation));
      expect(without, kernel).toEqual(['clock', ...new Array<Operation>(16).fill('load'), 'store', 'clock']);
      expect(count(operations, 'turn'), kernel).toBe(1);
    }
  });

  it('keep only fetches, walks through shared memory or loads of one line between readings of the clock', () => {
    for (const { kernel, operations } of timed(/fetchChain|lineLatencies|sharedLoads/)) {
      const which = /fetchChain/.test(kernel) ? 'atomic' : /lineLatencies/.test(kernel) ? 'load' : 'load-shared';
      // All operations except fetches are unrolled 16 times.
      expect(count(operations, which) % (which === 'atomic' ? 2 : 16), kernel).toBe(which === 'atomic' ? 1 : 0);
      expect(count(operations, which), kernel).toBeGreaterThan(0);
      expect(count(operations, 'clock'), kernel).toBe(2);
      expect(count(operations, 'turn'), kernel).toBe(1);
    }
  });

  it('keep loops that lanes leave, and powers of matrices, between readings of the clock', () => {
    for (const { kernel, operations } of timed(/divergentLoops/)) {
      const loops = kernel.includes('ILb1E') ? 2 : 1;
      expect(count(operations, 'clock'), kernel).toBe(2);
      expect(count(operations, 'float-add'), kernel).toBe(loops);
      expect(count(operations, 'turn'), kernel).toBe(loops);
    }
    for (const { kernel, operations } of timed(/matrixPower/)) {
      // The clock is read at the start, after every multiplication, and at the end.
      expect(count(operations, 'clock'), kernel).toBe(3);
      const multiplied = operations.slice(0, operations.indexOf('clock', 1));
      expect(count(multiplied, 'load'), kernel).toBeGreaterThanOrEqual(16);
      expect(count(multiplied, 'integer-multiply-add'), kernel).toBeGreaterThanOrEqual(16);
    }
  });

  it('have one loop for flattened units and two for nested ones', () => {
    for (const loops of innerLoops(readFileSync(objectOf(objects[1])))) {
      const isNested = (dispatch: string): boolean => {
        const { instructions, outer } = [...loops].find(([kernel]) => new RegExp(`[0-9]${dispatch}E`).test(kernel))![1];
        return outer.instructions > instructions;
      };
      expect(['flattened', 'fetching', 'nested', 'groupFetching'].map(isNested)).toEqual([false, false, true, true]);
    }
  });

  it('link to one program that measures and one that lists the devices, or say why they cannot', () => {
    const program = join(folder, 'lockstep-cuda');
    const linked = spawnSync(nvcc!, [...objects.map(objectOf), ...LINK_FLAGS, '-o', program], { encoding: 'utf8' });
    expect(linked.stderr).toBe('');
    const devices = join(folder, 'devices');
    const args = ['-std=c++17', 'devices.cu', ...LINK_FLAGS, '-o', devices];
    const made = spawnSync(nvcc!, args, { encoding: 'utf8', cwd: SOURCES });
    expect(made.stderr).toBe('');
    const listed = spawnSync(devices, { encoding: 'utf8', cwd: folder });
    const records = recordsOf(listed.stdout);
    if (listed.status === 0) {
      for (const { name, threadGroupWidth } of ofType(records, 'device')) {
        expect(name).not.toContain(EMULATED_NAME);
        expect(threadGroupWidth).toBe(32);
      }
    } else {
      expect(records).toMatchObject([{ type: 'lost' }]);
      expect(ofType(records, 'lost')[0].message).toMatch(
        /^(looking for CUDA devices: cudaError|no NVIDIA driver|the driver is for CUDA)/,
      );
    }
  });
});
