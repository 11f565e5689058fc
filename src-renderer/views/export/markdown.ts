/**
 * Reads the Markdown that our reports are written in: headings, paragraphs, lists, tables, bold, code and escapes. Nothing
 * in it becomes markup by itself: the view draws blocks and spans as text.
 */

export interface Span {
  readonly kind: 'text' | 'strong' | 'code';
  readonly text: string;
}
export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly spans: readonly Span[] }
  | { readonly kind: 'paragraph'; readonly spans: readonly Span[] }
  | { readonly kind: 'list'; readonly items: readonly (readonly Span[])[] }
  | {
      readonly kind: 'table';
      readonly numeric: readonly boolean[];
      readonly head: readonly (readonly Span[])[];
      readonly rows: readonly (readonly (readonly Span[])[])[];
    };

export function markdownBlocks(text: string): readonly Block[] {
  return text
    .split(/\n{2,}/)
    .map((block) => block.trim())
    .filter((block) => block !== '')
    .map((block): Block => {
      const heading = /^(#{1,6}) (.*)$/.exec(block);
      if (heading) return { kind: 'heading', level: heading[1].length, spans: spans(heading[2]) };
      const lines = block.split('\n');
      if (lines.every((line) => line.startsWith('- ')))
        return { kind: 'list', items: lines.map((line) => spans(line.slice(2))) };
      if (lines.length > 1 && lines[0].startsWith('|')) {
        const [head, rule, ...rows] = lines.map(cells);
        return {
          kind: 'table',
          numeric: rule.map((cell) => cell.endsWith(':')),
          head: head.map(spans),
          rows: rows.map((row) => row.map(spans)),
        };
      }
      return { kind: 'paragraph', spans: spans(lines.join(' ')) };
    });
}

/** Cells of a table line; an escaped bar is part of its cell. */
function cells(line: string): readonly string[] {
  return line
    .replace(/^\|\s*|\s*\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());
}

function spans(text: string): readonly Span[] {
  const out: Span[] = [];
  let plain = '';
  let strong = false;
  const push = (): void => {
    if (plain !== '') out.push({ kind: strong ? 'strong' : 'text', text: plain });
    plain = '';
  };
  for (let i = 0; i < text.length; i += 1) {
    const mark = text[i];
    if (mark === '\\' && /[!-/:-@[-`{-~]/.test(text[i + 1] ?? '')) {
      i += 1;
      plain += text[i];
    } else if (mark === '`' && text.indexOf('`', i + 1) > 0) {
      push();
      const end = text.indexOf('`', i + 1);
      out.push({ kind: 'code', text: text.slice(i + 1, end) });
      i = end;
    } else if (text.startsWith('**', i)) {
      push();
      strong = !strong;
      i += 1;
    } else plain += mark;
  }
  push();
  return out;
}
