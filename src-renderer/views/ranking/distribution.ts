/** Returns the position of a time on the logarithmic axis, 0…1 within it. */
export function logPlace(low: number, high: number, value: number): number {
  return Math.log(value / low) / Math.log(high / low);
}

export function logValue(low: number, high: number, place: number): number {
  return low * (high / low) ** place;
}
