import fuzzysort from 'fuzzysort';

/** What can be searched: its label, and words that find it without being shown. */
export interface Searchable {
  readonly label: string;
  readonly words?: string | undefined;
}
export interface Found<T> {
  readonly item: T;
  /** Higher is better. */
  readonly score: number;
  /** Positions of the matched characters of the label. */
  readonly at: readonly number[];
}

/** What a label that begins with the query is better by, and what hidden words count. */
const BEGINS = 0.25;
const HIDDEN = 0.5;

/** Items that have the letters of the query, best first; all in their order without one. Parts of the query may stand in any order. */
export function search<T extends Searchable>(items: readonly T[], query: string): readonly Found<T>[] {
  const wanted = query.trim().toLowerCase();
  if (wanted === '') return items.map((item) => ({ item, score: 0, at: [] }));
  const found = items.flatMap((item): Found<T>[] => {
    const label = fuzzysort.single(wanted, item.label);
    if (label)
      return [
        { item, score: label.score + (item.label.toLowerCase().startsWith(wanted) ? BEGINS : 0), at: label.indexes },
      ];
    const words = item.words ? fuzzysort.single(wanted, item.words) : null;
    return words ? [{ item, score: words.score * HIDDEN, at: [] }] : [];
  });
  // Letters that are scattered over a text are worth a row only where nothing has the query as it is written.
  const parts = wanted.split(/\s+/);
  const written = found.filter(({ item: { label, words = '' } }) =>
    parts.every((part) => `${label} ${words}`.toLowerCase().includes(part)),
  );
  return [...(written.length > 0 ? written : found)].sort((a, b) => b.score - a.score);
}

/** A text cut where bold begins and ends. */
export function boldParts(text: string, at: readonly number[]): { readonly text: string; readonly bold: boolean }[] {
  const marked = new Set(at);
  const parts: { text: string; bold: boolean }[] = [];
  for (let i = 0; i < text.length; i++) {
    const bold = marked.has(i);
    const last = parts.at(-1);
    if (last && last.bold === bold) last.text += text[i];
    else parts.push({ text: text[i], bold });
  }
  return parts;
}
