/**
 * Processor time that a call takes, ms, for guards against quadratic work: it does not grow with what else the machine
 * does, as the time on the clock does.
 */
export async function cpuTimeMs(body: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await body();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
