import { toJsonSchema } from '@valibot/to-json-schema';
import type { GenericSchema } from 'valibot';
import { kernelManifestSchema } from './kernel-manifest.ts';
import { studyFileSchema } from './study.ts';

/** Describes a file before defaults are filled in. Relations between fields are only in the descriptions. */
function jsonSchemaOf(format: GenericSchema, title: string, description: string): string {
  const { $schema, ...schema } = toJsonSchema(format, {
    target: 'draft-2020-12',
    typeMode: 'input',
    errorMode: 'ignore',
    // In a manifest, arithmetic as text may stand for a number.
    overrideSchema: ({ valibotSchema, jsonSchema }) =>
      valibotSchema.type === 'custom' ? { ...jsonSchema, type: ['number', 'string'] } : undefined,
  });
  return `${JSON.stringify({ $schema, title, description, ...schema }, null, 2)}\n`;
}

export const studyJsonSchema = (): string =>
  jsonSchemaOf(studyFileSchema, 'Lockstep study', 'A study: the work to map, the devices, and the design space');

export const kernelManifestJsonSchema = (): string =>
  jsonSchemaOf(kernelManifestSchema, 'Lockstep kernel', 'A kernel to be measured: its sources, arguments and designs');
