/** Ticks on a logarithmic axis: 1, 1.5, 2, 3, 4, 5, 6, 8 times powers of ten, thinned to those at least `apart` (a fraction of the axis). */
export function logTicks(low: number, high: number, apart: number): number[] {
  if (!(low > 0) || !(high > low)) return [];
  const span = Math.log(high / low);
  const sets = [[1, 1.5, 2, 3, 4, 5, 6, 8], [1, 2, 3, 5], [1, 2, 5], [1, 3], [1]];
  let ticks: number[] = [];
  for (const factors of sets) {
    ticks = [];
    for (let power = Math.floor(Math.log10(low)) - 1; power <= Math.ceil(Math.log10(high)); power += 1)
      for (const factor of factors) {
        const tick = Number((factor * 10 ** power).toPrecision(3));
        if (tick >= low && tick <= high) ticks.push(tick);
      }
    if (ticks.every((tick, i) => i === 0 || Math.log(tick / ticks[i - 1]) / span >= apart)) break;
  }
  return ticks;
}

/** Place of a time on the logarithmic axis, 0…1 within it. */
export function logPlace(low: number, high: number, value: number): number {
  return Math.log(value / low) / Math.log(high / low);
}

export function logValue(low: number, high: number, place: number): number {
  return low * (high / low) ** place;
}
