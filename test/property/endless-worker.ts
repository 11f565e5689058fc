import { parentPort, workerData } from 'node:worker_threads';
import { makeGivenLengths, makeUnitLaw } from '../../src-workers/predict/ordered.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { predictChunk } from '../../src-workers/predict/ranges.ts';
import { seededRandom } from '../../src-workers/simulate/random.ts';
import { spaceSize } from '../../src-workers/domain/space.ts';
import { randomStudy } from '../unit/random-studies.ts';
import { planOf } from '../unit/sweep-plans.ts';

/* Predicts random studies of ordered lengths that are not whole. Times may be wrong or NaN, but every prediction must end. */
for (const seed of workerData as readonly number[]) {
  const random = seededRandom(seed);
  const plan = await planOf(randomStudy(random));
  const { support } = plan.law;
  const units = Math.min(plan.units, 2 ** (6 + Math.floor(8 * random())));
  const lengthAtRandom = (): number => support[Math.floor(random() ** 3 * support.length)] * random();
  const ordered = makeGivenLengths(Float64Array.from({ length: units }, lengthAtRandom));
  const changed = { ...plan, ordered, law: makeUnitLaw('fractional', ordered, plan.units) };
  const predictor = createPredictor(changed);
  for (let design = 0; design < spaceSize(plan.axes); design += 1)
    try {
      predictChunk(predictor, design, 1);
    } catch (error) {
      if (!(error instanceof RangeError && error.message.includes('not a number'))) throw error;
    }
  parentPort?.postMessage(seed);
}
