/**
 * Returns the processor time of a call, ms, for tests against quadratic work. Unlike the time on the clock, it does not
 * grow with other load.
 */
export async function cpuTimeMs(body: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await body();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
