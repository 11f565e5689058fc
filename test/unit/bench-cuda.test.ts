import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeBundle, planLine } from '../../src-workers/bench/cuda/bundle.ts';
import { readCudaSources } from '../../src-workers/bench/cuda/compile.ts';
import { cudaPlan, EXIT_HUNG } from '../../src-workers/bench/cuda/cuda-plan.ts';
import { firstError, parsePtxas, parseResourceRemarks } from '../../src-workers/bench/cuda/ptxas.ts';
import { inlinePtx, rewriteLaunches } from '../../src-workers/bench/cuda/launch-syntax.ts';
import { ARCHIVE_FOLDER, tarArchive } from '../../src-workers/bench/cuda/tar.ts';
import { referenceResults, unitOrder } from '../../src-workers/bench/unit-loop.ts';
import type { BenchCase, BenchPlan, CaseOf, PlanSource } from '../../src-workers/domain/benchmark.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { geometricLaw } from '../../src-workers/models/workload/laws.ts';
import { parsePlanLine } from '../../src-workers/parse/bench-records.ts';
import { NO_FILES, planOf, probe, runToEnd, SOURCES, WORKLOAD } from '../integration/bench-cuda-plans.ts';
import { lacks } from '../tools.mjs';
import { testFolder } from '../workplace.ts';
import { dataText } from '../data.ts';
import { unitLoop } from '../measuring.ts';

const folder = testFolder();

const words = (bytes: Uint8Array): number[] => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length: bytes.length / 4 }, (_, i) => view.getUint32(4 * i, true));
};

type Power = CaseOf<'matrix-power'>;
const powerOf = (change: Partial<Power['parameters']> = {}): Power => ({
  id: 'power',
  benchmark: 'matrix-power',
  parameters: {
    lengths: 'geometric(0.05)',
    unitsPerGroup: 8,
    workGroups: 4,
    execution: 'lockstep',
    synchronised: true,
    ...change,
  },
});
const power = powerOf();
const planned = async (...plan: Parameters<typeof planOf>) => unwrap(await cudaPlan(planOf(...plan), NO_FILES));
const bundled = async (plan: BenchPlan, source: PlanSource | null = null, more: object = {}) =>
  unwrap(await makeBundle(plan, { sourcesFolder: SOURCES, source, context: NO_FILES, ...more }));
const bytesOf = (path: string, files: readonly { readonly path: string; readonly bytes: Uint8Array }[]) =>
  files.find((one) => one.path === path)!.bytes;

describe('the plan that the CUDA program reads', () => {
  it('has one line for each case, and shared files only once', async () => {
    const loops = { loops: 'double', divergentLanes: 0, iterations: 32 } as const;
    const cases: readonly BenchCase[] = [
      unitLoop('a', {}),
      unitLoop('b', { threadsPerUnit: 4, loop: 'flattened', balancing: 'full-sort', registerCap: 24 }),
      unitLoop('c', { balancing: 'full-sort', registerCap: 24 }),
      unitLoop('d', { balancing: 'dynamic-fetch', gridBlocks: 3 }),
      unitLoop('e', { balancing: 'best-buckets(3)' }),
      unitLoop('f', { balancing: 'best-buckets(3)', threadsPerUnit: 8 }),
      power,
      { ...power, id: 'power-2' },
      { id: 'loops', benchmark: 'divergent-loops', parameters: loops },
      { id: 'grid', benchmark: 'launch-grid', parameters: { blocks: 16, threads: 32, elements: 100 } },
      probe('bandwidth', { bytes: 4096 }),
    ];
    const { files, objects } = await planned(cases, { caseTimeLimitMs: 1500.5 });
    const file = (name: string) => bytesOf(name, files);
    expect(new TextDecoder().decode(file('plan.txt')).split('\n')).toEqual([
      'lockstep-cuda-plan 1',
      'run warm-ups=1 repeats=2 case-time-limit-ms=1501 seed=7 alternating=1 cache=warm',
      'units lengths=lengths.u32 expected=expected.u32',
      'case a unit-loop u=1 dispatch=nested block=64 grid=2 cap=0 resident=0 table=64 order=order-0.u32 blocks=blocks-1.u32',
      'case b unit-loop u=4 dispatch=flattened block=64 grid=2 cap=24 resident=0 table=64 order=order-2.u32 blocks=blocks-3.u32',
      'case c unit-loop u=1 dispatch=nested block=64 grid=2 cap=24 resident=0 table=64 order=order-2.u32 blocks=blocks-3.u32',
      'case d unit-loop u=1 dispatch=fetching fetch=1 block=64 grid=3 cap=0 resident=0 table=64 order=order-0.u32 blocks=blocks-4.u32',
      'case e unit-loop u=1 dispatch=nested block=64 grid=2 cap=0 resident=0 table=64 order=order-5.u32 blocks=blocks-3.u32',
      'case f unit-loop u=8 dispatch=nested block=64 grid=2 cap=0 resident=0 table=64 order=order-6.u32 blocks=blocks-3.u32',
      'case power matrix-power n=8 groups=4 law=law-7.u32 execution=lockstep synchronised=1',
      'case power-2 matrix-power n=8 groups=4 law=law-7.u32 execution=lockstep synchronised=1',
      'case loops divergent-loops lanes=0 iterations=32 loops=double',
      'case grid launch-grid blocks=16 threads=32 elements=100',
      'case bandwidth probe bytes=4096 probe=bandwidth',
      'end',
      '',
    ]);
    expect(words(file('lengths.u32'))).toEqual([...WORKLOAD.lengths]);
    expect(words(file('expected.u32'))).toEqual([...referenceResults(WORKLOAD.lengths)]);
    expect(words(file('order-2.u32'))).toEqual([...unwrap(unitOrder(WORKLOAD.lengths, { kind: 'full-sort' }, 8))]);
    expect(words(file('blocks-1.u32'))).toEqual([0, 1]);
    expect(words(file('blocks-3.u32'))).toEqual([1, 0]);
    const loopObjects = ['u1', 'u4-24', 'u1-24', 'u8'].map((variant) => `unit-loop-${variant} unit-loop.cu`);
    expect(objects.map(({ name, source }) => `${name} ${source}`)).toEqual(['main main.cu', ...loopObjects]);
    const { flags } = objects[2];
    expect(flags.slice(-3)).toEqual(['-DLOCKSTEP_REGISTER_CAP=24', '--maxrregcount', '24']);
    for (const flag of flags.slice(0, -2)) expect(flag).toMatch(/^-DLOCKSTEP_[A-Z_]+=\d+u?$/);
    expect(flags).toContain('-DLOCKSTEP_THREADS_PER_UNIT=4');
  });

  it('writes a law as rising thresholds that give each length its probability', async () => {
    const pairs = words(bytesOf('law-0.u32', (await planned([power])).files));
    const law = unwrap(geometricLaw(0.05));
    expect(pairs.filter((_, i) => i % 2 === 1)).toEqual([...law.support]);
    const thresholds = pairs.filter((_, i) => i % 2 === 0);
    let below = 0;
    thresholds.forEach((threshold, i) => {
      // Each threshold is rounded to a whole word. The last threshold takes the rest.
      expect(Math.abs((threshold - below) / 2 ** 32 - law.probability[i])).toBeLessThanOrEqual(2 ** -32);
      below = threshold;
    });
    expect(thresholds.at(-1)).toBe(2 ** 32 - 1);
  });

  it('needs no units without a unit loop', async () => {
    const { objects, files } = await planned([probe('limits')], { workload: null });
    expect([...objects.map(({ name }) => name), ...files.map(({ path }) => path)]).toEqual(['main', 'plan.txt']);
  });

  const broken: BenchCase = { id: 'p', benchmark: 'probe', parameters: { probe: 'a\nend', arguments: {} } };
  const stream: BenchCase = { id: 's', benchmark: 'stream', parameters: { cores: 1, bytesPerCore: 8 } };
  it.each<[RegExp, BenchCase]>([
    [/^The case id "a b" must have 1 to 200 characters/, { ...power, id: 'a b' }],
    [/^Case p cannot be prepared: The name of the probe "a\\nend" may contain only/, broken],
    [/^Case limits cannot be prepared: The probe limits has the argument "a=1 b"/, probe('limits', { 'a=1 b': 1 })],
    [/bytes must be a whole number of at least 0, not 0.5/, probe('bandwidth', { bytes: 0.5 })],
    [/^Case x cannot be prepared: threads per unit must be a power/, unitLoop('x', { threadsPerUnit: 3 })],
    [/^Case x cannot be prepared: the register cap must be/, unitLoop('x', { registerCap: 0 })],
    [/^Case x cannot be prepared: The balancing row-split is for the cores/, unitLoop('x', { balancing: 'row-split' })],
    [/^Case x cannot be prepared: balancing "luck" is not valid\. Use none, /, unitLoop('x', { balancing: 'luck' })],
    [/^Case power cannot be prepared: 33 units in a work group exceed the limit of 32/, powerOf({ unitsPerGroup: 33 })],
    [/^Case power cannot be prepared: .*chaos/, powerOf({ lengths: 'chaos(1)' })],
    [/^Case s cannot be prepared: The benchmark stream does not run on a CUDA device/, stream],
  ])('refuses a case: %s', async (message, one) =>
    expect(await cudaPlan(planOf([one]), NO_FILES)).toFail(null, message),
  );

  it('refuses plans for other targets, without repeats or workload, and with two cases of one name', async () => {
    const made = (...plan: Parameters<typeof planOf>) => cudaPlan(planOf(...plan), NO_FILES);
    const noWorkload = /^Case a cannot be prepared: The plan has a unit loop, but no workload/;
    expect(await made([], { backend: 'cpu' })).toFail(null, 'the plan is for cpu, not for cuda or hip');
    expect(await made([], { repeats: 0 })).toFail(null, /^repeats of the plan must be .*, not 0/);
    expect(await made([unitLoop('a', {})], { workload: null })).toFail(null, noWorkload);
    expect(await made([power, power])).toFail(null, 'two cases are called power');
  });
});

describe('what compilers report', () => {
  it('is read from the remarks of hipcc for every kernel', () => {
    // clang 15 prints such lines for gfx90a.
    const remark = (name: string, value: string | number): string =>
      `main.cu:9:1: remark: ${name}: ${value} [-Rpass-analysis=kernel-resource-usage]\n__global__ void walk() {\n^\n`;
    const values: readonly (readonly [string, number])[] = [['SGPRs', 8], ['VGPRs', 40], ['AGPRs', 2], ['ScratchSize [bytes/lane]', 16], ['Occupancy [waves/SIMD]', 8], ['SGPRs Spill', 1], ['VGPRs Spill', 3], ['LDS Size [bytes/block]', 4096]]; // prettier-ignore
    const text = [
      'In file included from main.cu:9:\n',
      remark('Function Name', '_Z4walkPj'),
      ...values.map(([name, value]) => remark(`    ${name}`, value)),
      remark('Function Name', '_Z4nonev'),
      remark('    VGPRs', 2),
    ].join('');
    const spilled = { stackBytes: 16, spillStoreBytes: 12, spillLoadBytes: 12 };
    expect(parseResourceRemarks(text)).toEqual([
      { kernel: '_Z4walkPj', architecture: '', registersPerThread: 42, sharedMemoryBytes: 4096, ...spilled },
      expect.objectContaining({ kernel: '_Z4nonev', registersPerThread: 2, stackBytes: 0 }),
    ]);
  });

  it("is read from the assembler's report for every kernel and architecture", () => {
    const spilled = { stackBytes: 1232, spillStoreBytes: 228, spillLoadBytes: 264 };
    const none = { stackBytes: 0, spillStoreBytes: 0, spillLoadBytes: 0 };
    const kernel = '_Z4walkPj';
    // The file has the output of nvcc 13.0, including a kernel that spills registers.
    expect(parsePtxas(dataText('cuda/ptxas.txt'))).toEqual([
      { kernel, architecture: 'sm_80', registersPerThread: 255, sharedMemoryBytes: 4096, ...spilled },
      { kernel, architecture: 'sm_90', registersPerThread: 16, sharedMemoryBytes: 0, ...none },
    ]);
    expect(parsePtxas('nothing of this kind\nptxas info : Used 3 registers')).toEqual([]);
  });

  const undefinedName = 'main.cu(5): error: identifier "x" is undefined';
  const unsupported = "nvcc fatal   : Unsupported gpu architecture 'compute_30'";
  const advice = 'compute capability 3.0 needs CUDA 10.2 or older; set NVCC=/path/to/nvcc';
  it.each([
    [`my-error.cu(1): warning #177-D: unused\n${undefinedName}\n\n1 error detected`, undefinedName],
    [`\n${unsupported}\n`, `${unsupported}: ${advice}`],
    ['note\n/usr/bin/ld: cannot find -lcudart\ncollect2: error', '/usr/bin/ld: cannot find -lcudart'],
    ['Segmentation fault\n', 'Segmentation fault'],
    ['', 'it printed nothing'],
  ])('begins with the first error if the compiler fails', (text, first) => expect(firstError(text)).toBe(first));
});

describe('a bundle', () => {
  const source = { runId: 3, study: 'Test', seed: 1, deviceId: 'nvidia-a100' };

  it("begins its results with the plan's line, which identifies the lengths by their digest", async () => {
    const plan = planOf([unitLoop('a', {}), power]);
    const files = await bundled(plan, source);
    const read = unwrap(parsePlanLine(JSON.parse(new TextDecoder().decode(bytesOf('plan.jsonl', files)))));
    expect(read).toEqual(planLine(plan, source));
    expect(read.source).toEqual(source);
    const { lengths: _lengths, ...described } = WORKLOAD;
    expect(read.plan.workload).toEqual({ ...described, units: WORKLOAD.lengths.length });
    expect(read.lengthsDigest).toBe(hash('sha256', bytesOf('lengths.u32', files)));
    expect(planLine(planOf([power], { workload: null }), null).lengthsDigest).toBeNull();
  });

  it.skipIf(lacks('shellcheck')).each([
    ['cuda', 'run.sh'],
    ['cuda', 'run.slurm'],
    ['hip', 'run.sh'],
  ] as const)('has a script for %s, %s, in which shellcheck finds no fault', async (backend, name) => {
    const change = { backend, ...(backend === 'hip' && { threadGroupWidth: 64 }) };
    const plan = planOf([unitLoop('a', {}), unitLoop('b', { registerCap: backend === 'hip' ? null : 24 })], change);
    const script = (await bundled(plan, null, { slurmTasks: 2 })).find((one) => one.path === name)!;
    expect(script.executable).toBe(true);
    const path = join(folder, name);
    writeFileSync(path, script.bytes);
    const checked = await runToEnd('shellcheck', ['--shell=sh', '--enable=quote-safe-variables', path], folder);
    expect(checked).toMatchObject({ stdout: '', code: 0 });
  });

  // Without PowerShell, the test only checks the text of the script, including its quotes and brackets.
  it('has a script for Windows with the same objects and flags, which starts again after a hang', async () => {
    const plan = planOf([unitLoop('a', {}), unitLoop('b', { registerCap: 24 })]);
    const script = new TextDecoder().decode(bytesOf('run.ps1', await bundled(plan)));
    for (const { name, source, flags } of unwrap(await cudaPlan(plan, NO_FILES)).objects) {
      const words = [...flags, '-c', `sources/${source}`, '-o', `build/${name}.obj`];
      expect(script).toContain(`Build ($compile + @(${words.map((word) => `'${word}'`).join(', ')}))`);
    }
    expect(script).toContain(`while ($run.ExitCode -eq ${EXIT_HUNG})`);
    const open: string[] = [];
    const pairs: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };
    const code = script.replaceAll(/^ *#.*$/gm, '').replaceAll(/'(?:[^'\n]|'')*'|"(?:[^"\n]|"")*"/g, '');
    expect(code).not.toMatch(/['"]/);
    for (const character of code)
      if ('([{'.includes(character)) open.push(character);
      else if (character in pairs) expect(open.pop()).toBe(pairs[character]);
    expect(open).toEqual([]);
  });

  it('packs the same archive every time, and tar can unpack it', async () => {
    const sources = unwrap(await readCudaSources(SOURCES));
    const files = await bundled(planOf([unitLoop('a', {})]));
    const archive = unwrap(tarArchive(files));
    expect(unwrap(tarArchive(files))).toEqual(archive);
    const path = join(folder, 'bundle.tar');
    writeFileSync(path, archive);
    expect(spawnSync('tar', ['-xf', path, '-C', folder], { encoding: 'utf8' }).stderr).toBe('');
    for (const { path: name, bytes, executable } of files) {
      expect(readFileSync(join(folder, ARCHIVE_FOLDER, name)).equals(bytes), name).toBe(true);
      expect(statSync(join(folder, ARCHIVE_FOLDER, name)).mode & 0o111, name).toBe(executable ? 0o111 : 0);
    }
    expect(files.filter(({ path: name }) => name.startsWith('sources/')).length).toBe(sources.length);
  });

  it.each(['/etc/passwd', '../up', 'a/../../up', '', 'x'.repeat(85)])('refuses to pack a file called "%s"', (path) => {
    const packed = tarArchive([{ path, bytes: new Uint8Array(1) }]);
    expect(packed).toFail(null, /leaves the archive, or is longer than 84 bytes/);
  });
});

/** Returns CUDA's own syntax translated to C++ for the emulation. */
const rewritten = (text: string): string => unwrap(rewriteLaunches(text));
const CONFIG = ' dim3(g, 1), b, 4 * sizeof(int), s ';
const startOf = (kernel: string, config: string): string =>
  `cuda_shim::Start{cuda_shim::Config(${config}), [&](auto... lockstepGiven) { ${kernel}(lockstepGiven...); }}`;

it.each([
  ['a<<<g, b>>>(x, y);', `${startOf('a', 'g, b')}(x, y);`],
  [`if (n) ns::a <<<${CONFIG}>>> ();`, `if (n) ${startOf('ns::a', CONFIG)} ();`],
  ['a<float, (4 > 2)><<<n >> 8, 256>>>(x);', `${startOf('a<float, (4 > 2)>', 'n >> 8, 256')}(x);`],
  ['(a<T>)<<<1, 2>>>(x);', `${startOf('(a<T>)', '1, 2')}(x);`],
  ['plan->kernels[i]<< <g, b> >>(x);', `${startOf('plan->kernels[i]', 'g, b')}(x);`],
  ['a<<<1, 2>>>(f(x)); b<<<3, 4>>>(")");', `${startOf('a', '1, 2')}(f(x)); ${startOf('b', '3, 4')}(")");`],
  ['cout << "a<<<1>>>()" << \'<\' << x;', 'cout << "a<<<1>>>()" << \'<\' << x;'],
  ['ostream& operator<< <char>(ostream&);', 'ostream& operator<< <char>(ostream&);'],
  ['extern static float s[];', 'static float* const s = (float*)cuda_shim::dynamicShared;'],
  ['extern volatile static unsigned char s [ ];', 'static volatile unsigned char* const s = (volatile unsigned char*)cuda_shim::dynamicShared;'], // prettier-ignore
  ['extern static __attribute__((aligned(16))) T s[];', 'static T* const s = (T*)cuda_shim::dynamicShared;'],
  ['static static int n;', 'static int n;'],
  ['asm volatile("// lockstep:loop");', '((void)0);'],
])('%s', (text, expected) => expect(rewritten(text)).toBe(expected));

it('does not change system headers, and keeps line numbers', () => {
  const text =
    '# 1 "/usr/include/x.h" 1 3\nT operator<<\n<int>(); << <\n# 5 "a.cu" 2\nvoid f() {\n  a<<<1,\n    2>>>(x);\n}\n';
  expect(rewritten(text)).toBe(text.replace('a<<<1,\n    2>>>(x);', `${startOf('a', '1,\n    2')}(x);`));
});

it.each(['a<<<1, 2>>>;', 'a<<<1, 2(x);', '<<<1, 2>>>(x);'])('refuses %s', (text) => {
  const found = rewriteLaunches(text);
  expect(found).toFail(null, /^a launch cannot be read: .*Write kernel<<<grid, block>>>\(arguments\)$/s);
});

it('finds PTX instructions in a source', () => {
  expect(inlinePtx('asm volatile("mov.u32 %0, %%smid;" : "=r"(id));')).toBe('mov.u32');
  expect(inlinePtx('asm("{ .reg .f32 a; add.f32 a, a, a; }");')).toBe(null);
  expect(inlinePtx('# 1 "/usr/include/x.h" 3\nasm ("mov.u32 x");')).toBe(null);
  expect(inlinePtx('asm volatile("// lockstep:loop");')).toBe(null);
});
