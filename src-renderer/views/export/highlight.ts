export interface Token {
  readonly kind: 'plain' | 'comment' | 'keyword' | 'number' | 'string' | 'directive';
  readonly text: string;
}

const KEYWORDS =
  'constexpr|const|var|let|struct|loop|while|break|unsigned|long|namespace|return|static_cast|static_assert|bool|true|false|fn|u32|vec2|vec3|null|__launch_bounds__|__maxnreg__|def|None|import|for|in|if|else|lambda|with|as|is|not|and|or';
const TOKEN = new RegExp(
  [
    String.raw`(?<comment>(?<=^|  |; )\/\/[^\n]*|(?<=^|  )#(?: [^\n]*|$))`,
    String.raw`(?<string>"""[^]*?"""|"(?:[^"\\\n]|\\.)*")`,
    String.raw`(?<directive>^#[a-z]+)`,
    String.raw`(?<number>(?<![\w.])-?\d[\d.]*(?:e[+-]?\d+)?(?:ull|u)?\b)`,
    String.raw`(?<keyword>\b(?:${KEYWORDS})\b)`,
  ].join('|'),
  'gm',
);

export function highlight(text: string): readonly Token[] {
  const out: Token[] = [];
  let from = 0;
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > from) out.push({ kind: 'plain', text: text.slice(from, match.index) });
    const kind = Object.keys(match.groups!).find((name) => match.groups![name] !== undefined) as Token['kind'];
    out.push({ kind, text: match[0] });
    from = match.index + match[0].length;
  }
  if (from < text.length) out.push({ kind: 'plain', text: text.slice(from) });
  return out;
}
