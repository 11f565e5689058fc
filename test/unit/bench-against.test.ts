import { expect, it } from 'vitest';
import { benchAgainst, compareTimes } from '../bench/against.ts';
import { mersenneTwister, quickGenerator } from '../../src-workers/numeric/random.ts';

/** Draws times of rounds. Load of the machine sometimes affects both sides; each side has a little noise of its own. */
function rounds(count: number, factor: number): readonly [Float64Array, Float64Array] {
  const uniform = quickGenerator(7);
  const busy = Float64Array.from({ length: count }, () => 1 + uniform());
  const noisy = (scale: number) => busy.map((load) => scale * load * (0.98 + 0.04 * uniform()));
  return [noisy(5), noisy(5 * factor)];
}

it.each([
  [1, false],
  [1.1, false],
  [1.4, true],
  [0.5, false],
])('a case that takes %d times as long is called slower: %s', (factor, isSlower) => {
  const found = compareTimes(...rounds(9, factor), mersenneTwister(1));
  expect(found.isSlower).toBe(isSlower);
  expect(Math.abs(found.ratio / factor - 1)).toBeLessThan(0.05); // Each time has an error of 2 %.
  expect(found.low).toBeLessThanOrEqual(found.ratio);
  expect(found.high).toBeGreaterThanOrEqual(found.ratio);
});

it('times as noisy as their difference are not called slower', () => {
  const [earlier, later] = [Float64Array.of(1, 9, 2, 8, 3), Float64Array.of(8, 4, 9, 2, 1)];
  expect(compareTimes(earlier, later, mersenneTwister(1)).isSlower).toBe(false);
});

it('an unknown revision is refused', () => expect(benchAgainst('no-such-revision', 1)).toBe(2));
