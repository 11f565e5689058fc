/** Loads of a dense triangular matrix with equally many rows per processor: processor i of P gets ∝ 2i − 1. */
export function triangularLoads(totalBytes: number, cores: number): Float64Array {
  return Float64Array.from({ length: cores }, (_, i) => ((2 * i + 1) * totalBytes) / cores ** 2);
}

/** Loads of Amdahl's law with half of the work serial: equal shares on all P cores, and P more shares on the first. */
export function amdahlLoads(totalBytes: number, cores: number): Float64Array {
  const share = totalBytes / (2 * cores);
  return Float64Array.from({ length: cores }, (_, i) => (i === 0 ? (cores + 1) * share : share));
}

/** Loads if an indivisible task has a core of its own, and other work is spread evenly over the other cores. */
export function indivisibleTaskLoads(taskBytes: number, restBytes: number, cores: number): Float64Array {
  if (cores === 1) return Float64Array.of(taskBytes + restBytes);
  return Float64Array.from({ length: cores }, (_, i) => (i === 0 ? taskBytes : restBytes / (cores - 1)));
}

export function totalLoad(loadBytes: Float64Array): number {
  return loadBytes.reduce((sum, load) => sum + load, 0);
}

export function largestLoad(loadBytes: Float64Array): number {
  return loadBytes.reduce((largest, load) => Math.max(largest, load), 0);
}

export function descending(loadBytes: Float64Array): Float64Array {
  return loadBytes.slice().sort().reverse();
}
