import { describe, expect, it } from 'vitest';
import { parseStudy } from '../../src-main/contract/parse.ts';
import { oneDesign } from './sweep-plans.ts';
import { cpuTimeMs } from '../cpu-time.ts';

type Json = Record<string, unknown>;

/** The message of a study that is changed somewhere. */
function message(change: (study: Json & { axes: Json; kernel: Json; workload: Json }) => unknown): string {
  const study = structuredClone(oneDesign()) as unknown as Json & { axes: Json; kernel: Json; workload: Json };
  const changed = change(study);
  return textMessage(JSON.stringify(typeof changed === 'object' && changed !== null ? changed : study));
}

function textMessage(text: string): string {
  const result = parseStudy(text, 's.json');
  if (result.ok) throw new Error('parsed');
  expect(result.error.code).toBe('bad-input');
  return result.error.message;
}

describe('a wrong study says which field, what it got and what it expected', () => {
  it.each<readonly [string, Parameters<typeof message>[0], string]>([
    [
      'a newer format',
      (s) => void (s.lockstep = 2),
      's.json: lockstep: got 2, expected 1, the version of the study format this Lockstep reads',
    ],
    [
      'no version',
      (s) => void delete s.lockstep,
      's.json: lockstep: got nothing, expected 1, the version of the study format this Lockstep reads',
    ],
    ['an unknown field', (s) => void (s.kernal = {}), 's.json: kernal: unknown field; did you mean "kernel"?'],
    [
      'cycles among the fields of a kernel',
      (s) => void (s.kernel.cyclesPerIteration = 40),
      's.json: kernel.cyclesPerIteration: unknown field; measured cycles stand in "pipeline", by device: ' +
        '"pipeline": {"DEVICE ID": {"latencyCycles": …, "issueCycles": …, "kneeSoftness": …}}',
    ],
    [
      'a misspelt field of a kernel',
      (s) => void (s.kernel.bytesPerIterations = 40),
      's.json: kernel.bytesPerIterations: unknown field; did you mean "bytesPerIteration"?',
    ],
    ['an unknown field like no other', (s) => void (s.zzzzzzzz = {}), 's.json: zzzzzzzz: unknown field'],
    [
      'a misspelt axis',
      (s) => void (s.axes.blockThread = [1]),
      's.json: axes.blockThread: unknown field; did you mean "blockThreads"?',
    ],
    [
      'a missing axis',
      (s) => void delete s.axes.blockThreads,
      's.json: axes.blockThreads: got nothing, expected a list of whole numbers ≥ 1 or a range {"from", "to", "step"}',
    ],
    [
      '0 in an axis',
      (s) => void (s.axes.blockThreads = [64, 0]),
      's.json: axes.blockThreads[1]: got 0, expected a whole number ≥ 1',
    ],
    [
      'a negative number in an axis',
      (s) => void (s.axes.blockThreads = [-64]),
      's.json: axes.blockThreads[0]: got -64, expected a whole number ≥ 1',
    ],
    [
      'a fraction in an axis',
      (s) => void (s.axes.unitsPerThread = [1.5]),
      's.json: axes.unitsPerThread[0]: got 1.5, expected a whole number ≥ 1',
    ],
    [
      'text in an axis',
      (s) => void (s.axes.gridBlocks = ['NaN']),
      's.json: axes.gridBlocks[0]: got "NaN", expected a whole number ≥ 1',
    ],
    [
      'null for NaN',
      (s) => void (s.kernel.instructionsPerIteration = NaN),
      's.json: kernel.instructionsPerIteration: got null, expected a number above 0',
    ],
    [
      'an empty axis',
      (s) => void (s.axes.blockThreads = []),
      's.json: axes.blockThreads: got [], expected 1 to 4096 values',
    ],
    [
      'an axis that is a number',
      (s) => void (s.axes.blockThreads = 256),
      's.json: axes.blockThreads: got 256, expected a list of whole numbers ≥ 1 or a range {"from", "to", "step"}',
    ],
    [
      'a range without an end',
      (s) => void (s.axes.blockThreads = { from: 32 }),
      's.json: axes.blockThreads.to: got nothing, expected a whole number ≥ 1',
    ],
    [
      'a range with a step of 0',
      (s) => void (s.axes.blockThreads = { from: 32, to: 64, step: 0 }),
      's.json: axes.blockThreads.step: got 0, expected a whole number ≥ 1',
    ],
    [
      'an unknown loop',
      (s) => void (s.axes.loop = ['unrolled']),
      's.json: axes.loop[0]: got "unrolled", expected "nested" or "flattened"',
    ],
    [
      'too many units',
      (s) => void (s.workload.units = 1e15),
      's.json: workload.units: got 1000000000000000, expected a whole number from 1 to 1099511627776',
    ],
    [
      'a serial fraction above 1',
      (s) => void (s.kernel.serialFraction = 2),
      's.json: kernel.serialFraction: got 2, expected a number from 0 to 1',
    ],
    [
      'a constraint that bounds nothing',
      (s) => void (s.constraints = [{ quantity: 'waves' }]),
      's.json: constraints[0]: got {"quantity":"waves"}, expected at least one of "atLeast", "atMost" or "multipleOf"',
    ],
    [
      'a constraint on an unknown quantity',
      (s) => void (s.constraints = [{ quantity: 'time', atMost: 1 }]),
      's.json: constraints[0].quantity: got "time", expected one of "threadsPerUnit", "unitsPerThread", "blockThreads", "gridBlocks", "registerCap", "occupancyFraction", "residentBlocks", "waves"',
    ],
    ['no devices', (s) => void (s.devices = []), 's.json: devices: got [], expected 1 to 64 device ids'],
    [
      'a list',
      () => [],
      's.json: value: got [], expected a study: an object with "lockstep", "name", "workload", "kernel", "devices" and "axes"',
    ],
  ])('%s', (_, change, expected) => {
    expect(message(change)).toBe(expected);
  });

  it('names three wrong fields and counts the rest', () => {
    const text = message((s) => {
      s.name = '';
      s.devices = 'a100';
      s.kernel.registersPerThread = 0;
      s.seed = -1;
    });
    expect(text).toMatch(
      /^s\.json: name: got "", .*; kernel\.registersPerThread: got 0, .*; devices: got "a100", .* \(and 1 more\)$/,
    );
  });
});

describe('a text that is no study', () => {
  it.each([
    ['', 's.json: not JSON at line 1, column 1: got the end of the text, expected a value'],
    ['{"a": 1,\n "b": }', 's.json: not JSON at line 2, column 7: got "}", expected a value'],
    ['{\n  "a": [1, 2\n', 's.json: not JSON at line 3, column 1: got the end of the text, expected "," or "]"'],
    ["{'a': 1}", `s.json: not JSON at line 1, column 2: got "'a'", expected a field name in quotes or "}"`],
    ['{"a": 1,}', 's.json: not JSON at line 1, column 9: got "}", expected a field name in quotes'],
    ['{"a": NaN}', 's.json: not JSON at line 1, column 7: got "NaN", expected a value'],
    ['{"a": 01}', 's.json: not JSON at line 1, column 8: got "1", expected "," or "}"'],
    ['{"a": "b\n"}', `s.json: not JSON at line 1, column 7: got "\\"b", expected a value`],
    ['{"a": 1,\n "b": [{"a": 2}], "\\u0061": 3}', 's.json: line 2, column 19: got "a" again, expected each field once'],
    ['{} {}', 's.json: not JSON at line 1, column 4: got "{", expected the end of the text'],
    ['lockstep: 1', 's.json: not JSON at line 1, column 1: got "lockstep", expected a value'],
  ])('%j', (text, expected) => {
    expect(textMessage(text)).toBe(expected);
  });

  it('takes a byte order mark', () => {
    expect(parseStudy(`\uFEFF${JSON.stringify(oneDesign())}`).ok).toBe(true);
  });

  it('refuses prototype keys, and takes none over', () => {
    const text = JSON.stringify(oneDesign());
    expect(textMessage(text.replace('{', '{"__proto__": {"polluted": 1},'))).toMatch(/__proto__/);
    expect(textMessage(text.replace('"axes":{', '"axes":{"constructor": [1],'))).toMatch(
      /axes\.constructor: unknown field/,
    );
    const pipeline = parseStudy(
      text.replace('{', '{"pipeline": {"__proto__": {"latencyCycles": 1, "issueCycles": 1, "kneeSoftness": 2}},'),
    );
    expect(({} as Json).latencyCycles).toBeUndefined();
    if (pipeline.ok) expect(Object.keys(pipeline.value.pipeline)).toEqual([]);
  });

  it('survives deep nesting', () => {
    const deep = 200_000;
    expect(textMessage('['.repeat(deep))).toMatch(/not JSON at line 1, column 200001/);
    expect(textMessage(`{"axes": ${'['.repeat(deep)}${']'.repeat(deep)}}`).length).toBeLessThan(1000);
    expect(textMessage(`{"name": ${'['.repeat(deep)}${']'.repeat(deep)}}`)).toMatch(/name: got \[{77}…, expected text/);
  });

  it('finds a quote that is missing at once, however long the text', async () => {
    const text = `{"name": "${'x'.repeat(1_000_000)}`;
    const ms = await cpuTimeMs(() => expect(textMessage(text)).toMatch(/column 10: got "\\"x/));
    expect(ms).toBeLessThan(1000);
  });

  it('refuses 5 MB, and does not repeat a long text back', () => {
    expect(textMessage(' '.repeat(5_000_000))).toBe('s.json: got 5000000 characters, expected at most 4000000');
    expect(textMessage(JSON.stringify({ ...oneDesign(), name: 'x'.repeat(3_000_000) })).length).toBeLessThan(300);
  });
});
