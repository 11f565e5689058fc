import { setTimeout } from 'node:timers/promises';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { documentParts } from '../../src-main/contract/document.ts';
import { fail, unwrap } from '../../src-workers/domain/result.ts';
import type { Context } from '../../src-main/services/context.ts';
import { exportHandlers } from '../../src-main/services/export/handlers.ts';
import { smallStudy } from './export-runs.ts';
import { useBench } from '../workplace.ts';

test('a document is rendered only after the previous one has been delivered or has failed', async () => {
  const log: string[] = [];
  const read = async (id: number) => {
    log.push(`render ${id}`);
    await setTimeout(2);
    if (id === 2) throw new Error('broken');
    return fail('conflict', 'nothing to export');
  };
  const store = { getRun: () => Promise.resolve(fail('not-found', 'no run')) };
  const { 'export.render': render } = exportHandlers({ views: { read }, store } as unknown as Context);
  await Promise.all(
    [1, 2, 3].map((runId) =>
      render({ runId, format: 'json', limit: 1 }).then(
        () => log.push(`sent ${runId}`),
        () => log.push(`failed ${runId}`),
      ),
    ),
  );
  expect(log).toEqual(['render 1', 'sent 1', 'render 2', 'failed 2', 'render 3', 'sent 3']);
});

describe('a long document', () => {
  const bench = useBench();
  let runId: number;
  beforeAll(async () => void (runId = await bench.run(smallStudy())));

  it.each(['json', 'csv', 't4'] as const)('has the same content in parts as at once: %s', async (format) => {
    const whole = await bench.render(runId, format, { limit: 2000 });
    expect(whole.next).toBeUndefined();
    const handlers = exportHandlers(bench.engine.context, 20_000);
    const first = unwrap(await handlers['export.render']({ runId, format, limit: 2000 }));
    const parts: string[] = [];
    for await (const part of documentParts({ call: (_, input) => handlers['export.next'](input) }, first))
      parts.push(part);
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.join('')).toBe(whole.text);
    // Each part can be requested once, and only after it was offered.
    const again = await handlers['export.next']({ part: first.next! });
    expect(again).toFail('not-found');
  });

  it('is dropped if more documents are begun than can be kept', async () => {
    const handlers = exportHandlers(bench.engine.context, 1);
    const begin = async () => unwrap(await handlers['export.render']({ runId, format: 'json', limit: 1 })).next!;
    const first = await begin();
    for (let others = 0; others < 16; others += 1) await begin();
    expect(await handlers['export.next']({ part: first })).toFail('not-found');
  });
});
