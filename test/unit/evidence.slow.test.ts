/* Checks that the saved results for the public measurements equal those of the current predictor and fit. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { fitFolds } from '../bench/evidence-fit.ts';
import { assignFold } from '../../src-workers/evidence/folds.ts';
import { unseenParameters, type Judged } from '../../src-workers/evidence/judge.ts';
import { predictH100 } from '../bench/h100-launches.ts';
import { sweptParameters } from '../bench/tie-bands.ts';
import { H100_LOOPS, H100_PRODUCTS, readH100 } from '../../src-workers/evidence/h100.ts';
import { loadEvidence, readPredictions } from '../../src-workers/evidence/load.ts';
import { SPMV_IMPLEMENTATIONS } from '../../src-workers/evidence/spmv-designs.ts';
import { GPUS, gpu } from '../catalogue.ts';

const folder = join(import.meta.dirname, '..', '..', 'db', 'evidence');
const judged = unwrap(await loadEvidence(folder, GPUS, {}));

it.each(['csr-group', 'sellp'])('fitting recovers the parameters with which times of %s were made', (name) => {
  const device = gpu('nvidia-v100-sxm2-16gb');
  // For such large matrices, the start of a launch does not matter.
  const matrices = judged[0].measured.matrices.filter(({ nonzeros }) => nonzeros > 3e5).slice(0, 24);
  const model = SPMV_IMPLEMENTATIONS.get(name)!;
  const truth = { startMicroseconds: 6, bandwidthFraction: 0.5, latencyRatio: 0.7, missFraction: 0.2 };
  const microseconds = Float64Array.from(matrices, (matrix) => model.microseconds(device, matrix, truth));
  const measured = { name, column: name, implementation: name };
  const { values } = unwrap(fitFolds(measured, device, { matrices, microseconds }));
  for (const [parameter, value] of Object.entries(truth))
    expect(Math.abs(Math.log(values[parameter as keyof typeof truth]! / value)), parameter).toBeLessThan(0.3);
});

describe('kept predictions', () => {
  /** Number of matrices that are predicted again for each column, other ones each time, so that all kinds occur. */
  const ASKED = 8;

  it.each(judged.map((one) => [one.dataset.id, one] as const))(
    'for %s equal those of the predictor, with parameters fitted without the matrix',
    (id, one: Judged) => {
      const { dataset, measured, kept, predicted, devices } = one;
      const { matrices } = measured;
      let column = 0;
      for (const measuredGpu of [...dataset.gpus, ...dataset.unseen])
        for (const { column: name, implementation } of measuredGpu.implementations) {
          const model = SPMV_IMPLEMENTATIONS.get(implementation)!;
          const device = devices.get(measuredGpu.device)!;
          const { heldOut, unseen, ...swept } = predicted![id][name];
          const times = measured.times.get(name)!;
          const isAlone = dataset.gpus.length === 1;
          const ofOthers = isAlone ? null : unseenParameters({ dataset, devices, kept }, measuredGpu, implementation);
          expect(heldOut === null, name).toBe(dataset.unseen.includes(measuredGpu));
          expect(unseen === null, name).toBe(ofOthers === null);
          column += 1;
          for (let i = 0; i < ASKED; i += 1) {
            const at = (Math.floor((i * matrices.length) / ASKED) + 7 * column) % matrices.length;
            const matrix = matrices[at];
            // The saved values have four digits.
            const predictedBy = (values: Parameters<typeof model.microseconds>[2]): number =>
              Number(model.microseconds(device, matrix, values).toPrecision(4));
            const fold = kept[id][name]?.folds[assignFold(matrix.name)];
            if (heldOut) expect(heldOut[at], `${name} ${matrix.name}`).toBe(predictedBy(fold));
            if (unseen && ofOthers) expect(unseen[at], `${name} ${matrix.name}, unseen`).toBe(predictedBy(ofOthers));
            for (const by of ['catalogue', 'assumed'] as const) {
              const values = dataset.unnamed ? null : sweptParameters({ dataset, devices, kept }, measuredGpu, by);
              expect(swept[by] === null, `${name}, ${by}`).toBe(values === null);
              const known = values && times[at] > 0 ? predictedBy(values) : null;
              if (values) expect(swept[by]![at], `${name} ${matrix.name}, ${by}`).toBe(known);
            }
          }
        }
    },
  );

  it.each([H100_LOOPS, H100_PRODUCTS])('for %s equal those of a sweep, with the profile of inspect', async (id) => {
    const launches = await readH100(folder, id);
    const { catalogue } = (await readPredictions(folder))[id].H100;
    expect(catalogue).toHaveLength(launches.length);
    // Consecutive launches have the same lengths, so every 23rd launch covers all lengths.
    for (let at = 0; at < launches.length; at += 23)
      expect(catalogue![at], JSON.stringify(launches[at])).toBe(Number(predictH100(launches[at]).toPrecision(4)));
  });
});
