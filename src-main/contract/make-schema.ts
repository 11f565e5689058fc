// Writes db/study.schema.json and db/kernel.schema.json (npm run schema). A test checks that the files are current.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kernelManifestJsonSchema, studyJsonSchema } from './json-schema.ts';

const folder = join(import.meta.dirname, '..', '..', 'db');
writeFileSync(join(folder, 'study.schema.json'), studyJsonSchema());
writeFileSync(join(folder, 'kernel.schema.json'), kernelManifestJsonSchema());
