import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { studyJsonSchema } from '../../src-main/contract/json-schema.ts';

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

const file = readFileSync(join(import.meta.dirname, '../../db/study.schema.json'), 'utf8');
const schema = JSON.parse(file) as Schema;

it('the study schema for editors agrees with the contract (npm run schema writes it)', () =>
  expect(file).toBe(studyJsonSchema()));

it('the study schema for editors describes every field, and allows no other', () => {
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
  const blockThreads = { type: 'integer', minimum: 1 };
  expect(schema).toMatchObject({
    required: ['lockstep', 'name', 'workload', 'kernel', 'devices', 'axes'],
    properties: {
      lockstep: { const: 1 },
      kernel: {
        required: ['name', 'registersPerThread', 'instructionsPerIteration'],
        properties: { registersPerThread: { type: 'integer' }, serialFraction: { minimum: 0, maximum: 1 } },
      },
      devices: { minItems: 1 },
      axes: {
        required: ['blockThreads'],
        properties: {
          blockThreads: { anyOf: [{ items: blockThreads }, { required: ['from', 'to'] }] },
          loop: { items: { enum: ['nested', 'flattened'] } },
        },
      },
    },
  });
});
