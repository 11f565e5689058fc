/**
 * @param remembered the earlier list, including unticked devices
 * @param chosen the study's devices. A new one comes after the device that it follows in the study.
 */
export function listedDevices(remembered: readonly string[], chosen: readonly string[]): readonly string[] {
  const listed = [...new Set(remembered)];
  for (const [at, id] of chosen.entries()) {
    if (listed.includes(id)) continue;
    listed.splice(at === 0 ? 0 : listed.indexOf(chosen[at - 1]) + 1, 0, id);
  }
  return listed;
}

/** Adds a device at the position of its row, so that unticking and ticking it leaves the study unchanged. */
export function withListed(chosen: readonly string[], id: string, listed: readonly string[]): string[] {
  const row = listed.indexOf(id);
  const above = row < 0 ? chosen.length - 1 : chosen.findLastIndex((other) => listed.indexOf(other) < row);
  return [...chosen.slice(0, above + 1), id, ...chosen.slice(above + 1)];
}
