export interface Match {
  /** Higher is better. */
  readonly score: number;
  /** Positions of the matched characters. */
  readonly at: readonly number[];
}

/**
 * Finds the letters of `query` in `text`, in order. Whole runs and word starts count most, so `sim` finds "Simulate"
 * before "dismiss item". Null where a letter is missing. Spaces in the query separate parts that may stand in any order.
 */
export function fuzzyMatch(query: string, text: string): Match | null {
  const parts = query.toLowerCase().split(/\s+/).filter(Boolean);
  const at = new Set<number>();
  let score = 0;
  for (const part of parts) {
    const match = matchPart(part, text);
    if (!match) return null;
    score += match.score;
    for (const position of match.at) at.add(position);
  }
  return { score: score - text.length / 100, at: [...at].sort((a, b) => a - b) };
}

function matchPart(part: string, text: string): Match | null {
  const lower = text.toLowerCase();
  const whole = lower.indexOf(part);
  if (whole >= 0) {
    const word = [...lower.matchAll(/[a-z0-9]+/g)].find(
      ({ index, 0: letters }) => letters.startsWith(part) && index >= 0,
    );
    const start = word?.index ?? whole;
    return { score: (start === 0 ? 12 : word ? 9 : 5) + part.length, at: Array.from(part, (_, i) => start + i) };
  }
  const at: number[] = [];
  let from = 0;
  let score = 0;
  for (const letter of part) {
    const position = lower.indexOf(letter, from);
    if (position < 0) return null;
    const starts = position === 0 || !/[a-z0-9]/.test(lower[position - 1]);
    score += starts ? 2 : position === from ? 1 : -0.5;
    at.push(position);
    from = position + 1;
  }
  return score > 0 ? { score, at } : null;
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
