import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unwrap } from '../../../src-workers/domain/result.ts';
import * as axisText from '../../../src-renderer/views/study/axis-text.ts';
import { forAll } from '../../for-all.ts';

const message = (text: string) => {
  const result = axisText.parseAxis(text);
  return result.ok ? '' : result.error.message;
};

describe('axis text', () => {
  it('reads lists, ranges and powers', () => {
    expect(unwrap(axisText.parseAxis('1 2 4 8'))).toEqual([1, 2, 4, 8]);
    expect(unwrap(axisText.parseAxis('8, 2, 2, 4'))).toEqual([2, 4, 8]);
    expect(unwrap(axisText.parseAxis('32 … 1,024, step 32'))).toEqual({ from: 32, to: 1024, step: 32 });
    expect(unwrap(axisText.parseAxis('32..1024 step 32'))).toEqual({ from: 32, to: 1024, step: 32 });
    expect(unwrap(axisText.parseAxis('32-1024/32'))).toEqual({ from: 32, to: 1024, step: 32 });
    expect(unwrap(axisText.parseAxis('1 … 32'))).toEqual({ from: 1, to: 32 });
    expect(unwrap(axisText.parseAxis('1 … 32 ×2'))).toEqual([1, 2, 4, 8, 16, 32]);
  });

  it('treats a comma as a separator if it cannot group digits', () => {
    expect(unwrap(axisText.parseAxis('1,2,4'))).toEqual([1, 2, 4]);
    expect(unwrap(axisText.parseAxis('128,256,512'))).toEqual([128, 256, 512]);
    expect(unwrap(axisText.parseAxis('1,024'))).toEqual([1024]);
    expect(unwrap(axisText.parseAxis('1,048,576'))).toEqual([1_048_576]);
    expect(unwrap(axisText.parseAxis('512 1,024'))).toEqual([512, 1024]);
  });

  it('names the typed text and what to write instead', () => {
    expect(message('64 abc')).toContain('“abc”');
    expect(message('1024 … 32')).toContain('runs backwards');
    expect(message('1 … 100000')).toContain('100,000 values');
    expect(message('0 1')).toContain('“0”');
    expect(message('')).toContain('Write values such as');
  });

  it('shows long lists with even steps as a range', () => {
    expect(axisText.printAxis([1, 2, 4, 8, 16, 32])).toBe('1 2 4 8 16 32');
    expect(axisText.printAxis([32, 40, 48, 56, 64, 72, 80])).toBe('32 … 80, step 8');
    expect(axisText.printAxis({ from: 1, to: 32 })).toBe('1 … 32');
  });

  it('reads back its own text with the same values', () => {
    const list = fc.uniqueArray(fc.integer({ min: 1, max: 4096 }), { minLength: 1, maxLength: 40 });
    const range = fc
      .record({ from: fc.integer({ min: 1, max: 2000 }), span: fc.nat(2000), step: fc.integer({ min: 1, max: 64 }) })
      .map(({ from, span, step }) => ({ from, to: from + span, step }));
    forAll(
      fc.oneof(
        list.map((values) => values.sort((a, b) => a - b)),
        range,
      ),
      (axis) => {
        expect(axisText.axisValues(unwrap(axisText.parseAxis(axisText.printAxis(axis))))).toEqual(
          axisText.axisValues(axis),
        );
        expect(axisText.axisCount(axis)).toBe(axisText.axisValues(axis).length);
      },
    );
  });

  it('reads register caps with and without a cap', () => {
    expect(unwrap(axisText.parseCaps('none'))).toEqual([null]);
    expect(unwrap(axisText.parseCaps('none, 48 64'))).toEqual([null, 48, 64]);
    expect(unwrap(axisText.parseCaps('32 … 64, step 16'))).toEqual([32, 48, 64]);
    expect(axisText.parseCaps('2048').ok).toBe(false);
    expect(unwrap(axisText.parseWidths('row, 8 16'))).toEqual([null, 8, 16]);
    expect(axisText.printCaps([null, 8, 16], 'row')).toBe('row, 8 16');
    expect(axisText.parseWidths('none').ok).toBe(false);
    expect(axisText.printCaps([null, 64, 56, 48])).toBe('none, 64 56 48');
  });
});
