import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { TraceReport } from '../../src-main/services/measuring/trace.ts';
import { findTool, lacks } from '../tools.mjs';
import { swiftShaderEnvironment } from '../measured/swiftshader.ts';
import { EMULATING_NVCC, runToEnd, type Ended } from './bench-cuda-plans.ts';
import { lockstep, type Outcome } from '../command-line.ts';
import { testFolder } from '../workplace.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const DATA = join(ROOT, 'test/data/trace');
const folder = testFolder();
const lengthsFile = join(folder, 'lengths.csv');

const trace = (...args: readonly string[]): Promise<Outcome> => lockstep('trace', '-o', lengthsFile, ...args);
async function traced(...args: readonly string[]): Promise<TraceReport> {
  const { status, out, err } = await trace('--json', ...args);
  expect(status, err).toBe(0);
  return JSON.parse(out) as TraceReport;
}
async function refused(...args: readonly string[]): Promise<string> {
  const { status, out, err } = await trace(...args);
  expect([status, out]).toEqual([1, '']);
  return err.split('\n').at(-2)!.replace('lockstep: ', '');
}
const writtenLengths = (): number[] => readFileSync(lengthsFile, 'utf8').trim().split('\n').slice(1).map(Number);

function collatz(n: number): number {
  let steps = 0;
  for (; n !== 1; steps++) n = n % 2 === 1 ? 3 * n + 1 : n / 2;
  return steps;
}
const lengthsOf = (units: number): number[] => Array.from({ length: units }, (_, unit) => collatz(unit + 1));

/**
 * Returns the loss of thread groups that take these units in turn: occupied over active lanes. Each row has the units
 * that the lanes of one group run at once. Lanes without a unit do not count.
 */
function lossOf(rounds: readonly (readonly number[])[]): number {
  const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
  return sum(rounds.map((lengths) => lengths.length * Math.max(...lengths))) / sum(rounds.map(sum));
}

const source = join(folder, 'app.cu');
beforeAll(async () => {
  copyFileSync(join(DATA, 'app.cu'), source);
  const file = join(folder, 'lockstep.cuh');
  expect(JSON.parse((await lockstep('trace', '--header', '--json', '-o', file)).out)).toMatchObject({ file });
});

describe.skipIf(lacks('g++'))('a CUDA kernel, emulated', () => {
  const [program, untraced] = [join(folder, 'app'), join(folder, 'untraced')];
  async function build(file: string, out: string, flags: readonly string[] = [], environment = {}): Promise<void> {
    const args = ['-std=c++17', ...flags, file, '-o', out];
    expect((await runToEnd(EMULATING_NVCC, args, folder, environment)).stderr).toBe('');
  }
  beforeAll(async () => {
    await build(source, program, ['-DLOCKSTEP_TRACE']);
    await build(source, untraced);
  });
  const run = (units: number, blocks: number, threads: number, each: number, room = units): string[] =>
    [program, units, blocks, threads, room, each].map(String);

  it.each([
    ['one unit a thread, the last thread group not full', 150, 3, 64],
    ['a single unit without a step', 1, 1, 32],
    ['blocks that end within a thread group', 48, 1, 48],
  ])('writes its lengths, and the measured loss equals the computed one: %s', async (_what, units, blocks, threads) => {
    const lengths = lengthsOf(units);
    const { computed, measured, ...report } = await traced('--', ...run(units, blocks, threads, 0));
    expect(writtenLengths()).toEqual(lengths);
    const meanLength = lengths.reduce((sum, length) => sum + length) / units;
    expect(report).toEqual({ file: lengthsFile, units, meanLength, maxLength: Math.max(...lengths) });
    expect(computed.unitsPerGroup).toBe(32);
    expect(measured).toMatchObject({ threadGroupWidth: 32, threadGroups: Math.ceil(units / 32) });
    // Sums of whole numbers are exact, so only the divisions round.
    for (const name of ['aggregateLoss', 'meanLoss'] as const)
      expect(Math.abs(measured![name] - computed[name])).toBeLessThanOrEqual(8 * Number.EPSILON * computed[name]);
  });

  it('agrees with the loss in order of a study that names the file', async () => {
    const { computed } = await traced('--', ...run(150, 3, 64, 0));
    const { out } = await lockstep('loss', '--workload', `file:${lengthsFile}`, '--n', '32', '--json');
    const { rows } = JSON.parse(out) as { rows: { givenOrder: object }[] };
    expect({ unitsPerGroup: 32, ...rows[0].givenOrder }).toEqual(computed);
  });

  it('measures several rounds of a thread group, and an order that the computed loss does not contain', async () => {
    const lengths = lengthsOf(192);
    const stride = await traced('--', ...run(192, 1, 96, 0));
    expect(stride.measured!.threadGroups).toBe(3);
    expect(stride.measured!.aggregateLoss).toBeCloseTo(stride.computed.aggregateLoss, 12);

    const blocked = await traced('--units', '192', '--', ...run(192, 1, 64, 3));
    expect(writtenLengths()).toEqual(lengths);
    const rounds = [0, 1].flatMap((group) =>
      [0, 1, 2].map((at) => Array.from({ length: 32 }, (_, lane) => lengths[(32 * group + lane) * 3 + at])),
    );
    expect(blocked.measured!.aggregateLoss).toBeCloseTo(lossOf(rounds), 12);
    expect(blocked.measured!.aggregateLoss).not.toBeCloseTo(blocked.computed.aggregateLoss, 3);
  });

  it('prints its results in a table', async () => {
    const { status, out } = await trace('--', ...run(150, 3, 64, 0));
    expect(status).toBe(0);
    expect(out).toMatch(/^150 units: mean length \d+\.\d+, longest 121\. Written to .*; a study refers to it as file:/);
    const rows = /^computed from the lengths +32 +([\d.]+ +[\d.]+)\nmeasured by active lanes +32 +([\d.]+ +[\d.]+)$/m;
    const [, computed, measured] = rows.exec(out)!;
    expect(measured).toBe(computed);
  });

  it('writes on request, for a program that ends without its exit handlers', async () => {
    await traced('--', ...run(150, 3, 64, 0), 'leave');
    expect(writtenLengths()).toEqual(lengthsOf(150));
  });

  it('counts a unit that ends early and steps in a called function, but nothing after the trace is written', async () => {
    const [file, out] = [join(folder, 'leaving.cu'), join(folder, 'leaving')];
    copyFileSync(join(DATA, 'leaving.cu'), file);
    await build(file, out);
    expect((await runToEnd(out, [], folder)).code).toBe(0);
    await build(file, out, ['-DLOCKSTEP_TRACE']);
    await traced('--', out);
    expect(writtenLengths()).toEqual(lengthsOf(40));
  });

  it('traces the same through the names of HIP', async () => {
    const out = join(folder, 'hip-app');
    await build(source, out, ['-DLOCKSTEP_TRACE', '-D__HIP__'], { CPATH: `${folder}:${DATA}` });
    const { measured } = await traced('--', out, ...run(150, 3, 64, 0).slice(1));
    expect(measured).toEqual((await traced('--', ...run(150, 3, 64, 0))).measured);
    expect(writtenLengths()).toEqual(lengthsOf(150));
  });

  const arguments150 = run(150, 3, 64, 0).slice(1);
  it.each<readonly [string, readonly string[], RegExp]>([
    ['has no room for a unit', ['--', ...run(150, 3, 64, 0, 149)], /^The kernel ran unit 149, and the trace has room for 149 units, 0 to 148\. Set LOCKSTEP_TRACE_UNITS \(in WGSL, the size of the buffer\) to the number of all units\.$/], // prettier-ignore
    ['lacks units', ['--', ...run(150, 1, 32, 2)], /^The kernel did not run 86 of 150 units; the first is unit 64\./],
    ['has fewer units than were named', ['--units', '151', '--', ...run(150, 3, 64, 0)], /^The program traced 150 units, but --units is 151\. Use one number for both\.$/], // prettier-ignore
    ['is not written', ['--', untraced, ...arguments150], /untraced wrote no trace\. Was it compiled with -DLOCKSTEP_TRACE, does its kernel include lockstep\.cuh/], // prettier-ignore
    // The block has more threads than the device allows.
    ['is of a failed program', ['--', ...run(150, 3, 4096, 0)], /^The program ended with exit code 3\. It printed nothing\.$/], // prettier-ignore
    ['has room for no unit', ['--', ...run(150, 3, 64, 0, 0)], /^The program ended with exit code 1\. Its last line: lockstep\.cuh: LOCKSTEP_TRACE_UNITS: the number of units must be from 1 to 4294967294$/], // prettier-ignore
    ['is of no program', ['--', join(folder, 'absent')], /absent cannot be started \(no such file or folder, ENOENT\)/],
    ['never ends', ['--time-limit', '1', '--', 'sleep', '60'], /^sleep took longer than 1000 ms/],
  ])('refuses a trace that %s', async (_what, args, words) => expect(await refused(...args)).toMatch(words));

  it('records nothing if lockstep trace does not run it', async () => {
    const [file, ...args] = run(150, 3, 64, 0);
    expect(await runToEnd(file, args, folder)).toEqual({ code: 0, stdout: '', stderr: '' });
  });
});

describe('a file that a program writes itself', () => {
  const MARK = 0x5254534c;
  const HEAD = [MARK, 1, 2, 0, 32, 0, 0, 0];
  const FULL = [5, 5, 1, 0, 2 ** 32 - 1, 1, 1, 0];
  it.each<readonly [string, readonly number[], RegExp]>([
    ['is no trace', [1, 2, 3], /is not a trace/],
    [
      'is of another version',
      [MARK, 7, 0, 0, 0, 0, 0, 0],
      /version 7, not 1\. Use the header of lockstep trace --header/,
    ],
    ['is cut short', [...HEAD, 5, 5, 1, 0], /^The trace has 48 bytes, but its 2 units need 64\. Write all bytes of/],
    ['has no unit', [...HEAD, ...Array<number>(8).fill(0)], /^The kernel ran no unit .* Place LOCKSTEP_TRACE_UNITS/],
    ['has a full counter', [...HEAD, ...FULL], /^Unit 1 took more steps than a counter can hold/],
  ])('is refused if it %s', async (_what, words, message) => {
    const writes = `require('fs').writeFileSync(process.env.LOCKSTEP_TRACE_FILE, Uint32Array.of(${words.join()}))`;
    expect(await refused('--', process.execPath, '-e', writes)).toMatch(message);
  });

  it('needs a program or the name of a header', async () => {
    for (const args of [[], ['--header', '--wgsl'], ['--header', '--', 'true']])
      expect((await trace(...args)).status, args.join(' ')).toBe(2);
  });
});

describe.skipIf(lacks('nvcc'))('a CUDA kernel under nvcc', () => {
  it('compiles for old and new devices, without tracing to the code without macros', async () => {
    const plain = join(folder, 'plain.cu');
    writeFileSync(plain, readFileSync(source, 'utf8').replaceAll(/^.*(LOCKSTEP_|lockstep\.cuh).*\n/gm, ''));
    const always = ['-std=c++17', '-Werror', 'all-warnings', '-Xcompiler', '-Wall,-Wextra,-Werror'];
    const compile = (...args: readonly string[]) => runToEnd(findTool('nvcc')!, [...always, ...args], folder);
    const code = async (file: string, ...flags: readonly string[]): Promise<string> => {
      const compiled = await compile('-arch=sm_120', ...flags, '-ptx', file, '-o', 'app.ptx');
      expect(compiled).toEqual({ code: 0, stdout: '', stderr: '' });
      return readFileSync(join(folder, 'app.ptx'), 'utf8');
    };
    const without = await code(plain);
    expect(without).toContain('.entry');
    expect(await code(source)).toBe(without);
    expect(await code(source, '-DLOCKSTEP_TRACE')).toMatch(/activemask\.b32[^]*st\.(global\.)?v4/);
    // The first architecture is the oldest that nvcc 13 knows. The second one belongs to its newer compiler.
    const both = [75, 120].flatMap((name) => ['-gencode', `arch=compute_${name},code=sm_${name}`]);
    const { code: status, stderr } = await compile('-DLOCKSTEP_TRACE', ...both, '-c', source, '-o', 'app.o');
    expect([status, stderr]).toEqual([0, '']);
  });
});

describe.skipIf(lacks('swiftshader'))('a WGSL kernel on a software adapter', () => {
  const CHILD = join(import.meta.dirname, 'wgsl-child.ts');
  const run = (...args: readonly string[]): Promise<Ended> =>
    runToEnd(process.execPath, args, folder, swiftShaderEnvironment() as Record<string, string>);
  const traceChild = (room: string): Promise<Ended> =>
    run(
      ...[join(ROOT, 'src-main/cli/lockstep.mjs'), 'trace', '--json', '-o', lengthsFile],
      ...['--', process.execPath, CHILD, 'traced', '150', room],
    );

  it('writes its lengths, and is refused if it runs more units than the trace has room for', async () => {
    const { code, stdout, stderr } = await traceChild('150');
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ units: 150, maxLength: 121, measured: null });
    expect(writtenLengths()).toEqual(lengthsOf(150));
    const stated = /The kernel ran unit 149, and the trace has room for 100 units, 0 to 99\./;
    expect(await traceChild('100')).toMatchObject({ code: 1, stderr: stated });
  });

  it('computes the same without a trace', async () => {
    const { code, stdout, stderr } = await run(CHILD, 'untraced', '150', '1');
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toEqual(lengthsOf(150));
    const header = readFileSync(join(ROOT, 'db/kernels/lockstep.wgsl'), 'utf8');
    expect(await lockstep('trace', '--wgsl')).toMatchObject({ status: 0, out: header });
  });
});
