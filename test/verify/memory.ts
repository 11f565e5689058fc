import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createClient, webSocketChannel, type WebSocketLike } from '../../src-main/contract/transport.ts';
import { median } from '../../src-workers/numeric/statistics.ts';
import { inFolder } from '../db/sample.ts';
import { startHost } from '../e2e/fixtures/host.ts';
import { memoryOf, page } from './host.ts';
import { inMegabytes, oneOf, type Report, type Section } from './report.ts';
import { editedStudy, EXAMPLES, exampleStudies } from './random-study.ts';

const MINUTE_MS = 60_000;
/** Limit for the memory of the engine and its workers, bytes: 500 MB for two, acceptable for a desktop program. */
const MOST_BYTES = (200 + 150 * availableParallelism()) * 2 ** 20;
/** Limit for the ratio of the memory in the last quarter of the time to that in the second, with all caches full. */
const GROWTH_FRACTION = 1.1;
const EDITS = 40;

/**
 * Edits the examples as a user of the Study view does. Each edit requests a coarse and a complete answer, and sometimes
 * the inputs worth knowing. The engine is that of the browser host, whose workers are threads of its process.
 */
async function verifyMemory(report: Report, minutes: number): Promise<void> {
  const { uniform } = report;
  const quarters: number[][] = [[], [], [], []];
  let edits = 0;
  let refused = 0;
  await inFolder(async (folder) => {
    const host = await startHost(join(folder, 'memory.db'));
    try {
      const socket = await page(host);
      if (!socket) throw new Error('The browser host refused the page.');
      const client = createClient(webSocketChannel(socket as unknown as WebSocketLike));
      const examples = exampleStudies().map(([, study]) => study);
      const start = performance.now();
      const part = (): number => (performance.now() - start) / (minutes * MINUTE_MS);
      let study = examples[0];
      for (; part() < 1; edits += 1) {
        if (edits % EDITS === 0) study = oneOf(uniform, examples);
        // Half of the edits are undone, because the study would drift away otherwise.
        const edited = editedStudy(study, uniform);
        if (uniform() < 0.5) study = edited;
        const about = { study: edited, folder: EXAMPLES, client: 'study' };
        for (const look of ['coarse', 'all']) {
          const answer = await client.call('advice.recommend', { ...about, look } as never);
          if (answer.ok) continue;
          // A lost engine fails or cancels its calls, which must not happen here.
          if (['internal', 'cancelled'].includes(answer.error.code))
            report.fail(`advice.recommend: ${answer.error.message}`);
          refused += 1;
        }
        if (uniform() < 0.1) await client.call('advice.uncertainty', about);
        quarters[Math.min(3, Math.floor(4 * part()))].push(memoryOf(host.pid));
      }
      client.close();
    } finally {
      await host.interrupt();
    }
  });
  const medians = quarters.map((bytes) => median(Float64Array.from(bytes)));
  const most = quarters.flat().reduce((a, b) => Math.max(a, b), 0);
  report.figure('edits', `${edits}, of which ${refused} were refused with a reason`);
  report.figure('memory of the engine, median by quarter', medians.map(inMegabytes).join(', '));
  report.figure('the most', inMegabytes(most));
  if (most > MOST_BYTES) report.fail(`The engine took ${inMegabytes(most)}, above ${inMegabytes(MOST_BYTES)}.`);
  if (medians[3] > medians[1] * GROWTH_FRACTION)
    report.fail(`The engine grew from ${inMegabytes(medians[1])} to ${inMegabytes(medians[3])}.`);
}

export const section: Section = {
  what: 'edits one after another, as in the Study view: the memory of the engine stays low and constant',
  amount: { full: 60, quick: 2, unit: 'minutes' },
  run: verifyMemory,
};
