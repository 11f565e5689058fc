/** Returns the position of a value on a logarithmic axis from `low` to `high`: 0…1 if it lies between them. */
export function logPlace(low: number, high: number, value: number): number {
  return Math.log(value / low) / Math.log(high / low);
}

export function logValue(low: number, high: number, place: number): number {
  return low * (high / low) ** place;
}
