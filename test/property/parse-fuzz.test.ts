import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { moments } from '../../src-workers/models/workload/laws.ts';
import { parseLengthsCsv } from '../../src-workers/parse/csv.ts';
import { formatWorkload, parseWorkload, type WorkloadDescriptor } from '../../src-workers/parse/grammar.ts';
import { parseMatrixMarket } from '../../src-workers/parse/matrix-market.ts';
import { forAllOf, forAllAsync } from '../for-all.ts';
import { chunks } from '../data.ts';

// test/verify/parsers.ts tests hostile files.

describe('written text is read back unchanged', () => {
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

  it('workloads', () => {
    forAllOf(500)(workload, (descriptor) => {
      expect(unwrap(parseWorkload(formatWorkload(descriptor)))).toEqual(descriptor);
    });
  });

  it('lengths in CSV are the same however the file is cut into chunks', async () => {
    await forAllAsync(200)(
      fc.array(fc.nat(1000), { minLength: 1, maxLength: 100 }),
      fc.constantFrom('\n', '\r\n', '\n\n'),
      fc.integer({ min: 1, max: 40 }),
      async (lengths, lineEnd, size) => {
        const bytes = new TextEncoder().encode(lengths.join(lineEnd));
        const { law, units } = unwrap(await parseLengthsCsv(chunks(bytes, size), 'hostile'));
        expect(units).toBe(lengths.length);
        const mean = lengths.reduce((a, b) => a + b, 0) / lengths.length;
        // These are the rounded products of a hundred numbers.
        expect(Math.abs(moments(law).mean - mean)).toBeLessThanOrEqual(100 * Number.EPSILON * Math.max(1, mean));
      },
    );
  });

  it('a dense matrix and its coordinate form have the same rows', async () => {
    const dense = fc
      .tuple(
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 6 }),
        fc.constantFrom('general', 'symmetric', 'skew-symmetric'),
      )
      .chain(([rows, columns, symmetry]) =>
        fc.record({
          symmetry: fc.constant(symmetry),
          rows: fc.constant(rows),
          columns: fc.constant(symmetry === 'general' ? columns : rows),
          values: fc.array(fc.integer({ min: -1, max: 1 }), { minLength: 36, maxLength: 36 }),
        }),
      );
    await forAllAsync(200)(dense, async ({ symmetry, rows, columns, values }) => {
      const stored: (readonly [number, number, number])[] = [];
      for (let j = 1; j <= columns; j++) {
        for (let i = 1; i <= rows; i++) {
          if (symmetry === 'symmetric' && i < j) continue;
          if (symmetry === 'skew-symmetric' && i <= j) continue;
          stored.push([i, j, values[i * 6 + j - 7]]);
        }
      }
      const nonZero = stored.filter(([, , value]) => value !== 0);
      const array = [
        `%%MatrixMarket matrix array integer ${symmetry}`,
        `${rows} ${columns}`,
        ...stored.map((entry) => entry[2]),
      ];
      const coordinate = [
        `%%MatrixMarket matrix coordinate integer ${symmetry}`,
        `${rows} ${columns} ${nonZero.length}`,
        ...nonZero.map((entry) => entry.join(' ')),
      ];
      const encode = (lines: readonly (string | number)[]): Uint8Array => new TextEncoder().encode(lines.join('\n'));
      const first = unwrap(await parseMatrixMarket(chunks(encode(array), 7), 'hostile'));
      const second = unwrap(await parseMatrixMarket(chunks(encode(coordinate), 7), 'hostile'));
      expect(first.rowLengths).toEqual(second.rowLengths);
    });
  });
});
