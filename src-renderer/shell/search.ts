import fuzzysort from 'fuzzysort';

export interface Searchable {
  readonly label: string;
  readonly words?: string | undefined;
}
interface Match {
  readonly score: number;
  readonly at: readonly number[];
}
export interface Found<T> extends Match {
  readonly item: T;
}

/** Scores of a typed word by its place in the label. `HIDDEN`: only in words that the palette does not show. */
const AT_START = 1;
const AT_WORD = 0.8;
const WITHIN = 0.5;
const HIDDEN = 0.25;
const ABBREVIATED = 0.1;
/** The bonus for a whole word: `sort` finds "Sort by the time" before the shorter "Sorting". */
const WHOLE_WORD = 0.02;
/** The number of typed letters for which one missing letter is allowed. */
const LETTERS_PER_SLIP = 4;

const LETTER = /^[\p{L}\p{N}]/u;
const WORD_START = /(?<![\p{L}\p{N}])[\p{L}\p{N}]/gu;

function wordStarts(text: string): ReadonlySet<number> {
  return new Set(Array.from(text.matchAll(WORD_START), ({ index }) => index));
}

function written(part: string, label: string, words: string): Match | null {
  const text = label.toLowerCase();
  const starts = wordStarts(text);
  let from = text.indexOf(part);
  const first = from;
  while (from >= 0 && !starts.has(from)) from = text.indexOf(part, from + 1);
  const at = from >= 0 ? from : first;
  if (at >= 0) {
    const place = at === 0 ? AT_START : from >= 0 ? AT_WORD : WITHIN;
    const isWhole = from >= 0 && !LETTER.test(text.slice(at + part.length));
    const score = isWhole ? place + WHOLE_WORD : place;
    // The shorter of two labels with the same start is closer to the query.
    return { score: score + part.length / (100 * text.length), at: Array.from(part, (_, i) => at + i) };
  }
  const hidden = words.toLowerCase();
  const isHidden = [...wordStarts(hidden)].some((start) => hidden.startsWith(part, start));
  return isHidden ? { score: HIDDEN, at: [] } : null;
}

/** Matches initials (`pds` for Predict the design space), or one word with one letter missing per four typed. */
function abbreviated(part: string, label: string): Match | null {
  const match = fuzzysort.single(part, label);
  if (!match) return null;
  const at = [...match.indexes].sort((a, b) => a - b);
  const starts = wordStarts(label);
  const isInitials = at.every((index, i) => starts.has(index) || at[i - 1] === index - 1);
  const slips = at.at(-1)! - at[0] + 1 - at.length;
  const isSlip = starts.has(at[0]) && slips <= Math.floor(part.length / LETTERS_PER_SLIP);
  return isInitials || isSlip ? { score: ABBREVIATED * match.score, at } : null;
}

function matched<T extends Searchable>(
  items: readonly T[],
  parts: readonly string[],
  match: (part: string, item: T) => Match | null,
): Found<T>[] {
  return items.flatMap((item): Found<T>[] => {
    const each = parts.map((part) => match(part, item));
    if (each.includes(null)) return [];
    const all = each as Match[];
    return [{ item, score: all.reduce((sum, { score }) => sum + score, 0), at: all.flatMap(({ at }) => at) }];
  });
}

/** Returns the items that contain all words of the query, best first. If no item does, abbreviations count too. */
export function search<T extends Searchable>(items: readonly T[], query: string): readonly Found<T>[] {
  const parts = query.trim().toLowerCase().split(/\s+/).filter(Boolean);
  if (parts.length === 0) return items.map((item) => ({ item, score: 0, at: [] }));
  const asWritten = matched(items, parts, (part, { label, words = '' }) => written(part, label, words));
  const found =
    asWritten.length > 0
      ? asWritten
      : matched(items, parts, (part, { label, words = '' }) => written(part, label, words) ?? abbreviated(part, label));
  return found.sort((a, b) => b.score - a.score);
}

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
