/** Text from a study (names, descriptions, labels) may contain anything. Each function makes it safe for one use. */

const HTML: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Makes text safe as content of HTML or in a quoted attribute. Control characters become spaces. */
export function html(text: string): string {
  return oneLine(text).replace(/[&<>"']/g, (mark) => HTML[mark]);
}

export function markdown(text: string): string {
  return oneLine(text)
    .replace(/[\\`*_{}[\]<>|#~!&]/g, (mark) => `\\${mark}`)
    .replace(/^[-+=]/, '\\$&')
    .replace(/^(\d+)([.)])(?=\s|$)/, '$1\\$2')
    .replace(/(\w):\/\//g, '$1\\://');
}

/** Code in Markdown has no escapes, so special marks are replaced. */
export function markdownCode(text: string): string {
  return `\`${oneLine(text).replaceAll('`', "'").replaceAll('|', '/')}\``;
}

const GREEK: Readonly<Record<string, string>> = { σ: 'sigma', τ: 'tau', κ: 'kappa', µ: 'u' };

/**
 * Makes text safe in a one-line comment of C++, WGSL or Python, in UTF-8. The result has letters and digits of all
 * languages, and printable ASCII. It cannot end the comment, continue its line (by a backslash or its trigraph) or
 * declare another encoding of the file (PEP 263; in UTF-7, a comment can hold code).
 */
export function comment(text: string): string {
  return withoutMarks(text, /[^\p{L}\p{M}\p{N}\x20-\x7e]/gu);
}

/** Makes text safe as content of a string of C++ or Python, which is then quoted as JSON. The result is ASCII. */
export function stringText(text: string): string {
  return withoutMarks(text, /[^\x20-\x7e]/g);
}

function withoutMarks(text: string, marks: RegExp): string {
  return oneLine(text)
    .replace(/µ|(?<!\p{L})[στκ](?!\p{L})/gu, (letter) => GREEK[letter])
    .replace(marks, ' ')
    .replaceAll('*/', '* /')
    .replaceAll('/*', '/ *')
    .replaceAll('-->', '-- >')
    .replace(/\?(?=\?)/g, '? ')
    .replace(/coding(?=[:=])/g, 'coding ')
    .replace(/\\+\s*$/, '')
    .trim();
}

export function identifier(text: string): string {
  const words = text
    .replace(/[^A-Za-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 60);
  return words === '' ? 'kernel' : /^\d/.test(words) ? `k${words}` : words;
}

/** Whatever breaks or reorders lines, or controls a terminal, becomes a space. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();
}

/** Writes JSON in one line, or indented as a property at `indent`. Escapes characters that break or reorder lines. */
function json(value: unknown, indent?: string): string {
  const text =
    indent === undefined ? JSON.stringify(value) : JSON.stringify(value, null, 2).replaceAll('\n', `\n${indent}`);
  return text.replace(/[\p{Cf}\u2028\u2029\u007f-\u009f]/gu, (mark) =>
    Array.from({ length: mark.length }, (_, at) => `\\u${mark.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );
}

/** Passing on a part of this size costs little compared with writing its text. */
const PART_CHARACTERS = 65_536;

export async function* joined(pieces: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string, void> {
  let part = '';
  for await (const piece of pieces) {
    part += piece;
    if (part.length < PART_CHARACTERS) continue;
    yield part;
    part = '';
  }
  if (part !== '') yield part;
}

/** If a property is a generator, it is read while its text is written. */
export function jsonParts(object: Readonly<Record<string, unknown>>): AsyncGenerator<string, void> {
  return joined(jsonPieces(object));
}

async function* jsonPieces(object: Readonly<Record<string, unknown>>): AsyncGenerator<string, void> {
  let before = '{';
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined) continue;
    yield `${before}\n  ${json(key, '')}: `;
    before = ',';
    if (!isGenerator(value)) {
      yield json(value, '  ');
      continue;
    }
    let mark = '[';
    for await (const element of value) {
      yield `${mark}\n    ${json(element, '    ')}`;
      mark = ',';
    }
    yield mark === '[' ? '[]' : '\n  ]';
  }
  yield before === '{' ? '{}\n' : '\n}\n';
}

function isGenerator(value: unknown): value is Iterable<unknown> | AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && 'next' in value && typeof value.next === 'function';
}

export function whole(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 0 });
}

export function percent(fraction: number, decimals = 1): string {
  return `${(100 * fraction).toFixed(decimals)}\u00a0%`;
}

export function chanceText(chance: number): string {
  return chance > MOST_CERTAIN ? `over ${percent(MOST_CERTAIN, 0)}` : percent(chance);
}
const MOST_CERTAIN = 0.99;

export function lossText(regret: number): string {
  return percent(Math.expm1(regret));
}

export function counted(value: number, one: string, many = `${one}s`): string {
  return `${whole(value)} ${value === 1 ? one : many}`;
}
