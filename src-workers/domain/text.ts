/** The text, or as much of it as fits into `most` characters with an ellipsis. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1).trimEnd()}…` : text;
}

/** The last line that is not blank; empty where there is none. */
export function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)!.trim();
}
