import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../src-main/contract/json.ts';
import { studyJsonSchema } from '../../src-main/contract/json-schema.ts';
import { newerInput } from '../../src-main/contract/older-kernels.ts';
import { mergeEdits } from '../../src-main/contract/merge.ts';
import { parseStudy, validate } from '../../src-main/contract/parse.ts';
import { procedures } from '../../src-main/contract/procedures.ts';
import { NEAR_PAGE_LATENCY } from '../../src-workers/domain/device.ts';
import { type Failure, unwrap } from '../../src-workers/domain/result.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { predictChunk } from '../../src-workers/predict/ranges.ts';
import { cpuTimeMs } from '../cpu-time.ts';
import { KERNEL, oneDesign, planOf } from './sweep-plans.ts';

type Json = Record<string, unknown>;

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
    ['kernel.cyclesPerIteration', 40, '{"DEVICE ID": {"latencyCycles": …, "issueCycles": …, "kneeSoftness": …}}'],
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
    const study = structuredClone(oneDesign()) as unknown as Json;
    const [name, inner] = path.split('.');
    if (inner === undefined) study[name] = value;
    else (study[name] as Json)[inner] = value;
    const { message, context } = textFailure(JSON.stringify(study));
    expect(context).toEqual({ field });
    expect(message).toContain(field);
    expect(message).toContain(must);
  });

  it('says what a study is, or names three wrong fields and counts the rest', () => {
    const what = 'a study: an object with "lockstep", "name", "workload", "kernel", "devices" and "axes"';
    expect(textMessage('[]')).toContain(what);
    const kernel = { ...oneDesign().kernel, registersPerThread: 0 };
    const four = { ...oneDesign(), name: '', devices: 'a100', seed: -1, kernel };
    const three = /name .*, not ""; kernel\.registersPerThread .*, not 0; devices .*, not "a100" \(and 1 more\)/;
    expect(textMessage(JSON.stringify(four))).toMatch(three);
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
    ['{"a": "b\n"}', [1, 7], 'a value'],
    ['["\\x"]', [1, 2], 'a value or "]"'],
    ['["a\\u12g4"]', [1, 2], 'a value or "]"'],
    ['["a', [1, 2], 'a value or "]"'],
    ['{"a": 1,\n "b": [{"a": 2}], "\\u0061": 3}', [2, 19], '"a"'],
    ['{} {}', [1, 4], 'the end of the text'],
    ['lockstep: 1', [1, 1], 'a value'],
  ])('%j', (text, [line, column], needed) => {
    const { message, context } = textFailure(text);
    expect(context).toEqual({ line, column });
    expect(message).toContain(`line ${line}, column ${column}`);
    expect(message).toContain(needed);
  });

  it('accepts a byte order mark, refuses prototype keys, and copies none', () => {
    const text = JSON.stringify(oneDesign());
    expect(parseStudy(`\uFEFF${text}`).ok).toBe(true);
    expect(textMessage(text.replace('{', '{"__proto__": {"polluted": 1},'))).toMatch(/__proto__/);
    const inAxes = textMessage(text.replace('"axes":{', '"axes":{"constructor": [1],'));
    expect(inAxes).toMatch(/axes\.constructor is not a known field/);
    const hostile = '{"pipeline": {"__proto__": {"latencyCycles": 1, "issueCycles": 1, "kneeSoftness": 2}},';
    const pipeline = parseStudy(text.replace('{', hostile));
    expect(({} as Json).latencyCycles).toBeUndefined();
    if (pipeline.ok) expect(Object.keys(pipeline.value.pipeline)).toEqual([]);
  });

  it('is shown with its first brackets only if it is nested deeply', () => {
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

it('a text of only brackets is refused if it is nested too deeply', () => {
  const message = 'a.json, line 1, column 101: JSON needs at most 100 levels of brackets here, not "[".';
  expect(parseJson('['.repeat(1_000_000), 'a.json')).toFail(null, message);
  const deepest = '['.repeat(100) + ']'.repeat(100);
  expect(parseJson(deepest, 'a.json')).toStrictEqual({ ok: true, value: JSON.parse(deepest) as unknown });
});

it('a string may have any number of escapes', () => {
  const text = `{"${'\\n'.repeat(4_000_000)}":"\\u00e9\\"x"}`;
  expect(parseJson(text, 'a.json')).toStrictEqual({ ok: true, value: JSON.parse(text) as unknown });
});

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

const file = readFileSync(join(import.meta.dirname, '../../db/study.schema.json'), 'utf8');
const schema = JSON.parse(file) as Schema;

it('the study schema for editors agrees with the contract (npm run schema writes it), and describes every field', () => {
  expect(file).toBe(studyJsonSchema());
  const visit = (node: Schema, path: string): void => {
    if (node.properties) expect(node.additionalProperties, path).toBe(false);
    for (const [name, field] of Object.entries(node.properties ?? {})) {
      expect(field.description ?? '', `${path}/${name}`).not.toBe('');
      visit(field, `${path}/${name}`);
    }
    for (const below of [node.items, node.additionalProperties, ...(node.anyOf ?? [])])
      if (typeof below === 'object') visit(below, path);
  };
  visit(schema, '');
});

it('the study schema for editors requires only fields without a default, and has the bounds of their values', () => {
  const lists = [{ items: { type: 'integer', minimum: 1 } }, { required: ['from', 'to'] }];
  const axes = { blockThreads: { anyOf: lists }, loop: { items: { enum: ['nested', 'flattened'] } } };
  const kernel = { registersPerThread: { type: 'integer' }, serialFraction: { minimum: 0, maximum: 1 } };
  expect(schema).toMatchObject({
    required: ['lockstep', 'name', 'workload', 'kernel', 'devices', 'axes'],
    properties: {
      lockstep: { const: 1 },
      kernel: { required: ['name', 'registersPerThread', 'instructionsPerIteration'], properties: kernel },
      devices: { minItems: 1 },
      axes: { required: ['blockThreads'], properties: axes },
    },
  });
});

const olderStudy = (kernel: object, more: object = {}): object => {
  return { ...oneDesign(), kernel: { ...KERNEL, ...kernel }, ...more };
};
const opened = (...of: Parameters<typeof olderStudy>) => unwrap(parseStudy(JSON.stringify(olderStudy(...of))));
const refusal = (...of: Parameters<typeof olderStudy>) => textFailure(JSON.stringify(olderStudy(...of)));

describe('a kernel of a study from before kernels had phases', () => {
  it('has a set-up as a phase of the same number of iterations, with their loads, bytes and classes', () => {
    const { kernel } = opened({
      setupIterationsPerUnit: 2,
      dependentLoadsPerIteration: 1,
      bytesPerIteration: 8,
      integerShare: 0.5,
      origins: { setupIterationsPerUnit: 'measured', registersPerThread: 'given' },
    });
    // A load in an iteration, whose accesses are not listed, takes longer than one at the start of a unit.
    const dependentLoads = 2 / NEAR_PAGE_LATENCY;
    expect(kernel.unit).toEqual({ instructions: 80, integerShare: 0.5, dependentLoads, bytes: 16 });
    expect(kernel.origins).toMatchObject({ registersPerThread: 'given', unit: 'measured' });
    expect(kernel.sharing).toBeUndefined();
  });

  it('has searches, carries and reductions as phases', () => {
    const { kernel } = opened({ searchStepIterations: 0.25, carryIterations: 3, blockReductionIterations: 4 });
    const phases = { search: { instructions: 10 }, carry: { instructions: 120 }, combine: { instructions: 20 } };
    expect(kernel).toMatchObject(phases);
    expect(kernel.unit).toBeUndefined();
  });

  it('leaves fields with their default unknown, and keeps given ones', () => {
    const own = { setupIterationsPerUnit: 0, carryIterations: 1 };
    const defaults = { ...own, blockReductionIterations: 0.5, searchStepIterations: 0.5 };
    expect(opened(defaults)).toEqual(opened({}));
    expect(opened({ ...defaults, origins: { setupIterationsPerUnit: 'assumed' } })).toEqual(opened({}));
    const { kernel } = opened({ ...defaults, origins: { setupIterationsPerUnit: 'given' } });
    expect(kernel).toMatchObject({ unit: { instructions: 0 }, origins: { unit: 'given' } });
  });

  it('is the same after this version has written and read it', () => {
    const study = opened({ setupIterationsPerUnit: 2, carryIterations: 3, origins: { carryIterations: 'measured' } });
    expect(unwrap(parseStudy(JSON.stringify(study)))).toEqual(study);
  });

  it('is relative to the kernel of an implementation', () => {
    const own = [
      { name: 'own', kernel: { setupIterationsPerUnit: 3 } },
      { name: 'shorter', kernel: { instructionsPerIteration: 10 } },
      { name: 'as the study', kernel: { registersPerThread: 20 } },
      { name: 'none', kernel: { setupIterationsPerUnit: 0 } },
      { name: 'newer', kernel: { instructionsPerIteration: 10, unit: { instructions: 7 } } },
      { name: 'bare' },
    ];
    const kernel = { setupIterationsPerUnit: 2, origins: { setupIterationsPerUnit: 'measured' } };
    const { implementations } = opened(kernel, { implementations: own });
    expect(implementations!.map(({ kernel }) => kernel.unit?.instructions)).toEqual([120, 20, undefined, 0, 7, undefined]); // prettier-ignore
    expect(implementations![1].kernel.origins).toEqual({ unit: 'measured' });
  });

  it.each([
    [{ setupIterationsPerUnit: -1 }, 'kernel.setupIterationsPerUnit', 'must be a number ≥ 0, not -1.'],
    [{ carryIterations: 'many' }, 'kernel.carryIterations', 'must be a number ≥ 0, not "many".'],
    [
      { setupIterationsPerUnit: 1, unit: { instructions: 3 } },
      'kernel.setupIterationsPerUnit',
      'must be left out where "unit" is given, not 1.',
    ],
    [{ setupIterationsPerUnit: 1, instructionsPerIteration: 'x' }, 'kernel.instructionsPerIteration', 'must be'],
    [{ setupIterations: 1 }, 'kernel.setupIterations', 'is not a known field'],
  ])('%j is refused with the name of its field: %s', (kernel, field, must) => {
    const { message, context } = refusal(kernel);
    expect(context).toMatchObject({ field });
    expect(message).toContain(`s.json: ${field} ${must}`);
    const own = refusal({}, { implementations: [{ name: 'a', kernel }] });
    expect(own.context).toMatchObject({ field: `implementations[0].${field}` });
  });

  it('is read by every command that takes a study', () => {
    const study = olderStudy({ setupIterationsPerUnit: 1 });
    const sent = validate(procedures['studies.save'].input, { study }, 'call');
    expect(unwrap(sent)).toMatchObject({ study: { kernel: { unit: { instructions: 40 } } } });
    const asked = { runIds: [1], vary: [{ input: 'kernel.setupIterationsPerUnit', values: [1] }] };
    expect(unwrap(validate(procedures['advice.robust'].input, asked, 'call')).vary[0].input).toBe('kernel.unit');
    expect(newerInput('kernel.carryIterations')).toBe('kernel.carry');
    expect(newerInput('workload.units')).toBe('workload.units');
  });

  it('takes as long as a longer unit with one thread per unit', async () => {
    const time = async (kernel: object, lengths: string): Promise<number> => {
      const study = { ...olderStudy(kernel), workload: { lengths, units: 3 << 18 } } as ReturnType<typeof oneDesign>;
      return predictChunk(createPredictor(await planOf(study)), 0, 1).timeMs[0];
    };
    const iteration = { dependentLoadsPerIteration: 1 };
    const longer = await time(iteration, 'constant(23)');
    expect(await time({ ...iteration, setupIterationsPerUnit: 3 }, 'constant(20)')).toBeCloseTo(longer, 9);
  });
});

it.each([
  ['other fields', { a: 1, b: { c: 1 } }, { a: 2, b: { c: 1 } }, { a: 1, b: {} }, { a: 2, b: {} }],
  ['the same field', { a: 1 }, { a: 2 }, { a: 3 }, { a: 2 }],
  ['named items', [{ name: 'i' }], [{ name: 'k' }], [{ name: 'i', x: 1 }], [{ name: 'k', x: 1 }]],
  ['a list of values', { a: [1, 2] }, { a: [1, 4] }, { a: [2, 2] }, { a: [1, 4] }],
])('two edits of %s are merged', (_, base, mine, theirs, merged) =>
  expect(mergeEdits<unknown>(base, mine, theirs)).toEqual(merged),
);
