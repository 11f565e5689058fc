/** Devices in the order of the panel: those that a study runs on, and unticked ones in their old places. */

/**
 * The devices to list.
 * @param remembered as they were listed before, unticked ones included
 * @param chosen devices of the study: each has a row, new ones behind the one before them
 */
export function listedDevices(remembered: readonly string[], chosen: readonly string[]): readonly string[] {
  const listed = [...new Set(remembered)];
  for (const [at, id] of chosen.entries()) {
    if (listed.includes(id)) continue;
    listed.splice(at === 0 ? 0 : listed.indexOf(chosen[at - 1]) + 1, 0, id);
  }
  return listed;
}

/** The devices of a study with one more: where its row stands, so that to untick and tick it again changes nothing. */
export function withListed(chosen: readonly string[], id: string, listed: readonly string[]): string[] {
  const row = listed.indexOf(id);
  const above = row < 0 ? chosen.length - 1 : chosen.findLastIndex((other) => listed.indexOf(other) < row);
  return [...chosen.slice(0, above + 1), id, ...chosen.slice(above + 1)];
}
