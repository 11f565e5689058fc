import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { fail } from '../../src-workers/domain/result.ts';
import type { Context } from '../../src-main/services/context.ts';
import { exportHandlers } from '../../src-main/services/export/handlers.ts';

test('a document is rendered only after the one before was handed over, a failed one too', async () => {
  const log: string[] = [];
  const read = async (id: number) => {
    log.push(`render ${id}`);
    await setTimeout(2);
    if (id === 2) throw new Error('broken');
    return fail('conflict', 'nothing to export');
  };
  const { 'export.render': render } = exportHandlers({ views: { read } } as unknown as Context);
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
