import { ok, type Result, badInput } from '../../src-workers/domain/result.ts';

const SPACE = /[ \t\n\r]*/y;
const TOKEN = /[{}[\],:]|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
/** A string is matched in parts, because a single expression overflows the stack if there are many escapes. */
const PLAIN = /[^"\\\u0000-\u001f]*/y; // eslint-disable-line no-control-regex -- JSON forbids them in strings
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** Our files have at most a tenth as many levels of brackets. */
const MAX_LEVELS = 100;

function tokenAt(text: string, offset: number): string {
  if (text[offset] !== '"') return matchAt(TOKEN, text, offset);
  let end = offset + 1;
  for (;;) {
    end += matchAt(PLAIN, text, end).length;
    if (text[end] === '"') return text.slice(offset, end + 1);
    const escape = matchAt(ESCAPE, text, end);
    if (escape === '') return '';
    end += escape.length;
  }
}

function matchAt(expression: RegExp, text: string, offset: number): string {
  expression.lastIndex = offset;
  return expression.exec(text)?.[0] ?? '';
}

interface Fault {
  readonly offset: number;
  readonly expected: string;
  /** A field that occurs a second time. JSON allows this, but JavaScript silently keeps only the last one. */
  readonly again?: string;
}

/** Finds what is expected at the first position that is not JSON. JavaScript's messages do not always say this. */
function firstFault(text: string): Fault | null {
  const open: ('{' | '[')[] = [];
  const fields: Set<string>[] = [];
  let offset = 0;
  let state: 'value' | 'first' | 'key' | 'firstKey' | 'colon' | 'after' = 'value';
  const inside = (): string | undefined => open[open.length - 1];
  const close = (): void => {
    open.pop();
    fields.pop();
    state = 'after';
  };
  for (;;) {
    offset += matchAt(SPACE, text, offset).length;
    const token = tokenAt(text, offset);
    const isValue = token !== '' && !'{}[],:'.includes(token);
    const fault = (expected: string) => ({ offset, expected });
    if (state === 'value' || state === 'first') {
      if (token === '{' || token === '[') {
        if (open.length === MAX_LEVELS) return fault(`at most ${MAX_LEVELS} levels of brackets`);
        open.push(token);
        fields.push(new Set());
        state = token === '{' ? 'firstKey' : 'first';
      } else if (isValue) state = 'after';
      else if (state === 'first' && token === ']') close();
      else return fault(state === 'first' ? 'a value or "]"' : 'a value');
    } else if (state === 'key' || state === 'firstKey') {
      if (token.startsWith('"')) {
        const again = JSON.parse(token) as string;
        const known = fields[fields.length - 1];
        if (known.has(again)) return { offset, expected: 'each field once', again };
        known.add(again);
        state = 'colon';
      } else if (state === 'firstKey' && token === '}') close();
      else return fault(state === 'firstKey' ? 'a field name in quotes or "}"' : 'a field name in quotes');
    } else if (state === 'colon') {
      if (token !== ':') return fault('":"');
      state = 'value';
    } else {
      const around = inside();
      if (around === undefined) return offset === text.length ? null : fault('the end of the text');
      if (token === ',') state = around === '{' ? 'key' : 'value';
      else if (token === (around === '{' ? '}' : ']')) close();
      else return fault(around === '{' ? '"," or "}"' : '"," or "]"');
    }
    offset += token.length;
  }
}

/** Accepts a byte order mark and refuses repeated fields. A failure states the place and what JSON needs there. */
export function parseJson(text: string, fileName: string): Result<unknown> {
  const plain = text.replace(/^\uFEFF/, '');
  const fault = firstFault(plain);
  if (fault === null) return ok(JSON.parse(plain) as unknown);
  const { offset, expected, again } = fault;
  const before = plain.slice(0, offset).split('\n');
  const line = before.length;
  const column = before[line - 1].length + 1;
  const place = `line ${line}, column ${column}`;
  if (again !== undefined) {
    const message = `${fileName}, ${place}: The field ${JSON.stringify(again.slice(0, 80))} occurs a second time. Remove one of the two.`;
    return badInput(message, { line, column });
  }
  const rest = /^\S[^\s,:[\]{}]{0,23}/.exec(plain.slice(offset, offset + 24))?.[0];
  const got = rest === undefined ? 'the end of the text' : JSON.stringify(rest);
  return badInput(`${fileName}, ${place}: JSON needs ${expected} here, not ${got}.`, { line, column });
}
