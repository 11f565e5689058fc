export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1).trimEnd()}…` : text;
}

const MAX_MESSAGE = 2000;

/** Shortens a long message, which may quote a file. The start (the problem) and the end (the remedy) are kept. */
export function messageText(text: string): string {
  if (text.length <= MAX_MESSAGE) return text;
  const half = MAX_MESSAGE / 2 - 30; // 30 characters are kept free for the note between the halves.
  const left = (text.length - 2 * half).toLocaleString('en');
  return `${text.slice(0, half)} … (${left} characters left out) … ${text.slice(-half)}`;
}

/** A longer name may not fit into the 255 bytes of a file name, because a letter takes up to four. */
const MAX_STEM_LETTERS = 60;

/** Makes a name safe as the beginning of a file name, with letters of all languages. */
export function fileStem(name: string, otherwise: string): string {
  const start = Array.from(name.toLowerCase()).slice(0, MAX_STEM_LETTERS).join('');
  return (start.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [otherwise]).join('-');
}

/** Excludes \\host\share: Windows would sign in to the host, which the author of a file may have chosen. */
export const LOCAL_PATH = /^(?![\\/]{2})/;

export function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)!.trim();
}

/** `Longest chain` → `longest chain`, but `FP64 share` stays. */
export function midSentence(label: string): string {
  return /^[A-Z][a-z ]/.test(label) ? `${label.charAt(0).toLowerCase()}${label.slice(1)}` : label;
}

export const thousandsHint = (text: string): string =>
  /^\d{1,3}(?:[.,'\u2019\u00a0\u202f ]\d{3})+$/.test(text) ? '. If it has thousands separators, remove them' : '';

export const countedText = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;

const listed = new Intl.ListFormat('en-GB');

export const listText = (names: Iterable<string>): string => listed.format(names);
