import { fail, ok, type Result } from '../../src-workers/domain/result.ts';

const SPACE = /[ \t\n\r]*/y;
const TOKEN =
  /[{}[\],:]|"(?:[^"\\\u0000-\u001f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y; // eslint-disable-line no-control-regex -- JSON forbids them in strings

/** Where a text stops being JSON, and what should have stood there. Engines word this differently, or not at all. */
function firstFault(text: string): { readonly offset: number; readonly expected: string } {
  const open: ('{' | '[')[] = [];
  let offset = 0;
  let state: 'value' | 'first' | 'key' | 'firstKey' | 'colon' | 'after' = 'value';
  const inside = (): string | undefined => open[open.length - 1];
  for (;;) {
    SPACE.lastIndex = offset;
    SPACE.exec(text);
    offset = SPACE.lastIndex;
    TOKEN.lastIndex = offset;
    const token = TOKEN.exec(text)?.[0] ?? '';
    const isValue = token !== '' && !'{}[],:'.includes(token);
    const fault = (expected: string) => ({ offset, expected });
    if (state === 'value' || state === 'first') {
      if (token === '{' || token === '[') {
        open.push(token);
        state = token === '{' ? 'firstKey' : 'first';
      } else if (isValue) state = 'after';
      else if (state === 'first' && token === ']') {
        open.pop();
        state = 'after';
      } else return fault(state === 'first' ? 'a value or "]"' : 'a value');
    } else if (state === 'key' || state === 'firstKey') {
      if (token.startsWith('"')) state = 'colon';
      else if (state === 'firstKey' && token === '}') {
        open.pop();
        state = 'after';
      } else return fault(state === 'firstKey' ? 'a field name in quotes or "}"' : 'a field name in quotes');
    } else if (state === 'colon') {
      if (token !== ':') return fault('":"');
      state = 'value';
    } else {
      const around = inside();
      if (around === undefined) return fault('the end of the text');
      if (token === ',') state = around === '{' ? 'key' : 'value';
      else if (token === (around === '{' ? '}' : ']')) open.pop();
      else return fault(around === '{' ? '"," or "}"' : '"," or "]"');
    }
    offset += token.length;
  }
}

/** Parses JSON, with or without a byte order mark; a failure names the line and column (from 1), got and expected. */
export function parseJson(text: string, fileName: string): Result<unknown> {
  const plain = text.replace(/^\uFEFF/, '');
  try {
    return ok(JSON.parse(plain) as unknown);
  } catch {
    const { offset, expected } = firstFault(plain);
    const before = plain.slice(0, offset).split('\n');
    const line = before.length;
    const column = before[line - 1]!.length + 1;
    const rest = /^\S[^\s,:[\]{}]{0,23}/.exec(plain.slice(offset, offset + 24))?.[0];
    const got = rest === undefined ? 'the end of the text' : JSON.stringify(rest);
    return fail(
      'bad-input',
      `${fileName}: not JSON at line ${line}, column ${column}: got ${got}, expected ${expected}`,
      { line, column },
    );
  }
}
