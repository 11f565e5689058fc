import { Slice } from './slice.ts';
import { refuse, shown } from './source.ts';

export interface JsonMember {
  readonly key: string;
  /** Key of the container to which the member belongs; `null` for a member of the outermost object. */
  readonly container: string | null;
  readonly position: number;
  readonly line: number;
  readonly value: unknown;
}

/** Limit of a single member. A container that is read entry by entry may be larger. */
const MAX_MEMBER_BYTES = 8 * 2 ** 20;

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];
const NEWLINE = 0x0a;

/** Thrown if the text ends early. It never leaves this file. */
const CUT_OFF = Symbol('cut off');

function openReader(bytes: Uint8Array, label: string) {
  const decoder = new TextDecoder('utf-8');
  let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  let line = 1;

  const skipSpace = (): void => {
    for (; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte === NEWLINE) line++;
      else if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return;
    }
  };
  const unexpected = (advice: string): never =>
    refuse(label, { line }, `${shown(decoder.decode(bytes.subarray(at, at + 40)))} is not valid here. ${advice}`);
  const step = (expected: readonly number[], words: string): number => {
    skipSpace();
    if (at >= bytes.length) throw CUT_OFF;
    const byte = bytes[at];
    if (!expected.includes(byte)) unexpected(`Use ${words}`);
    at++;
    return byte;
  };
  const skipString = (): void => {
    for (at++; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte === QUOTE) {
        at++;
        return;
      }
      if (byte === BACKSLASH) at++;
    }
    throw CUT_OFF;
  };
  const skipValue = (): void => {
    const first = bytes[at];
    if (first === QUOTE) return skipString();
    if (first !== OPEN_BRACE && first !== OPEN_BRACKET) {
      while (at < bytes.length && /[\w.+-]/.test(String.fromCharCode(bytes[at]))) at++;
      if (at === bytes.length) throw CUT_OFF;
      return;
    }
    let depth = 0;
    while (at < bytes.length) {
      const byte = bytes[at];
      if (byte === QUOTE) {
        skipString();
        continue;
      }
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--;
      else if (byte === NEWLINE) line++;
      at++;
      if (depth === 0) return;
    }
    throw CUT_OFF;
  };
  const readValue = (): unknown => {
    skipSpace();
    if (at >= bytes.length) throw CUT_OFF;
    const start = at;
    const startLine = line;
    skipValue();
    if (at - start > MAX_MEMBER_BYTES)
      refuse(label, { line: startLine }, `a member of ${at - start} bytes exceeds the limit of ${MAX_MEMBER_BYTES}`);
    const text = decoder.decode(bytes.subarray(start, at));
    try {
      return parsedValue(text);
    } catch {
      return refuse(label, { line: startLine }, `${shown(text)} is not a JSON value`);
    }
  };
  const readKey = (): string => {
    skipSpace();
    if (at >= bytes.length) throw CUT_OFF;
    if (bytes[at] !== QUOTE) unexpected('Use a name in quotation marks');
    const key = readValue() as string;
    step([COLON], '":" after a name');
    return key;
  };
  const isEmpty = (close: number): boolean => {
    skipSpace();
    if (bytes[at] !== close) return false;
    at++;
    return true;
  };
  const end = (): void => {
    skipSpace();
    if (at < bytes.length) unexpected('Remove the text after the last bracket');
  };
  return { line: () => line, skipSpace, step, readKey, readValue, isEmpty, end };
}

/**
 * Reads containers named in `apart` entry by entry: this needs little memory, lets other work run, and gives the
 * complete entries of a truncated file. Python's `NaN` and infinities become `null`. Errors name the line.
 */
export async function eachJsonMember(
  bytes: Uint8Array,
  label: string,
  apart: readonly string[],
  take: (member: JsonMember) => void,
): Promise<{ readonly whole: boolean }> {
  const { line, skipSpace, step, readKey, readValue, isEmpty, end } = openReader(bytes, label);
  const slice = new Slice();

  const readContainer = async (container: string): Promise<void> => {
    const open = step([OPEN_BRACE, OPEN_BRACKET], `a list or an object of "${container}"`);
    const close = open === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET;
    if (isEmpty(close)) return;
    for (let position = 0; ; position++) {
      skipSpace();
      const here = line();
      const key = open === OPEN_BRACE ? readKey() : String(position);
      take({ key, container, position, line: here, value: readValue() });
      const next = step([COMMA, close], `"," or "${String.fromCharCode(close)}" after an entry`);
      if (next === close) return;
      if (slice.isOver) await slice.next();
    }
  };

  try {
    step([OPEN_BRACE], 'a JSON object');
    if (!isEmpty(CLOSE_BRACE)) {
      for (let position = 0; ; position++) {
        skipSpace();
        const here = line();
        const key = readKey();
        if (apart.includes(key)) await readContainer(key);
        else take({ key, container: null, position, line: here, value: readValue() });
        if (step([COMMA, CLOSE_BRACE], '"," or "}" after a member') === CLOSE_BRACE) break;
      }
    }
    end();
    return { whole: true };
  } catch (error) {
    if (error === CUT_OFF) return { whole: false };
    throw error;
  }
}

function parsedValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const plain = text.replace(/"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g, (found) =>
      found.startsWith('"') ? found : 'null',
    );
    if (plain === text) throw error;
    return JSON.parse(plain);
  }
}
