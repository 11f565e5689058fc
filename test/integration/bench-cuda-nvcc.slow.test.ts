import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  COMPILE_FLAGS,
  cudaPlan,
  LINK_FLAGS,
  unitLoopDefinitions,
  type CudaObject,
} from '../../src-workers/bench/cuda/cuda-plan.ts';
import { parsePtxas, type KernelUsage } from '../../src-workers/bench/cuda/ptxas.ts';
import { standInKernel, unitLoopProfile, unitLoopShape } from '../../src-workers/bench/stand-in.ts';
import type { KernelProfile } from '../../src-workers/domain/kernel.ts';
import { KERNEL_DEFAULTS } from '../../src-workers/domain/provenance.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { EMULATED_NAME, NO_FILES, ofType, planOf, recordsOf, runToEnd, SOURCES, WORKLOAD } from './bench-cuda-plans.ts';
import { findTool, lacks } from '../tools.mjs';
import { testFolder } from '../workplace.ts';
import { unitLoop } from '../measuring.ts';

/**
 * Reads machine code of compute capabilities from 7.0 on, as far as needed. An instruction has 16 bytes. Its lowest 9
 * bits are the operation and the kind of operands. NVIDIA does not publish the encoding, but disassemblers show it.
 */
const CODES = {
  load: [0x181],
  store: [0x186],
  'store-shared': [0x188],
  'float-add': [0x021],
  'float-multiply': [0x020],
  'float-multiply-add': [0x023],
  'double-multiply-add': [0x02b],
  'integer-add': [0x010, 0x035, 0x036],
  'integer-multiply-add': [0x024],
  logic: [0x012],
  shuffle: [0x189],
  match: [0x1a1],
  atomic: [0x1a8],
  'load-shared': [0x184],
  special: [0x108],
} as const;
/** A turn is a branch back to the start of a loop, which ends one pass. */
type Operation = keyof typeof CODES | 'clock' | 'turn';

const OPERATIONS = new Map(
  Object.entries(CODES).flatMap(([name, codes]) => codes.map((code) => [code as number, name as Operation] as const)),
);
const BRANCH = 0x147;
/** Operation codes that read a special register, into a plain or a uniform register. */
const READS = new Set([0x005, 0x119, 0x1c3, 0x0cb]);
/** Special register with the low word of the multiprocessor's clock. */
const CLOCK = 0x50;

interface Counts {
  /** Does not count NOPs, because compute capability 12.0 needs four of them after each FP64 operation. */
  readonly instructions: number;
  readonly fp32: number;
  readonly fp64: number;
  readonly special: number;
  readonly loads: number;
  readonly shuffles: number;
  /** Loads and stores of local memory, to which registers are spilled. */
  readonly local: number;
}
/** Counts of the longest innermost loop of a kernel, and of the longest loop around it, or else of the same loop. */
interface InnerLoop extends Counts {
  readonly outer: Counts;
}

/** Reads an object file's uncompressed device programs. Returns what `read` finds in each kernel, by its name. */
function programsOf<T>(object: Buffer, read: (code: Buffer) => T | null): readonly ReadonlyMap<string, T>[] {
  const programs: ReadonlyMap<string, T>[] = [];
  // The first ELF header is that of the object file itself, so the search starts behind it.
  for (let at = object.indexOf('\x7fELF', 4, 'latin1'); at >= 0; at = object.indexOf('\x7fELF', at + 4, 'latin1'))
    programs.push(kernelsOf(object.subarray(at), read));
  return programs;
}

/** Reads every section `.text.KERNEL` of a 64-bit ELF file. */
function kernelsOf<T>(elf: Buffer, read: (code: Buffer) => T | null): ReadonlyMap<string, T> {
  const whole = (at: number): number => Number(elf.readBigUInt64LE(at));
  const header = (section: number): number => whole(0x28) + section * elf.readUInt16LE(0x3a);
  const contents = (section: number): Buffer =>
    elf.subarray(whole(header(section) + 0x18), whole(header(section) + 0x18) + whole(header(section) + 0x20));
  const names = contents(elf.readUInt16LE(0x3e));
  const kernels = new Map<string, T>();
  for (let section = 0; section < elf.readUInt16LE(0x3c); section++) {
    const from = elf.readUInt32LE(header(section));
    const name = names.toString('latin1', from, names.indexOf(0, from));
    const found = name.startsWith('.text.') ? read(contents(section)) : null;
    if (found !== null) kernels.set(name.slice('.text.'.length), found);
  }
  return kernels;
}

const NOP = 0x118;
const LOCAL = new Set([0x183, 0x187]);
const INSTRUCTION_BYTES = 16;
const operationAt = (code: Buffer, at: number): number => code.readUInt16LE(at) & 0x1ff;
const places = (code: Buffer): readonly number[] =>
  Array.from({ length: Math.ceil(code.length / INSTRUCTION_BYTES) }, (_, at) => at * INSTRUCTION_BYTES);

/** Returns the bytes from a branch's end to its target: 4 × 48 bits from bit 34, on newer devices 8 more from 16. */
function distance(code: Buffer, at: number, isNewer: boolean): number {
  const words = code.readBigUInt64LE(at) | (code.readBigUInt64LE(at + 8) << 64n);
  const high = BigInt.asIntN(48, words >> 34n);
  return 4 * Number(isNewer ? (high << 8n) | ((words >> 16n) & 0xffn) : high);
}

/** Returns the place of every branch that leads back, with its target. The branch at the end of all code is left out. */
function loopsOf(code: Buffer): readonly { readonly from: number; readonly to: number }[] {
  const branches = places(code).filter((at) => operationAt(code, at) === BRANCH);
  // All code ends with a branch to itself. This branch shows how the device encodes distances.
  const isNewer = branches.some((at) => distance(code, at, true) === -INSTRUCTION_BYTES);
  return branches
    .map((at) => ({ from: at + INSTRUCTION_BYTES + distance(code, at, isNewer), to: at }))
    .filter(({ from, to }) => from < to);
}

function operationsOf(code: Buffer): readonly Operation[] {
  const turns = new Set(loopsOf(code).map(({ to }) => to));
  return places(code).flatMap((at): readonly Operation[] => {
    if (READS.has(operationAt(code, at)) && code[at + 9] === CLOCK) return ['clock'];
    if (turns.has(at)) return ['turn'];
    const operation = OPERATIONS.get(operationAt(code, at));
    return operation ? [operation] : [];
  });
}

/** Returns null for a kernel without a loop. */
function innerLoop(code: Buffer): InnerLoop | null {
  const loops = loopsOf(code);
  const inner = loops.filter(
    (loop) => !loops.some((one) => one !== loop && one.from >= loop.from && one.to <= loop.to),
  );
  const [longest] = inner.sort((a, b) => b.to - b.from - (a.to - a.from));
  if (!longest) return null;
  const counts = ({ from, to }: { readonly from: number; readonly to: number }): Counts => {
    const found = { instructions: 0, fp32: 0, fp64: 0, special: 0, loads: 0, shuffles: 0, local: 0 };
    for (let at = from; at <= to; at += INSTRUCTION_BYTES) {
      const operation = operationAt(code, at);
      const name = OPERATIONS.get(operation);
      found.instructions += Number(operation !== NOP);
      found.fp32 += Number(name?.startsWith('float') ?? false);
      found.fp64 += Number(name === 'double-multiply-add');
      found.special += Number(name === 'special');
      found.loads += Number(name === 'load');
      found.shuffles += Number(name === 'shuffle');
      found.local += Number(LOCAL.has(operation));
    }
    return found;
  };
  const around = loops.filter(({ from, to }) => from <= longest.from && to >= longest.to);
  const [outer] = around.sort((a, b) => b.to - b.from - (a.to - a.from));
  return { ...counts(longest), outer: counts(outer) };
}

const nvcc = findTool('nvcc')!;
/** nvcc 13 has two compilers, and uses the newer one for architectures from 10.0 on. */
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

const folder = testFolder();
describe.skipIf(lacks('nvcc'))('the CUDA sources under nvcc', () => {
  const kernels = new Map<string, readonly KernelUsage[]>();
  const said: string[] = [];
  const architecturesOf = ({ source }: CudaObject): readonly string[] =>
    source === 'main.cu' ? ARCHITECTURES : LOOP_ARCHITECTURES;
  const objectOf = ({ name }: CudaObject): string => join(folder, `${name}.o`);
  let objects: readonly CudaObject[];

  beforeAll(async () => {
    // The stand-ins below have other numbers of threads.
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
          const ended = await runToEnd(nvcc, [...flags, '-c', object.source, '-o', objectOf(object)], SOURCES);
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
      // Each missing register costs a load and a store per pass. The factor allows for registers only used elsewhere.
      const isOwn = ({ kernel, architecture }: KernelUsage): boolean =>
        NESTED.test(kernel) && architecture === LOOP_ARCHITECTURES[at];
      const registers = free.find(isOwn)!.registersPerThread;
      expect(local / 2, LOOP_ARCHITECTURES[at]).toBeGreaterThan(0.75 * (registers - CAP));
      expect(local / 2, LOOP_ARCHITECTURES[at]).toBeLessThan(1.5 * (registers - CAP));
    }
    // Nothing is spilled where cycles are counted.
    for (const { kernel, spillStoreBytes, spillLoadBytes } of kernels.get('main')!)
      expect([kernel, spillStoreBytes, spillLoadBytes]).toEqual([kernel, 0, 0]);
  });

  const NESTED = /[0-9]nestedE/;
  /** Returns the loop over a unit's iterations if loops are nested, for each architecture. */
  const nestedLoops = (name: string): readonly InnerLoop[] => {
    const programs = programsOf(readFileSync(join(folder, `${name}.o`)), innerLoop);
    expect(programs.length).toBe(LOOP_ARCHITECTURES.length);
    return programs.map((loops) => [...loops].find(([kernel]) => NESTED.test(kernel))![1]);
  };

  /** Returns the operations from the first to the last reading of the clock, for all matching kernels. */
  function timed(name: RegExp): readonly { readonly kernel: string; readonly operations: readonly Operation[] }[] {
    const programs = programsOf(readFileSync(objectOf(objects[0])), operationsOf);
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

  it.each<readonly [string, readonly Operation[]]>([
    ['FloatAdd', ['float-add']],
    ['FloatMultiply', ['float-multiply']],
    ['FloatMultiplyAdd', ['float-multiply-add']],
    ['DoubleMultiplyAdd', ['double-multiply-add']],
    // The assembler may use a multiplication by one to add. It also counts the passes of the loop.
    ['IntegerAdd', ['integer-add', 'integer-multiply-add']],
    ['IntegerMultiplyAdd', ['integer-multiply-add']],
    ['Logic', ['logic']],
    ['Shuffle', ['shuffle']],
    ['Match', ['match']],
    ['Special', ['special']],
  ])('keep every operation of %s between two readings of the clock', (name, units) => {
    for (const { kernel, operations } of timed(new RegExp(`chainsINS_${name.length}${name}E`))) {
      expect(count(operations, 'clock'), kernel).toBe(2);
      expect(count(operations, 'load') + count(operations, 'store'), kernel).toBe(0);
      const found = units.reduce((sum, unit) => sum + count(operations, unit), 0);
      // The kernel repeats the operation 256 times. The compiler adds a few operations for the loop or for copies.
      expect(found, kernel).toBeGreaterThanOrEqual(256);
      expect(found, kernel).toBeLessThan(256 + 6);
    }
  });

  it('keep loads, fetches and loops between two readings of the clock, and read the second after the last load', () => {
    for (const { kernel, operations } of timed(/fineChase/))
      expect(operations, kernel).toEqual(['clock', 'load', 'store-shared', 'clock']);
    const counted = (operations: readonly Operation[], ...which: readonly Operation[]): readonly number[] =>
      which.map((one) => count(operations, one));
    for (const { kernel, operations } of timed(/[0-9]chase/)) {
      const without = operations.filter((operation) => ['clock', 'load', 'store'].includes(operation));
      expect(without, kernel).toEqual(['clock', ...new Array<Operation>(16).fill('load'), 'store', 'clock']);
      expect(count(operations, 'turn'), kernel).toBe(1);
    }
    for (const { kernel, operations } of timed(/fetchChain|lineLatencies|sharedLoads/)) {
      const which = /fetchChain/.test(kernel) ? 'atomic' : /lineLatencies/.test(kernel) ? 'load' : 'load-shared';
      // All operations except fetches are unrolled 16 times.
      expect(count(operations, which) % (which === 'atomic' ? 2 : 16), kernel).toBe(which === 'atomic' ? 1 : 0);
      expect(count(operations, which), kernel).toBeGreaterThan(0);
      expect(counted(operations, 'clock', 'turn'), kernel).toEqual([2, 1]);
    }
    for (const { kernel, operations } of timed(/divergentLoops/)) {
      const loops = kernel.includes('ILb1E') ? 2 : 1;
      expect(counted(operations, 'clock', 'float-add', 'turn'), kernel).toEqual([2, loops, loops]);
    }
    for (const { kernel, operations } of timed(/matrixPower/)) {
      // The clock is read at the start, after every multiplication, and at the end.
      expect(count(operations, 'clock'), kernel).toBe(3);
      const multiplied = operations.slice(0, operations.indexOf('clock', 1));
      expect(Math.min(...counted(multiplied, 'load', 'integer-multiply-add')), kernel).toBeGreaterThanOrEqual(16);
    }
  });

  it('have one loop for flattened units and two for nested ones', () => {
    for (const loops of programsOf(readFileSync(objectOf(objects[1])), innerLoop)) {
      const isNested = (dispatch: string): boolean => {
        const { instructions, outer } = [...loops].find(([kernel]) => new RegExp(`[0-9]${dispatch}E`).test(kernel))![1];
        return outer.instructions > instructions;
      };
      expect(['flattened', 'fetching', 'nested', 'groupFetching'].map(isNested)).toEqual([false, false, true, true]);
    }
  });

  it('link to one program that measures and one that lists the devices, or say why they cannot', () => {
    const devices = join(folder, 'devices');
    for (const args of [
      [...objects.map(objectOf), '-o', join(folder, 'lockstep-cuda')],
      ['-std=c++17', 'devices.cu', '-o', devices],
    ])
      expect(spawnSync(nvcc, [...args, ...LINK_FLAGS], { encoding: 'utf8', cwd: SOURCES }).stderr).toBe('');
    const listed = spawnSync(devices, { encoding: 'utf8', cwd: folder });
    const records = recordsOf(listed.stdout);
    if (listed.status === 0) {
      for (const { name, threadGroupWidth } of ofType(records, 'device')) {
        expect(name).not.toContain(EMULATED_NAME);
        expect(threadGroupWidth).toBe(32);
      }
    } else {
      expect(records).toMatchObject([{ type: 'lost' }]);
      const words = /^(looking for CUDA devices: cudaError|no NVIDIA driver|the driver is for CUDA)/;
      expect(ofType(records, 'lost')[0].message).toMatch(words);
    }
  });
});

// A stand-in must execute the instructions with which its time is predicted. The test counts them in the machine code.

const THREADS = [1, 2, 4, 8, 16, 32];
const MIXES: readonly Partial<KernelProfile>[] = [
  {},
  { fp64Share: 0.5 },
  { specialShare: 0.3, integerShare: 0.2 },
  { integerShare: 0.6, dependentLoadsPerIteration: 1 },
  { fp64Share: 0.1, specialShare: 0.05, integerShare: 0.3, dependentLoadsPerIteration: 1.5, bytesPerIteration: 40 },
  { integerShare: 0.25, bytesPerIteration: 12, unit: { instructions: 60 }, combine: { instructions: 9 } },
  { fp64Share: 0.05, dependentLoadsPerIteration: 0.5, serialFraction: 0.4 },
  { specialShare: 0.02, integerShare: 0.9 },
];
const INSTRUCTIONS = [60, 24, 130, 40, 300, 90, 16];
/** Every number of threads with each architecture and each way to share a unit. Mixes and lengths of loops vary. */
const CASES = Array.from({ length: 12 }, (_, at) => ({
  threads: THREADS[at % 6],
  architecture: LOOP_ARCHITECTURES[(at + Math.floor(at / 6)) % 2],
  kernel: {
    ...KERNEL_DEFAULTS,
    name: 'k',
    registersPerThread: 32 + 8 * (at % 3),
    instructionsPerIteration: INSTRUCTIONS[(3 * at) % INSTRUCTIONS.length],
    serialFraction: 0.1,
    cooperationCost: 0.03,
    sharing: at < 6 ? 'deal' : 'split',
    ...MIXES[at % MIXES.length],
  } satisfies KernelProfile,
}));

const standIns = it.skipIf(lacks('nvcc')).each(CASES);
standIns(
  'a stand-in executes the predicted instructions: $threads threads, $architecture, $kernel.sharing',
  async ({ threads, architecture, kernel }) => {
    const programs = join(folder, 'loop.fatbin');
    const profile = unitLoopProfile(kernel, 'cuda');
    const flags = [
      ...['-std=c++17', '-O3', '--no-compress', `-arch=${architecture}`, '-DLOCKSTEP_REGISTER_CAP=0'],
      ...unitLoopDefinitions(profile, threads),
    ];
    const ended = await runToEnd(nvcc, [...flags, '-fatbin', 'unit-loop.cu', '-o', programs], SOURCES);
    expect(ended.stderr).toBe('');
    const [loops] = programsOf(readFileSync(programs), innerLoop);
    const loop = (name: string): InnerLoop => [...loops].find(([entry]) => entry.includes(`${name}E`))![1];
    const [nested, flattened] = [loop('6nested'), loop('9flattened')];
    const shape = unitLoopShape(profile, threads);
    const own = standInKernel(kernel, profile, threads);
    const all = own.instructionsPerIteration;
    // A tenth or `few` instructions may differ, because the assembler chooses some instructions itself.
    const near = (what: string, found: number, predicted: number, few: number): void =>
      expect(Math.abs(found - predicted), `${what}: ${found}, predicted ${predicted}`).toBeLessThanOrEqual(
        Math.max(few, 0.1 * predicted),
      );
    for (const share of ['fp64Share', 'specialShare'] as const) expect(own[share]! > 0).toBe((kernel[share] ?? 0) > 0);
    const loads = shape.loads + Math.sign(shape.loadRate) + shape.streamed + Math.sign(shape.streamRate);
    const { fp32, fp64, special } = nested;
    expect(nested).toMatchObject({
      fp32: shape.floats,
      fp64: expect.closeTo(own.fp64Share! * all, 6) as number,
      special: expect.closeTo(own.specialShare! * all, 6) as number,
      loads,
      shuffles: shape.exchanges,
      local: 0,
    });
    near('pass', nested.instructions, all, 1);
    const integers = nested.instructions - fp32 - fp64 - special - nested.loads - nested.shuffles - 1;
    near('integers', integers, own.integerShare! * all, 3);

    const combining = kernel.sharing === 'deal' ? Math.log2(threads) * own.combine!.instructions : 0;
    // The instructions between two units differ between architectures.
    near('unit', nested.outer.instructions, all + own.unit!.instructions + combining, 15);
    const inOneLoop = all * (1 + own.flattenedCost!) + own.refill!.instructions + combining;
    near('one loop', flattened.outer.instructions, inOneLoop, 1);
    const combined = kernel.sharing === 'deal' ? Math.log2(threads) * shape.combineSteps : 0;
    expect(flattened.outer).toMatchObject({ fp32: shape.floats + shape.unitSteps + combined, fp64, special });
  },
);
