/**
 * Measures the processor time of a call, ms, to detect quadratic work. Unlike elapsed time, it does not grow with other
 * load.
 */
export async function cpuTimeMs(body: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await body();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
