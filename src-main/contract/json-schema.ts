import { toJsonSchema } from '@valibot/to-json-schema';
import { studySchema } from './study.ts';

/**
 * The study format as JSON Schema (draft 2020-12), for editors: what a person may write, before defaults are filled in.
 * Text of a file. Relations between fields cannot be expressed and are in the descriptions.
 */
export function studyJsonSchema(): string {
  const { $schema, ...schema } = toJsonSchema(studySchema, {
    target: 'draft-2020-12',
    typeMode: 'input',
    errorMode: 'ignore',
  });
  const titled = {
    $schema,
    title: 'Lockstep study',
    description: 'What to map, onto which devices, over which design space',
    ...schema,
  };
  return `${JSON.stringify(titled, null, 2)}\n`;
}
