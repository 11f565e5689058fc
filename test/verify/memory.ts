import { join } from 'node:path';
import { openEngine } from '../../src-main/services/engine.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { inFolder } from '../db/sample.ts';
import { inMegabytes, oneOf, type Report, type Section } from './report.ts';
import { editedStudy, EXAMPLES, exampleStudies, ROOT } from './random-study.ts';

const MINUTE_MS = 60_000;
/** The limit for the engine with its workers, which is acceptable for a desktop program. */
const MOST_BYTES = 500 * 2 ** 20;
/** The limit for the memory of the last quarter divided by that of the second, when all caches are full. */
const GROWTH_FRACTION = 1.1;
/** The number of edits of one study before another one is opened. */
const EDITS = 40;

/**
 * Edits the examples like the Study view: each edit requests a coarse answer, then the whole one, and sometimes its
 * inputs. The memory of the engine is that of this process, because its workers are threads.
 */
async function verifyMemory(report: Report, minutes: number): Promise<void> {
  const { uniform } = report;
  const quarters: number[][] = [[], [], [], []];
  let edits = 0;
  let refused = 0;
  await inFolder(async (folder) => {
    const engine = unwrap(
      await openEngine({ databaseFile: join(folder, 'memory.db'), resourceFolder: ROOT, host: 'desktop', workers: 2 }),
    );
    const examples = exampleStudies().map(([, study]) => study);
    const start = performance.now();
    const part = (): number => (performance.now() - start) / (minutes * MINUTE_MS);
    let study = examples[0];
    for (; part() < 1; edits += 1) {
      if (edits % EDITS === 0) study = oneOf(uniform, examples);
      // An edit may be undone, because a study would drift away otherwise.
      const edited = editedStudy(study, uniform);
      if (uniform() < 0.5) study = edited;
      const about = { study: edited, folder: EXAMPLES, client: 'study' };
      for (const look of ['coarse', 'all']) {
        const answer = await engine.dispatch('advice.recommend', { ...about, look });
        if (answer.ok) continue;
        if (answer.error.code === 'internal') report.fail(`advice.recommend: ${answer.error.message}`);
        refused += 1;
      }
      if (uniform() < 0.1) await engine.dispatch('advice.uncertainty', about);
      quarters[Math.min(3, Math.floor(4 * part()))].push(process.memoryUsage().rss);
    }
    await engine.close();
  });
  const medians = quarters.map((bytes) => bytes.toSorted((a, b) => a - b)[Math.floor(bytes.length / 2)] ?? 0);
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
  full: 60,
  quick: 2,
  unit: 'minutes',
  run: verifyMemory,
};
