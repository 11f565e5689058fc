import { shortened } from '../../src-workers/domain/text.ts';

/** Returns the stride between labelled values of an axis, so that labels are at least `apartPx` px apart. */
export function labelStride(count: number, lengthPx: number, apartPx: number): number {
  const least = Math.max(1, Math.ceil((count * apartPx) / lengthPx));
  return [1, 2, 4, 8, 16, 32, 64, 128, 256, 512].find((stride) => stride >= least) ?? least;
}

/** Estimated width of a character of a tick label (11 px Inter), px. */
export const CHARACTER_PX = 6.2;

/** Shortens texts with an ellipsis, so that texts at a distance of `apartPx` px do not overlap. */
export function fitTexts(texts: readonly string[], apartPx: number): readonly string[] {
  const most = Math.max(4, Math.floor((apartPx - 8) / CHARACTER_PX));
  return texts.map((text) => shortened(text, most));
}

/** Returns where a label above or below a horizontal line hides least of a curve, px. NaN is a gap. */
export function freePlace(
  curve: readonly (readonly [x: number, y: number])[],
  lineY: number,
  { left, right, top, widthPx }: Readonly<Record<'left' | 'right' | 'top' | 'widthPx', number>>,
): { readonly x: number; readonly above: boolean } {
  const HEIGHT_PX = 15;
  const MAX_STEPS = 8;
  const STEP_PX = 2;
  const dense: (readonly [number, number])[] = [];
  for (const [i, [x, y]] of curve.entries()) {
    const [nextX, nextY] = curve[i + 1] ?? [x, y];
    const steps = Math.min(MAX_STEPS, Math.max(1, Math.ceil(Math.abs(nextX - x) / STEP_PX)));
    for (let k = 0; k < steps; k += 1) dense.push([x + ((nextX - x) * k) / steps, y + ((nextY - y) * k) / steps]);
  }
  const hidden = (from: number, above: boolean) =>
    dense.filter(
      ([x, y]) =>
        x > from - 4 &&
        x < from + widthPx + 4 &&
        (above ? y < lineY && y > lineY - HEIGHT_PX : y > lineY && y < lineY + HEIGHT_PX),
    ).length;
  const places = [right - widthPx, left + 4, (left + right - widthPx) / 2].flatMap((x) => [
    { x, above: true },
    { x, above: false },
  ]);
  return places
    .filter(({ above }) => !above || lineY - HEIGHT_PX >= top)
    .reduce((best, place) => (hidden(place.x, place.above) < hidden(best.x, best.above) ? place : best));
}

export function labelled(count: number, stride: number, chosen: number | null, apart: number): readonly number[] {
  const out: number[] = [];
  for (let i = 0; i < count; i += 1)
    if (i === chosen || (isLabelled(i, count, stride) && (chosen === null || Math.abs(i - chosen) >= apart)))
      out.push(i);
  return out;
}

export function isLabelled(i: number, count: number, stride: number): boolean {
  if (i === 0 || i === count - 1) return true;
  return (i + 1) % stride === 0 && i >= stride * 0.7 && count - 1 - i >= stride * 0.75;
}
