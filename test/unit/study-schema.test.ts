import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { studyJsonSchema } from '../../src-main/contract/json-schema.ts';
import { parseStudy } from '../../src-main/contract/parse.ts';
import { oneDesign } from './sweep-plans.ts';

/** The keywords that the study schema uses. */
interface Schema {
  readonly type?: 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'null';
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

const KEYWORDS = new Set(
  '$schema title description default type properties required additionalProperties propertyNames items anyOf enum const minimum maximum exclusiveMinimum minLength maxLength minItems maxItems'.split(
    ' ',
  ),
);

/** Returns the paths at which a value violates the schema, with the part of JSON Schema that the study schema uses. */
function faults(schema: Schema, value: unknown, path = ''): string[] {
  const here = (ok: boolean): string[] => (ok ? [] : [path || '/']);
  if (schema.anyOf) return here(schema.anyOf.some((option) => faults(option, value, path).length === 0));
  if ('const' in schema) return here(value === schema.const);
  if (schema.enum) return here(schema.enum.includes(value));
  switch (schema.type) {
    case 'object': {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return here(false);
      const missing = (schema.required ?? [])
        .filter((key) => !Object.hasOwn(value, key))
        .map((key) => `${path}/${key}`);
      const inner = Object.entries(value).flatMap(([key, entry]) => {
        const known = schema.properties?.[key] ?? schema.additionalProperties;
        if (known === false) return [`${path}/${key}`];
        return typeof known === 'object' ? faults(known, entry, `${path}/${key}`) : [];
      });
      return [...missing, ...inner];
    }
    case 'array':
      if (
        !Array.isArray(value) ||
        value.length < (schema.minItems ?? 0) ||
        value.length > (schema.maxItems ?? Infinity)
      )
        return here(false);
      return value.flatMap((entry, at) => faults(schema.items ?? {}, entry, `${path}/${at}`));
    case 'string':
      return here(
        typeof value === 'string' &&
          value.length >= (schema.minLength ?? 0) &&
          value.length <= (schema.maxLength ?? Infinity),
      );
    case 'integer':
    case 'number':
      return here(
        typeof value === 'number' &&
          (schema.type === 'number' || Number.isInteger(value)) &&
          value >= (schema.minimum ?? -Infinity) &&
          value <= (schema.maximum ?? Infinity) &&
          value > (schema.exclusiveMinimum ?? -Infinity),
      );
    case 'boolean':
      return here(typeof value === 'boolean');
    case 'null':
      return here(value === null);
    default:
      return []; // Without a type, any value is allowed.
  }
}

const ROOT = join(import.meta.dirname, '..', '..');
const file = readFileSync(join(ROOT, 'db/study.schema.json'), 'utf8');
const schema = JSON.parse(file) as Schema;

describe('the study schema for editors', () => {
  it('agrees with the contract (npm run schema writes it)', () => {
    expect(file).toBe(studyJsonSchema());
  });

  it('describes every field, and uses only keywords that this test knows', () => {
    const visit = (node: Schema, path: string): void => {
      for (const keyword of Object.keys(node)) expect(KEYWORDS, `${path}: ${keyword}`).toContain(keyword);
      for (const [name, field] of Object.entries(node.properties ?? {})) {
        expect(field.description ?? '', `${path}/${name}`).not.toBe('');
        visit(field, `${path}/${name}`);
      }
      for (const below of [
        node.items,
        ...(node.anyOf ?? []),
        typeof node.additionalProperties === 'object' ? node.additionalProperties : undefined,
      ])
        if (below) visit(below, path);
    };
    visit(schema, '');
  });

  const examples = readdirSync(join(ROOT, 'db/examples')).filter((name) => name.endsWith('.json'));
  it.each(examples)('accepts the example %s, like the contract', (name) => {
    const text = readFileSync(join(ROOT, 'db/examples', name), 'utf8');
    expect(faults(schema, JSON.parse(text))).toEqual([]);
    expect(parseStudy(text).ok).toBe(true);
  });

  type Change = (study: {
    [key: string]: unknown;
    axes: Record<string, unknown>;
    kernel: Record<string, unknown>;
  }) => void;
  it.each<readonly [string, Change]>([
    ['/lockstep', (s) => void (s.lockstep = 2)],
    ['/name', (s) => void delete s.name],
    ['/kernal', (s) => void (s.kernal = 1)],
    ['/axes/blockThreads', (s) => void (s.axes.blockThreads = [0])],
    ['/axes/blockThreads', (s) => void (s.axes.blockThreads = { from: 1 })],
    ['/axes/loop/0', (s) => void (s.axes.loop = ['x'])],
    ['/kernel/serialFraction', (s) => void (s.kernel.serialFraction = 1.5)],
    ['/kernel/registersPerThread', (s) => void (s.kernel.registersPerThread = 1.5)],
    ['/devices', (s) => void (s.devices = [])],
  ])('finds the error at %s, like the contract', (path, change) => {
    const study = structuredClone(oneDesign()) as never as Parameters<Change>[0];
    change(study);
    expect(faults(schema, study)).toEqual([path]);
    expect(parseStudy(JSON.stringify(study)).ok).toBe(false);
  });
});
