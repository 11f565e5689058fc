export function niceStep(span: number, target = 4): number {
  const rough = span / target;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 4, 5, 10].find((factor) => factor * size >= rough * 0.999) ?? 10;
  return Number((step * size).toPrecision(3));
}

export function stepDecimals(step: number): number {
  let decimals = 0;
  while (
    decimals < 12 &&
    Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-9 * 10 ** decimals * step
  )
    decimals++;
  return decimals;
}

export function multiples(low: number, high: number, step: number): number[] {
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.max(0, Math.floor(high / step + 1e-9) - first + 1) }, (_, i) =>
    Number(((first + i) * step).toPrecision(12)),
  );
}

export interface Bounds {
  readonly low: number;
  readonly high: number;
  readonly step: number;
}

/** Returns round bounds of a range, and a round step of which about four fit between them. */
export function niceBounds(low: number, high: number): Bounds {
  const span = high > low ? high - low : Math.abs(high) * 0.1 || 1;
  const step = niceStep(span, 4);
  return {
    low: Math.floor(low / step + 1e-9) * step,
    high: Math.max(Math.ceil(high / step - 1e-9) * step, low + step),
    step,
  };
}

/** Multiples of a power of ten that get ticks, from many ticks per decade to few. */
const FACTORS = [[1, 1.5, 2, 3, 4, 5, 6, 8], [1, 2, 3, 5], [1, 2, 5], [1, 3], [1]] as const;

interface LogTickLimits {
  /** Maximum number of ticks. If there are more powers of ten, there are no ticks at all. */
  readonly max?: number;
  /** Minimum distance between neighbours, as a fraction of the axis. */
  readonly apartFraction?: number;
}

export function logTicks(low: number, high: number, { max = Infinity, apartFraction = 0 }: LogTickLimits): number[] {
  if (!(low > 0 && high > low)) return [];
  const span = Math.log(high / low);
  let ticks: number[] = [];
  for (const factors of FACTORS) {
    ticks = [];
    for (let decade = Math.floor(Math.log10(low)); decade <= Math.log10(high); decade += 1)
      for (const factor of factors) {
        const value = Number((factor * 10 ** decade).toPrecision(3));
        if (value >= low && value <= high) ticks.push(value);
      }
    if (
      ticks.length <= max &&
      ticks.every((tick, i) => i === 0 || Math.log(tick / ticks[i - 1]) / span >= apartFraction)
    )
      return ticks;
  }
  return ticks.length <= max ? ticks : [];
}

export function powersOfTwo(low: number, high: number): number[] {
  const ticks: number[] = [];
  for (let x = 1; x <= high; x *= 2) if (x >= low) ticks.push(x);
  return ticks.length > 8 ? ticks.filter((_, i) => i % 2 === 0) : ticks;
}

/** Moves labels apart to at least `gap`, in up to 50 rounds. Their order is kept, and NaN stays NaN. */
export function spreadLabels(at: readonly number[], gap: number): readonly number[] {
  const out = [...at];
  const order = at.map((_, i) => i).filter((i) => !Number.isNaN(at[i]));
  order.sort((a, b) => at[a] - at[b]);
  let moved = true;
  // Both neighbours move by equal parts, so that a pair of labels stays centred on its two lines.
  for (let round = 0; moved && round < 50; round += 1) {
    moved = false;
    for (let k = 1; k < order.length; k += 1) {
      const overlap = gap - (out[order[k]] - out[order[k - 1]]);
      if (overlap <= 1e-6) continue;
      out[order[k - 1]] -= overlap / 2;
      out[order[k]] += overlap / 2;
      moved = true;
    }
  }
  return out;
}
