/** Returns the position on a logarithmic axis: 0…1 between `low` and `high`. */
export function logPlace(low: number, high: number, value: number): number {
  return Math.log(value / low) / Math.log(high / low);
}

export function logValue(low: number, high: number, place: number): number {
  return low * (high / low) ** place;
}
