import { toJsonSchema } from '@valibot/to-json-schema';
import type { GenericSchema } from 'valibot';
import { kernelManifestSchema } from './kernel-manifest.ts';
import { studyFileSchema } from './study.ts';

/**
 * The text of a format's JSON Schema (draft 2020-12), for editors. It describes what a person may write, before
 * defaults are filled in. Relations between fields cannot be expressed; the descriptions state them.
 */
function jsonSchemaOf(format: GenericSchema, title: string, description: string): string {
  const { $schema, ...schema } = toJsonSchema(format, {
    target: 'draft-2020-12',
    typeMode: 'input',
    errorMode: 'ignore',
    // A number of a manifest, or arithmetic as text.
    overrideSchema: ({ valibotSchema, jsonSchema }) =>
      valibotSchema.type === 'custom' ? { ...jsonSchema, type: ['number', 'string'] } : undefined,
  });
  return `${JSON.stringify({ $schema, title, description, ...schema }, null, 2)}\n`;
}

export const studyJsonSchema = (): string =>
  jsonSchemaOf(studyFileSchema, 'Lockstep study', 'What to map, onto which devices, over which design space');

export const kernelManifestJsonSchema = (): string =>
  jsonSchemaOf(kernelManifestSchema, 'Lockstep kernel', 'A kernel to be measured: its sources, arguments and designs');
