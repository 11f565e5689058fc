import fc from 'fast-check';
import { expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { formatWorkload, parseWorkload, type WorkloadDescriptor } from '../../src-workers/parse/grammar.ts';
import { forAllOf } from '../for-all.ts';

// Hostile files are tested in test/verify/parsers.ts.

it('the text of a workload is read back unchanged', () => {
  const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value));
  const path = fc
    .string({ minLength: 1, maxLength: 30 })
    // eslint-disable-next-line no-control-regex -- the grammar refuses them
    .filter((text) => !/[\u0000-\u001f\u007f]/.test(text));
  const { workload } = fc.letrec<{ workload: WorkloadDescriptor }>((tie) => ({
    workload: fc.oneof(
      { maxDepth: 3 },
      fc.record({
        kind: fc.constant('distribution' as const),
        name: fc.constantFrom(
          'binomial' as const,
          'uniform' as const,
          'negative-binomial' as const,
          'lognormal' as const,
        ),
        args: fc.tuple(number, number),
      }),
      fc.record({
        kind: fc.constant('distribution' as const),
        name: fc.constantFrom('geometric' as const, 'poisson' as const, 'constant' as const),
        args: fc.tuple(number),
      }),
      fc.record({
        kind: fc.constant('categorical' as const),
        points: fc.array(fc.record({ length: number, probability: number }), { minLength: 1, maxLength: 5 }),
      }),
      fc.record({ kind: fc.constantFrom('file' as const, 'mtx' as const), path }),
      fc.record({
        kind: fc.constant('example' as const),
        example: fc.oneof(
          fc.record({ kind: fc.constant('collatz' as const), count: number }),
          fc.record({ kind: fc.constant('mandelbrot' as const), width: number, height: number, maxIterations: number }),
        ),
      }),
      fc.record({
        kind: fc.constant('mixture' as const),
        parts: fc.array(fc.record({ weight: number, lengths: tie('workload') }), { minLength: 1, maxLength: 4 }),
      }),
    ),
  }));

  forAllOf(500)(workload, (descriptor) => {
    expect(unwrap(parseWorkload(formatWorkload(descriptor)))).toEqual(descriptor);
  });
});
