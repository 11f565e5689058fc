interface Done {
  /** Why it failed; `null` where it did not. */
  readonly failed: string | null;
  /** Whether a signal to stop was passed on meanwhile. */
  readonly stopped: boolean;
}
export function ensureBuilt(root: string, node: string, say: (line: string) => void): Promise<Done>;
export function fetchElectron(
  root: string,
  node: string,
  out: { write: (text: string) => unknown; readonly isTTY?: boolean },
  stalledMs?: number,
): Promise<Done>;
