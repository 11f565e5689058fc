/** Measures the processor time of a call, ms, to detect quadratic work. Other load does not increase it. */
export async function cpuTimeMs(body: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await body();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
