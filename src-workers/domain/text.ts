/** The text, or as much of it as fits into `most` characters with an ellipsis. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1).trimEnd()}…` : text;
}

/** The longest message of a failure, characters. */
const MAX_MESSAGE = 2000;

/**
 * Shortens a message that quotes megabytes of a file. Its start, which says what is wrong, and its end, which says what
 * to do, are kept.
 */
export function messageText(text: string): string {
  if (text.length <= MAX_MESSAGE) return text;
  const half = MAX_MESSAGE / 2 - 30; // with what stands between them
  const left = (text.length - 2 * half).toLocaleString('en');
  return `${text.slice(0, half)} … (${left} characters left out) … ${text.slice(-half)}`;
}

/**
 * A path that is not on another machine as \\host\share is: Windows would sign in to that host, for the author of the
 * file that names it.
 */
export const LOCAL_PATH = /^(?![\\/]{2})/;

/** The last line that is not blank; empty if there is none. */
export function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)!.trim();
}
