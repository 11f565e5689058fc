import { lexer, type Token, type Tokens } from 'marked';

/** Parses Markdown to blocks and spans, which the view draws as text, so that imported text is never markup. */

export interface Span {
  readonly kind: 'text' | 'strong' | 'code';
  readonly text: string;
}
export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly spans: readonly Span[] }
  | { readonly kind: 'paragraph'; readonly spans: readonly Span[] }
  | { readonly kind: 'list'; readonly ordered: boolean; readonly items: readonly (readonly Span[])[] }
  | {
      readonly kind: 'table';
      readonly numeric: readonly boolean[];
      readonly head: readonly (readonly Span[])[];
      readonly rows: readonly (readonly (readonly Span[])[])[];
    };

const inner = (token: Token): readonly Token[] | undefined => ('tokens' in token ? token.tokens : undefined);

export function markdownBlocks(text: string): readonly Block[] {
  return lexer(text).flatMap((token): readonly Block[] => {
    switch (token.type) {
      case 'space':
        return [];
      case 'heading':
        return [{ kind: 'heading', level: (token as Tokens.Heading).depth, spans: spans(inner(token) ?? []) }];
      case 'list':
        return [
          {
            kind: 'list',
            ordered: (token as Tokens.List).ordered,
            items: (token as Tokens.List).items.map(({ tokens }) => spans(tokens)),
          },
        ];
      case 'table': {
        const { header, rows, align } = token as Tokens.Table;
        const line = (cells: readonly Tokens.TableCell[]) => cells.map(({ tokens }) => spans(tokens));
        return [
          { kind: 'table', numeric: align.map((side) => side === 'right'), head: line(header), rows: rows.map(line) },
        ];
      }
      default:
        return [{ kind: 'paragraph', spans: spans(inner(token) ?? [{ type: 'html', raw: token.raw.trim() }]) }];
    }
  });
}

/** Joins neighbouring spans of one kind. Other kinds, such as HTML or a link, stay as literal text. */
function spans(tokens: readonly Token[], within: 'text' | 'strong' = 'text'): readonly Span[] {
  const out: Span[] = [];
  const push = (next: Span) => {
    const last = out.at(-1);
    if (last && last.kind === next.kind) out[out.length - 1] = { kind: last.kind, text: last.text + next.text };
    else out.push(next);
  };
  for (const token of tokens) {
    if (token.type === 'codespan') push({ kind: 'code', text: (token as Tokens.Codespan).text });
    else if (token.type === 'strong') spans(inner(token) ?? [], 'strong').forEach(push);
    else if (token.type === 'text' && inner(token)) spans(inner(token)!, within).forEach(push);
    else if (token.type === 'text' || token.type === 'escape')
      push({ kind: within, text: (token as Tokens.Text).text.replaceAll('\n', ' ') });
    else if (token.type === 'checkbox') continue;
    else push({ kind: within, text: token.raw });
  }
  return out;
}
