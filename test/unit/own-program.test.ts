import { availableParallelism, tmpdir } from 'node:os';
import { kernelAbility } from '../../src-main/services/measuring/own-kernel.ts';
import { findAbility } from '../../src-workers/domain/ability.ts';
import { describe, expect, it } from 'vitest';
import * as commandLine from '../../src-workers/bench/program/command-line.ts';
import type { Build } from '../../src-workers/bench/program/build.ts';
import { measureProgram } from '../../src-workers/bench/program/measure.ts';
import { readOutput } from '../../src-workers/bench/program/output.ts';
import type { BenchRecord, ProgramTask } from '../../src-workers/domain/benchmark.ts';
import { fail, ok, unwrap, type Result } from '../../src-workers/domain/result.ts';
import { arbitraryOrder } from '../../src-workers/numeric/random.ts';
import { benchPlan, designOf, unitLoop } from '../measuring.ts';

const TASK: ProgramTask = { exec: '', build: null, folder: '/', units: 70, deviceId: 'gpu', reference: null, probe: false }; // prettier-ignore
const refusal = (result: Result<unknown>): string => (result.ok ? 'ok' : result.error.message);

describe('a command line', () => {
  it.each([
    ['./spmv --block 64', ['./spmv', '--block', '64']],
    ['  a\tb  c ', ['a', 'b', 'c']],
    [`"my program" 'a b' c"d e"f`, ['my program', 'a b', 'cd ef']],
    [`a '' ""`, ['a', '', '']],
    [String.raw`a\ b \" '\"' "\"" C:\dir\x`, ['a b', '"', '\\"', '"', 'C:\\dir\\x']],
    ['a; rm -rf $(b) | c * > d & `e`', ['a;', 'rm', '-rf', '$(b)', '|', 'c', '*', '>', 'd', '&', '`e`']],
  ])('%s is split without a shell', (line, words) => expect(unwrap(commandLine.splitCommand(line))).toEqual(words));

  it('is refused without a program, or with a quotation mark that is not closed', () => {
    for (const none of ['', '   ', `'' a`]) expect(commandLine.splitCommand(none)).toFail(null, /no program/);
    expect(commandLine.splitCommand(`a "b`)).toFail(null, /quotation mark " that is never closed/);
  });

  it('is the only target for blocks that are tiles, because kernels and stand-ins have blocks of one row', () => {
    const can = (['program', 'cuda', 'hip', 'webgpu', 'cpu'] as const).filter((name) => findAbility(name, null).tiles);
    expect(can).toEqual(['program']);
    expect(kernelAbility(findAbility('program', null)).tiles).toBe(false);
  });

  it('is filled with the values of a design, which are never split', () => {
    const design = designOf({
      implementation: 'two words; rm',
      threadsPerUnit: 4,
      unitsPerThread: 2,
      balancing: 'window-sort(4096)',
      blockThreads: 128,
      blockWidth: 32,
      gridBlocks: 16,
      classes: [{ upTo: null, threadsPerUnit: 4, units: 7, gridBlocks: 16 }],
    });
    const ofUnits = { lengthsFile: '/tmp/l.u32', orderFile: '/tmp/o.u32', launches: '0:7:4:16' };
    const values = commandLine.listValues(design, 5, TASK, ofUnits);
    const line =
      'p {implementation} -b={blockThreads}x{gridBlocks} {blockWidth} {threadsPerUnit} {unitsPerThread} {registerCap} {balancing} {loop} {classes} {design} {units} {device} {lengthsFile} {orderFile} {launches} {{units}} {"a":{"b":1}}';
    expect(unwrap(commandLine.splitCommand(line)).map((word) => commandLine.substituted(word, values))).toEqual([
      'p',
      'two words; rm',
      ...'-b=128x16 32 4 2 0 window-sort(4096) nested'.split(' '),
      JSON.stringify(design.classes),
      ...'5 70 gpu /tmp/l.u32 /tmp/o.u32 0:7:4:16 {units} {a:{b:1}}'.split(' '),
    ]);
  });

  it.each([
    ['p {block}', null, /\{block\} is not a placeholder.*\{blockThreads\}.*write \{\{block\}\}/],
    ['p', 'make {sources}', /--build: \{sources\} is not a placeholder/],
    ['{binary}', null, /Specify --build/],
    ['./p', 'gcc p.c -o {binary}', /Use \{binary\} in --exec/],
    ['./p', 'make BLOCK={blockThreads}', /\{blockThreads\}.*overwrite.*Write to \{binary\}/],
    [`p 'x`, null, /--exec: .*quotation mark/],
    ['./p {blockThreads}', 'make', 'ok'],
    ['{binary} {units}', 'gcc -DB={blockThreads} p.c -o {binary}', 'ok'],
  ])('%s after %s is checked before anything runs', (exec, build, words) =>
    expect(refusal(commandLine.checkCommands({ exec, build }))).toMatch(words),
  );

  it('lists the placeholders that it has', () => {
    const task = { exec: 'p {lengthsFile}', build: 'cc {{units}} -o p' };
    const named = (['lengthsFile', 'units', 'binary'] as const).map((name) => commandLine.names(task, name));
    expect(named).toEqual([true, false, false]);
  });
});

describe('the output of a program', () => {
  const read = (...lines: readonly string[]) => readOutput(lines.join('\n'), '');

  it('is read from JSON lines, and all other lines are ignored', () => {
    const ignored = ['hello', '{ not JSON', '{"other": 1}', '[1]'];
    const lines = ['{"timeNs": 12}', '  {"timeNs":13, "digest": 7}', '{"correct":true}'];
    const device = '{"maxError":0.5,"device":"GPU","driver":"1.2","multiprocessors":3}';
    expect(unwrap(read(...ignored, ...lines, ...ignored, device))).toEqual({ timesNs: [12, 13], correct: true, maxError: 0.5, digest: '7', device: 'GPU', driver: '1.2', multiprocessors: 3 }); // prettier-ignore
    expect(unwrap(read('{"timeNs":0}'))).toEqual({ timesNs: [0], correct: null, maxError: null, digest: null, device: null, driver: null, multiprocessors: null }); // prettier-ignore
    const twice = read('{"timeNs":1}', '{"correct":false,"maxError":3}', '{"correct":true,"maxError":1}');
    expect(unwrap(twice)).toMatchObject({ correct: false, maxError: 3 });
    // The message about a missing time ends with the last line of standard error, if there is one.
    expect(readOutput('out', 'x\nbad luck\n')).toFail(null, /Its last line: bad luck$/);
  });

  it.each([
    ['{"timeNs": -1}', /timeNs -1, not a number of nanoseconds/],
    ['{"timeNs": "1"}', /timeNs "1"/],
    ['{"timeNs": null}', /timeNs null/],
    ['{"correct": 1}', /correct 1, not true or false/],
    ['{"digest": ""}', /digest "", not text/],
    ['{"digest": {"a":1}}', /digest \{"a":1\}/],
    ['{"device": 5}', /device 5/],
    ['{"multiprocessors": 1.5}', /multiprocessors 1.5/],
    ['{"digest":"a"}', /no time.*\{"timeNs": 1234\}.*Its last line: \{"digest":"a"\}/],
    ['', /no time.*printed nothing/],
  ])('%s is refused with the reason', (line, words) => expect(refusal(read(line))).toMatch(words));
});

it('builds all designs at once before the first launch, in the order of the launches by the seed', async () => {
  const [done, said] = [[] as string[], [] as BenchRecord[]];
  const task: ProgramTask = {
    ...TASK,
    exec: `"${process.execPath}" -p "JSON.stringify({timeNs: 1000})" {binary}`,
    build: 'cc -DBLOCK={blockThreads} -o {binary}',
    folder: tmpdir(),
  };
  const cases = [64, 128, 256, 512].map((blockThreads, at) => unitLoop(`design-${at}`, { blockThreads }));
  const plan = benchPlan(cases, { backend: 'program', repeats: 2, warmUps: 0, caseTimeLimitMs: 20_000 });
  // A build waits for as many builds as there are cores. If builds ran one after another, they would never end.
  const together = Promise.withResolvers<void>();
  const atOnce = Math.min(availableParallelism(), cases.length);
  let begun = 0;
  const build: Build = async ({ blockThreads }) => {
    if (++begun === atOnce) together.resolve();
    await together.promise;
    done.push(blockThreads);
    return blockThreads === '512' ? fail('unsupported', 'The build failed: no such register') : ok(`b${blockThreads}`);
  };
  const texts = { lengthsFile: '', orderFile: '', launches: '' };
  const say = (record: BenchRecord): void => {
    if (record.type === 'sample' || record.type === 'failed') expect(done).toHaveLength(cases.length);
    said.push(record);
  };
  await measureProgram(plan, task, () => Promise.resolve(ok(texts)), build, say);
  const failed = said.filter(({ type }) => type === 'failed');
  expect(failed).toEqual([{ type: 'failed', case: 'design-3', message: 'The build failed: no such register' }]);
  const launched = said.flatMap((record) => (record.type === 'sample' ? [record.case] : []));
  const order = Array.from(arbitraryOrder(cases.length, plan.seed), (at) => `design-${at}`);
  const first = order.filter((id) => id !== 'design-3');
  // Every design is launched once before any is launched again, in a random order.
  expect(launched.slice(0, 3)).toEqual(first);
  expect(launched.slice(3).toSorted()).toEqual(first.toSorted());
});
