import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SPMV_IMPLEMENTATIONS } from '../../src-workers/evidence/spmv-designs.ts';
import { SPMV_PARAMETERS } from '../../src-workers/evidence/spmv-parameters.ts';
import { summary } from './summaries.ts';
import { GPUS } from '../catalogue.ts';
import { forAllOf, real } from '../for-all.ts';

const device = fc.constantFrom(...GPUS.filter(({ vendor }) => vendor === 'nvidia' || vendor === 'amd'));

it('measured products take longer with a longer start of the launch, and never less with a lower bandwidth or a higher latency', () => {
  const values = Object.fromEntries(Object.entries(SPMV_PARAMETERS).map(([name, { initial }]) => [name, initial]));

  forAllOf(40)(device, summary, real(1.5, 5), (gpu, matrix, factor) => {
    for (const { id, microseconds } of SPMV_IMPLEMENTATIONS.values()) {
      const time = microseconds(gpu, matrix, values);
      expect(time, id).toBeGreaterThan(0);
      const later = microseconds(gpu, matrix, { ...values, startMicroseconds: values.startMicroseconds * factor });
      expect(later - time, id).toBeCloseTo(values.startMicroseconds * (factor - 1), 6);
      // The tolerance has two reasons. Set-up is rounded to steps of 1/32 iterations, which changes the longest group
      // by a few percent. If memory traffic takes a larger part of a time, the schedulers add less to the time.
      for (const worse of [
        { latencyRatio: values.latencyRatio * factor },
        { bandwidthFraction: values.bandwidthFraction / factor },
      ])
        expect(microseconds(gpu, matrix, { ...values, ...worse }), id).toBeGreaterThanOrEqual(time * 0.95);
    }
  });
});
