import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect } from 'vitest';

import { openStoreClient } from '../../db/client.ts';
import type { PredictionChunk } from '../../db/records.ts';
import type { StoreClient } from '../../db/store-api.ts';
import { NOT_SAVED } from '../../src-workers/domain/columns.ts';
import { INVALID_REASONS } from '../../src-workers/domain/design.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { it as itInFolder } from './folder.ts';
import { MIGRATIONS, sampleChunk, sampleDraft } from './sample.ts';
import { forAllAsync } from '../for-all.ts';

const migrationsFolder = MIGRATIONS;
const opened = async (file: string) => unwrap(await openStoreClient({ file, migrationsFolder }));

const it = itInFolder.extend<{ file: string; client: StoreClient }>({
  file: ({ folder }, use) => use(`${folder}/lockstep.db`),
  client: async ({ file }, use) => {
    const client = await opened(file);
    await use(client);
    await client.close();
  },
});

it('answers calls in order, and closes after the last answer', async ({ client, file }) => {
  const { id, enumeratedCount } = unwrap(await client.createRun(sampleDraft()));
  const saves = [0, 100, 200].map((first) => client.savePredictionChunk(id, sampleChunk(first, 40)));
  const closed = client.close();
  expect((await Promise.all(saves)).every((saved) => saved.ok)).toBe(true);
  await closed;
  expect(await client.listSettings()).toFail('storage', 'The store is closed.');

  const again = await opened(file);
  expect(unwrap(await again.getRun(id)).state).toBe('interrupted');
  const columns = unwrap(await again.loadRunColumns(id));
  expect(columns.count).toBe(enumeratedCount);
  expect(columns.timeMs.subarray(100, 140)).toEqual(sampleChunk(100, 40).timeMs);
  expect(new Set(columns.invalidReason.subarray(40, 100))).toEqual(new Set([NOT_SAVED]));
  await again.close();
});

it('transfers columns that fill their buffer, and copies views', async ({ client }) => {
  const { id } = unwrap(await client.createRun(sampleDraft()));
  const large = sampleChunk(0, 20);
  const chunk: PredictionChunk = { ...sampleChunk(0, 10), timeMs: large.timeMs.subarray(0, 10) };
  unwrap(await client.savePredictionChunk(id, chunk));
  expect(chunk.meanLoss.length).toBe(0);
  expect(large.timeMs).toEqual(sampleChunk(0, 20).timeMs);
});

it('refuses calls that the store refuses, and arguments that cannot be sent', async ({ client, file }) => {
  expect(await openStoreClient({ file: dirname(file), migrationsFolder })).toFail('storage');
  expect(await client.getRun(5)).toFail('not-found');
  expect(await client.saveSetting('f', () => 1)).toFail('bad-input');
});

it('creates a new file once when several clients open it together', async ({ folder }) => {
  const file = `${folder}/lockstep.db`;
  const clients = await Promise.all([1, 2, 3, 4].map(() => opened(file)));
  const ids = await Promise.all(clients.map(async (client) => unwrap(await client.createRun(sampleDraft())).id));
  expect(new Set(ids).size).toBe(4);
  await Promise.all(clients.map((client) => client.close()));
});

it('fails pending and later calls when its thread dies', async ({ folder }) => {
  const threadFile = new URL('./failing-thread.ts', import.meta.url);
  const client = unwrap(await openStoreClient({ file: `${folder}/lockstep.db`, migrationsFolder, threadFile }));
  for (const answer of await Promise.all([client.listSettings(), client.listStudies()]))
    expect(answer).toFail('storage', /thread failed: on purpose/);
  expect(await client.listSettings()).toFail('storage', /thread failed: on purpose/);
  await client.close();
});

it('reports the changes of other processes, and not its own', async ({ client: first, file }) => {
  const second = await opened(file);
  // Opening the second store may have changed the file. The first store must notice this before calls are counted.
  await delay(1000);
  let firstHeard = 0;
  const heard = new Promise<void>((resolve) => second.onExternalChange(resolve));
  first.onExternalChange(() => firstHeard++);
  unwrap(await first.saveSetting('theme', 'dark'));
  await heard;
  await delay(1000);
  expect(firstHeard).toBe(0);
  await second.close();
});

/** Generates any columns that satisfy the contract of a chunk. */
function anyChunk(count: number): fc.Arbitrary<Omit<PredictionChunk, 'firstDesign'>> {
  const sized = { minLength: count, maxLength: count };
  const whole = fc.oneof(fc.nat(), fc.constantFrom(NaN, Number.MAX_SAFE_INTEGER, 2 ** 40));
  const wholes = fc.array(whole, sized).map((values) => Float64Array.from(values));
  // SQLite does not keep the sign of zero.
  const losses = fc.float32Array(sized).map((values) => values.map((value) => value + 0));
  return fc
    .record({
      timeMs: fc.float64Array({ ...sized, min: 0, max: Number.MAX_VALUE, noNaN: true }),
      meanLoss: losses,
      aggregateLoss: losses,
      occupancyFraction: losses,
      residentBlocks: fc.uint16Array(sized),
      limitedBy: fc.uint8Array(sized),
      invalidReason: fc.uint8Array({ ...sized, max: INVALID_REASONS.length - 1 }),
      unitsPerThread: wholes,
      gridBlocks: wholes,
    })
    .map((columns) => ({
      ...columns,
      count,
      timeMs: columns.timeMs.map((time, i) => (columns.invalidReason[i] === 0 ? time + 0 : NaN)),
    }));
}

it('returns any columns as they were saved, from the packed copy and from the rows', async ({ client, file }) => {
  const one = [null] as const;
  const single = { device: ['slow'], threadsPerUnit: one, loop: one, balancing: one, launch: one, registerCap: one };
  await forAllAsync(40)(fc.integer({ min: 1, max: 150 }).chain(anyChunk), async (columns) => {
    const blockThreads = Array.from({ length: columns.count }, (_, i) => i);
    const { id } = unwrap(await client.createRun(sampleDraft({ ...single, blockThreads })));
    unwrap(await client.savePredictionChunk(id, structuredClone({ ...columns, firstDesign: 0 })));
    unwrap(await client.finishRun(id, { state: 'complete', elapsedMs: 1 }));
    expect(unwrap(await client.loadRunColumns(id))).toEqual({ ...columns, designs: null });
    const db = new Database(file);
    expect(db.prepare('DELETE FROM run_columns WHERE run_id = ?').run(id).changes).toBeGreaterThan(0);
    db.close();
    expect(unwrap(await client.loadRunColumns(id))).toEqual({ ...columns, designs: null });
  });
});

it('notices flipped bits in packed columns, reads the rows instead, and fails if rows are missing', async ({
  client,
  file,
}) => {
  const { id } = unwrap(await client.createRun(sampleDraft()));
  for (const first of [0, 120]) unwrap(await client.savePredictionChunk(id, sampleChunk(first, 120)));
  unwrap(await client.finishRun(id, { state: 'cancelled', elapsedMs: 1 }));
  const saved = unwrap(await client.loadRunColumns(id));
  const db = new Database(file);
  const select = 'SELECT first_design, name, data FROM run_columns ORDER BY first_design, name';
  const packed = () => db.prepare<[], { first_design: number; name: string; data: Buffer }>(select).all();
  const change = db.prepare('UPDATE run_columns SET data = ? WHERE first_design = ? AND name = ?');
  const asWritten = packed();
  for (const [at, { first_design, name, data }] of asWritten.entries()) {
    const flipped = Buffer.from(data);
    for (let bit = 0; bit < 8; bit += 1) flipped[(at * 31 + bit * 57) % flipped.length] ^= 1 << bit;
    change.run(flipped, first_design, name);
    expect(unwrap(await client.loadRunColumns(id))).toEqual(saved);
  }
  // Both chunks were written again.
  expect(packed()).toEqual(asWritten);

  // A version without digests left the database in this state.
  db.prepare("DELETE FROM run_columns WHERE name = 'crc32'").run();
  expect(unwrap(await client.loadRunColumns(id))).toEqual(saved);

  db.prepare('DELETE FROM predictions WHERE run_id = ? AND design_index = 7').run(id);
  db.prepare('DELETE FROM run_columns WHERE first_design = 0').run();
  expect(await client.loadRunColumns(id)).toFail('storage', /has 119 of the 120 designs from design 0 on/);
  db.close();
});
