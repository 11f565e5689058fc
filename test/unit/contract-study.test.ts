import { describe, expect, it } from 'vitest';
import { parseStudy } from '../../src-main/contract/parse.ts';
import type { Failure } from '../../src-workers/domain/result.ts';
import { oneDesign } from './sweep-plans.ts';
import { cpuTimeMs } from '../cpu-time.ts';

type Json = Record<string, unknown>;

function failureOf(change: (study: Json & { kernel: Json }) => void): Failure {
  const study = structuredClone(oneDesign()) as unknown as Json & { kernel: Json };
  change(study);
  return textFailure(JSON.stringify(study));
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
  const VERSION = '1, the version of the study format that this Lockstep reads';
  const WHOLE = 'a whole number ≥ 1';
  const LIST = 'a list of whole numbers ≥ 1 or a range {"from", "to", "step"}';
  const QUANTITIES =
    'one of "threadsPerUnit", "unitsPerThread", "blockThreads", "gridBlocks", "registerCap", "occupancyFraction", "residentBlocks", "waves"';
  it.each<[path: string, value: unknown, must: string, field?: string]>([
    ['lockstep', 2, VERSION],
    ['lockstep', undefined, VERSION],
    ['zzzzzzzz', {}, 'not a known field'],
    [
      'kernel.cyclesPerIteration',
      40,
      '"pipeline": {"DEVICE ID": {"latencyCycles": …, "issueCycles": …, "kneeSoftness": …}}',
    ],
    ['kernel.bytesPerIterations', 40, 'did you mean "bytesPerIteration"?'],
    ['kernel.instructionsPerIteration', 1e308, 'a number above 0, at most 1000000000000'],
    ['kernel.instructionsPerIteration', NaN, 'a number above 0'],
    ['kernel.bytesPerIteration', 1e308, 'a number from 0 to 1000000000000'],
    ['kernel.serialFraction', 2, 'a number from 0 to 1'],
    ['axes.blockThread', [1], 'did you mean "blockThreads"?'],
    ['axes.blockThreads', undefined, LIST],
    ['axes.blockThreads', 256, LIST],
    ['axes.blockThreads', [], '1 to 4096 values'],
    ['axes.blockThreads', [64, 0], WHOLE, 'axes.blockThreads[1]'],
    ['axes.blockThreads', { from: 32 }, WHOLE, 'axes.blockThreads.to'],
    ['axes.blockThreads', { from: 32, to: 64, step: 0 }, WHOLE, 'axes.blockThreads.step'],
    ['axes.unitsPerThread', [1.5], WHOLE, 'axes.unitsPerThread[0]'],
    ['axes.gridBlocks', ['NaN'], WHOLE, 'axes.gridBlocks[0]'],
    ['axes.loop', ['unrolled'], '"nested" or "flattened"', 'axes.loop[0]'],
    ['workload.units', 1e15, 'a whole number from 1 to 1099511627776'],
    ['constraints', [{ quantity: 'waves' }], 'at least one of "atLeast", "atMost" or "multipleOf"', 'constraints[0]'],
    ['constraints', [{ quantity: 'time', atMost: 1 }], QUANTITIES, 'constraints[0].quantity'],
    ['devices', [], '1 to 64 device ids'],
  ])('%s: %j', (path, value, must, field = path) => {
    const { message, context } = failureOf((study) => {
      const [name, inner] = path.split('.');
      if (inner === undefined) study[name] = value;
      else (study[name] as Json)[inner] = value;
    });
    expect(context).toEqual({ field });
    expect(message).toContain(field);
    expect(message).toContain(must);
  });

  it('says what a study is', () =>
    expect(textMessage('[]')).toContain(
      'a study: an object with "lockstep", "name", "workload", "kernel", "devices" and "axes"',
    ));

  it('names three wrong fields and counts the rest', () => {
    const { message } = failureOf((s) => {
      Object.assign(s, { name: '', devices: 'a100', seed: -1 });
      s.kernel.registersPerThread = 0;
    });
    const three = /name .*, not ""; kernel\.registersPerThread .*, not 0; devices .*, not "a100" \(and 1 more\)/;
    expect(message).toMatch(three);
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

  it('accepts a byte order mark', () => expect(parseStudy(`\uFEFF${JSON.stringify(oneDesign())}`).ok).toBe(true));

  it('refuses prototype keys, and copies none', () => {
    const text = JSON.stringify(oneDesign());
    expect(textMessage(text.replace('{', '{"__proto__": {"polluted": 1},'))).toMatch(/__proto__/);
    const inAxes = textMessage(text.replace('"axes":{', '"axes":{"constructor": [1],'));
    expect(inAxes).toMatch(/axes\.constructor is not a known field/);
    const hostile = '{"pipeline": {"__proto__": {"latencyCycles": 1, "issueCycles": 1, "kneeSoftness": 2}},';
    const pipeline = parseStudy(text.replace('{', hostile));
    expect(({} as Json).latencyCycles).toBeUndefined();
    if (pipeline.ok) expect(Object.keys(pipeline.value.pipeline)).toEqual([]);
  });

  it('survives deep nesting', () => {
    const deep = 200_000;
    expect(textMessage(`{"axes": ${'['.repeat(deep)}${']'.repeat(deep)}}`).length).toBeLessThan(1000);
    const most = `${'['.repeat(99)}${']'.repeat(99)}`;
    expect(textMessage(`{"name": ${most}}`)).toMatch(/name must be text .*, not \[{79}…/);
  });

  it('finds a quote that is missing at once, however long the text', async () => {
    const text = `{"name": "${'x'.repeat(1_000_000)}`;
    expect(await cpuTimeMs(() => expect(textMessage(text)).toMatch(/column 10: .*"\\"x/))).toBeLessThan(1000);
  });

  it('refuses 5 MB, and does not repeat a long text back', () => {
    expect(textMessage(' '.repeat(5_000_000))).toMatch(/5000000.* 4000000/);
    expect(textMessage(JSON.stringify({ ...oneDesign(), name: 'x'.repeat(3_000_000) })).length).toBeLessThan(300);
  });
});
