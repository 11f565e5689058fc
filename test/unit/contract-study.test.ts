import { describe, expect, it } from 'vitest';
import { parseStudy } from '../../src-main/contract/parse.ts';
import type { Failure } from '../../src-workers/domain/result.ts';
import { oneDesign } from './sweep-plans.ts';
import { cpuTimeMs } from '../cpu-time.ts';

type Json = Record<string, unknown>;

type Change = (study: Json & { axes: Json; kernel: Json; workload: Json }) => unknown;

/** Returns the error for a changed study. */
function failureOf(change: Change): Failure {
  const study = structuredClone(oneDesign()) as unknown as Json & { axes: Json; kernel: Json; workload: Json };
  const changed = change(study);
  return textFailure(JSON.stringify(typeof changed === 'object' && changed !== null ? changed : study));
}

function textFailure(text: string): Failure {
  const result = parseStudy(text, 's.json');
  if (result.ok) throw new Error('parsed');
  expect(result.error.code).toBe('bad-input');
  expect(result.error.message).toMatch(/^s\.json/);
  return result.error;
}
const textMessage = (text: string): string => textFailure(text).message;

describe('the error of a wrong study names the field, and what it must be', () => {
  it.each<readonly [string, Change, string, string]>([
    [
      'a newer format',
      (s) => void (s.lockstep = 2),
      'lockstep',
      '1, the version of the study format this Lockstep reads',
    ],
    ['no version', (s) => void delete s.lockstep, 'lockstep', '1, the version of the study format this Lockstep reads'],
    ['an unknown field', (s) => void (s.kernal = {}), 'kernal', 'did you mean "kernel"?'],
    [
      'cycles among the fields of a kernel',
      (s) => void (s.kernel.cyclesPerIteration = 40),
      'kernel.cyclesPerIteration',
      '"pipeline": {"DEVICE ID": {"latencyCycles": …, "issueCycles": …, "kneeSoftness": …}}',
    ],
    [
      'a misspelt field of a kernel',
      (s) => void (s.kernel.bytesPerIterations = 40),
      'kernel.bytesPerIterations',
      'did you mean "bytesPerIteration"?',
    ],
    [
      'a figure that gives no time',
      (s) => void (s.kernel.instructionsPerIteration = 1e308),
      'kernel.instructionsPerIteration',
      'a number above 0, at most 1000000000000',
    ],
    [
      'a field that may be 0',
      (s) => void (s.kernel.bytesPerIteration = 1e308),
      'kernel.bytesPerIteration',
      'a number from 0 to 1000000000000',
    ],
    ['an unknown field that resembles no other', (s) => void (s.zzzzzzzz = {}), 'zzzzzzzz', 'not a known field'],
    ['a misspelt axis', (s) => void (s.axes.blockThread = [1]), 'axes.blockThread', 'did you mean "blockThreads"?'],
    [
      'a missing axis',
      (s) => void delete s.axes.blockThreads,
      'axes.blockThreads',
      'a list of whole numbers ≥ 1 or a range {"from", "to", "step"}',
    ],
    ['0 in an axis', (s) => void (s.axes.blockThreads = [64, 0]), 'axes.blockThreads[1]', 'a whole number ≥ 1'],
    [
      'a negative number in an axis',
      (s) => void (s.axes.blockThreads = [-64]),
      'axes.blockThreads[0]',
      'a whole number ≥ 1',
    ],
    [
      'a fraction in an axis',
      (s) => void (s.axes.unitsPerThread = [1.5]),
      'axes.unitsPerThread[0]',
      'a whole number ≥ 1',
    ],
    ['text in an axis', (s) => void (s.axes.gridBlocks = ['NaN']), 'axes.gridBlocks[0]', 'a whole number ≥ 1'],
    [
      'null for NaN',
      (s) => void (s.kernel.instructionsPerIteration = NaN),
      'kernel.instructionsPerIteration',
      'a number above 0',
    ],
    ['an empty axis', (s) => void (s.axes.blockThreads = []), 'axes.blockThreads', '1 to 4096 values'],
    [
      'an axis that is a number',
      (s) => void (s.axes.blockThreads = 256),
      'axes.blockThreads',
      'a list of whole numbers ≥ 1 or a range {"from", "to", "step"}',
    ],
    [
      'a range without an end',
      (s) => void (s.axes.blockThreads = { from: 32 }),
      'axes.blockThreads.to',
      'a whole number ≥ 1',
    ],
    [
      'a range with a step of 0',
      (s) => void (s.axes.blockThreads = { from: 32, to: 64, step: 0 }),
      'axes.blockThreads.step',
      'a whole number ≥ 1',
    ],
    ['an unknown loop', (s) => void (s.axes.loop = ['unrolled']), 'axes.loop[0]', '"nested" or "flattened"'],
    [
      'too many units',
      (s) => void (s.workload.units = 1e15),
      'workload.units',
      'a whole number from 1 to 1099511627776',
    ],
    [
      'a serial fraction above 1',
      (s) => void (s.kernel.serialFraction = 2),
      'kernel.serialFraction',
      'a number from 0 to 1',
    ],
    [
      'a constraint that bounds nothing',
      (s) => void (s.constraints = [{ quantity: 'waves' }]),
      'constraints[0]',
      'at least one of "atLeast", "atMost" or "multipleOf"',
    ],
    [
      'a constraint on an unknown quantity',
      (s) => void (s.constraints = [{ quantity: 'time', atMost: 1 }]),
      'constraints[0].quantity',
      'one of "threadsPerUnit", "unitsPerThread", "blockThreads", "gridBlocks", "registerCap", "occupancyFraction", "residentBlocks", "waves"',
    ],
    ['no devices', (s) => void (s.devices = []), 'devices', '1 to 64 device ids'],
    ['a list', () => [], '', 'a study: an object with "lockstep", "name", "workload", "kernel", "devices" and "axes"'],
  ])('%s', (_, change, field, must) => {
    const { message, context } = failureOf(change);
    expect(context).toEqual({ field });
    expect(message).toContain(field);
    expect(message).toContain(must);
  });

  it('names three wrong fields and counts the rest', () => {
    const { message } = failureOf((s) => {
      s.name = '';
      s.devices = 'a100';
      s.kernel.registersPerThread = 0;
      s.seed = -1;
    });
    expect(message).toMatch(
      /name .*, not ""; kernel\.registersPerThread .*, not 0; devices .*, not "a100" \(and 1 more\)/,
    );
  });
});

describe('text that is not a study', () => {
  it.each<readonly [string, readonly [number, number], string]>([
    ['', [1, 1], 'a value'],
    ['{"a": 1,\n "b": }', [2, 7], 'a value'],
    ['{\n  "a": [1, 2\n', [3, 1], '"," or "]"'],
    ["{'a': 1}", [1, 2], `a field name in quotes or "}"`],
    ['{"a": 1,}', [1, 9], 'a field name in quotes'],
    ['{"a": NaN}', [1, 7], 'a value'],
    ['{"a": 01}', [1, 8], '"," or "}"'],
    ['{"a": "b\n"}', [1, 7], `a value`],
    ['{"a": 1,\n "b": [{"a": 2}], "\\u0061": 3}', [2, 19], '"a"'],
    ['{} {}', [1, 4], 'the end of the text'],
    ['lockstep: 1', [1, 1], 'a value'],
  ])('%j', (text, [line, column], needed) => {
    const { message, context } = textFailure(text);
    expect(context).toEqual({ line, column });
    expect(message).toContain(`line ${line}, column ${column}`);
    expect(message).toContain(needed);
  });

  it('accepts a byte order mark', () => {
    expect(parseStudy(`\uFEFF${JSON.stringify(oneDesign())}`).ok).toBe(true);
  });

  it('refuses prototype keys, and copies none', () => {
    const text = JSON.stringify(oneDesign());
    expect(textMessage(text.replace('{', '{"__proto__": {"polluted": 1},'))).toMatch(/__proto__/);
    expect(textMessage(text.replace('"axes":{', '"axes":{"constructor": [1],'))).toMatch(
      /axes\.constructor is not a known field/,
    );
    const pipeline = parseStudy(
      text.replace('{', '{"pipeline": {"__proto__": {"latencyCycles": 1, "issueCycles": 1, "kneeSoftness": 2}},'),
    );
    expect(({} as Json).latencyCycles).toBeUndefined();
    if (pipeline.ok) expect(Object.keys(pipeline.value.pipeline)).toEqual([]);
  });

  it('survives deep nesting', () => {
    const deep = 200_000;
    expect(textMessage('['.repeat(deep))).toMatch(/line 1, column 101: JSON needs at most 100 levels of brackets/);
    expect(textMessage(`{"axes": ${'['.repeat(deep)}${']'.repeat(deep)}}`).length).toBeLessThan(1000);
    const most = 99;
    expect(textMessage(`{"name": ${'['.repeat(most)}${']'.repeat(most)}}`)).toMatch(
      /name must be text .*, not \[{79}…/,
    );
  });

  it('finds a quote that is missing at once, however long the text', async () => {
    const text = `{"name": "${'x'.repeat(1_000_000)}`;
    const ms = await cpuTimeMs(() => expect(textMessage(text)).toMatch(/column 10: .*"\\"x/));
    expect(ms).toBeLessThan(1000);
  });

  it('refuses 5 MB, and does not repeat a long text back', () => {
    expect(textMessage(' '.repeat(5_000_000))).toMatch(/5000000.* 4000000/);
    expect(textMessage(JSON.stringify({ ...oneDesign(), name: 'x'.repeat(3_000_000) })).length).toBeLessThan(300);
  });
});
