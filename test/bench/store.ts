// Measures saving and opening a run of a million designs: node test/bench/store.ts
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';

import { openStoreClient } from '../../db/client.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { MIGRATIONS, SAMPLE_AXES, sampleChunk, sampleDraft } from '../db/sample.ts';

const CHUNK_DESIGNS = 65_536;

const axes = { ...SAMPLE_AXES, blockThreads: Array.from({ length: 10_417 }, (_, i) => 32 * (i + 1)) };
const folder = mkdtempSync(join(tmpdir(), 'lockstep-bench-'));
const file = join(folder, 'lockstep.db');
const print = (line: string): boolean => process.stdout.write(`${line}\n`);

async function timed<T>(label: string, body: () => Promise<T>): Promise<{ value: T; elapsedMs: number }> {
  const start = performance.now();
  const value = await body();
  const elapsedMs = performance.now() - start;
  print(`${label.padEnd(36)} ${elapsedMs.toFixed(1).padStart(8)} ms`);
  return { value, elapsedMs };
}

try {
  const { value: opened } = await timed('open a new file', () =>
    openStoreClient({ file, migrationsFolder: MIGRATIONS }),
  );
  const client = unwrap(opened);
  const { id, enumeratedCount } = unwrap(await client.createRun(sampleDraft(axes)));
  const chunks = Array.from({ length: Math.ceil(enumeratedCount / CHUNK_DESIGNS) }, (_, i) =>
    sampleChunk(i * CHUNK_DESIGNS, Math.min(CHUNK_DESIGNS, enumeratedCount - i * CHUNK_DESIGNS)),
  );
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const { elapsedMs } = await timed(`save ${enumeratedCount} designs`, async () => {
    for (const chunk of chunks) unwrap(await client.savePredictionChunk(id, chunk));
    unwrap(await client.finishRun(id, { state: 'complete', elapsedMs: 0 }));
  });
  delay.disable();
  print(
    `  ${Math.round(enumeratedCount / elapsedMs)} rows/ms, event loop delay p99 ${(delay.percentile(99) / 1e6).toFixed(1)} ms`,
  );
  await client.close();
  print(`  ${(statSync(file).size / enumeratedCount).toFixed(1)} bytes/row`);

  const again = unwrap(
    (await timed('open the file', () => openStoreClient({ file, migrationsFolder: MIGRATIONS }))).value,
  );
  for (let k = 0; k < 5; k++) await timed('load its columns', () => again.loadRunColumns(id));
  await again.close();
} finally {
  rmSync(folder, { recursive: true });
}
