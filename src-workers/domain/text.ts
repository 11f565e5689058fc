/** The text, cut to `most` characters with an ellipsis. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1).trimEnd()}…` : text;
}

/** Maximum length of a failure's message, characters. */
const MAX_MESSAGE = 2000;

/** Shortens a message that quotes megabytes of a file. The start (the problem) and the end (the remedy) are kept. */
export function messageText(text: string): string {
  if (text.length <= MAX_MESSAGE) return text;
  const half = MAX_MESSAGE / 2 - 30; // This is the length without the note between the halves.
  const left = (text.length - 2 * half).toLocaleString('en');
  return `${text.slice(0, half)} … (${left} characters left out) … ${text.slice(-half)}`;
}

/**
 * Matches a path on this machine. Windows would sign in to the host of a path \\host\share, and the host may belong to
 * the author of the file that names it.
 */
export const LOCAL_PATH = /^(?![\\/]{2})/;

/** The last line that is not blank; empty if there is none. */
export function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)!.trim();
}

/** A label inside a sentence: `Longest chain` → `longest chain`, but `FP64 share` stays. */
export function midSentence(label: string): string {
  return /^[A-Z][a-z ]/.test(label) ? `${label.charAt(0).toLowerCase()}${label.slice(1)}` : label;
}

/** The end of a message about a number that may have thousands separators; otherwise empty. */
export const thousandsHint = (text: string): string =>
  /^\d{1,3}(?:[.,'\u2019\u00a0\u202f ]\d{3})+$/.test(text) ? '. If it has thousands separators, remove them' : '';

/** Writes a number of things, `1 core` or `8 cores`. */
export const countedText = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;
