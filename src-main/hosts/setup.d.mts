interface Done {
  readonly failed: string | null;
  /** Whether this process received a signal to stop, and forwarded it. */
  readonly stopped: boolean;
}
export function ensureBuilt(root: string, node: string, say: (line: string) => void): Promise<Done>;
export function fetchElectron(
  root: string,
  node: string,
  out: { write: (text: string) => unknown; readonly isTTY?: boolean },
  stalledMs?: number,
): Promise<Done>;
