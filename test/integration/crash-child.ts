import { writeSync } from 'node:fs';

import { openStoreClient } from '../../db/client.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { MIGRATIONS, sampleChunk } from '../db/sample.ts';

// Saves the missing chunks of an interrupted run, one line on standard output for each that was reported as saved:
// node crash-child.ts FILE RUN CHUNK_DESIGNS. Is killed by its parent at any moment.
const [file, runId, chunkDesigns] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const client = unwrap(await openStoreClient({ file, migrationsFolder: MIGRATIONS }));
const { enumeratedCount } = unwrap(await client.resumeRun(runId));
const saved = new Set(unwrap(await client.listChunks(runId)).map((chunk) => chunk.firstDesign));
const firsts = Array.from({ length: Math.ceil(enumeratedCount / chunkDesigns) }, (_, i) => i * chunkDesigns);
writeSync(1, 'resumed\n');
for (const first of firsts.filter((candidate) => !saved.has(candidate))) {
  unwrap(await client.savePredictionChunk(runId, sampleChunk(first, Math.min(chunkDesigns, enumeratedCount - first))));
  writeSync(1, `${first}\n`);
}
unwrap(await client.finishRun(runId, { state: 'complete', elapsedMs: 1 }));
writeSync(1, 'complete\n');
await client.close();
