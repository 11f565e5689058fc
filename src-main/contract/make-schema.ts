// Writes db/study.schema.json from the study schema: npm run schema. A test keeps it fresh.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { studyJsonSchema } from './json-schema.ts';

writeFileSync(join(import.meta.dirname, '..', '..', 'db', 'study.schema.json'), studyJsonSchema());
