import { ok, type Result, unsupported } from '../../domain/result.ts';

/** Rewrites the CUDA that no C++ header can define: `<<<…>>>`, and shared memory whose size the launch decides. */

const OPENING = /[([{]/;
const CLOSING = /[)\]}]/;

/** Masks strings and system headers without moving other code, so that launches are found only in the user's code. */
function ownCode(preprocessed: string): string {
  let own = true;
  return preprocessed
    .split('\n')
    .map((line) => {
      // In # 12 "/usr/include/stdio.h" 1 3 4, the flag 3 marks a system header.
      const marker = /^# \d+ ".*"([\d ]*)$/.exec(line);
      if (marker) own = !marker[1].includes('3');
      return own && !marker ? line : ' '.repeat(line.length);
    })
    .join('\n')
    .replaceAll(/R"([^()\s\\]{0,16})\([^]*?\)\1"|"(?:[^"\\\n]|\\.)*"|(?<![\w'])'(?:[^'\\\n]|\\.)*'/g, (found) =>
      found.replaceAll(/[^\n]/g, '"'),
    );
}

const LAUNCH = /(?<!operator\s{0,3})<<\s*<(?!<)/;

function findClosing(masked: string, from: number): number {
  let depth = 0;
  for (let at = from; at < masked.length; at += 1) {
    if (OPENING.test(masked[at])) depth += 1;
    else if (CLOSING.test(masked[at]) && --depth === 0) return at;
  }
  return -1;
}

/** Returns where the expression before `end` starts: a qualified name with arguments, or an expression in brackets. */
function kernelStart(masked: string, end: number): number {
  let at = end;
  const back = (pattern: RegExp): void => {
    while (at > 0 && pattern.test(masked[at - 1])) at -= 1;
  };
  const pair = (): void => {
    let depth = 0;
    while (at > 0) {
      at -= 1;
      if (/[)\]>]/.test(masked[at]) && masked.slice(at - 1, at + 1) !== '->') depth += 1;
      else if (/[([<]/.test(masked[at]) && --depth === 0) return;
    }
  };
  for (;;) {
    back(/\s/);
    while (at > 0 && /[)\]>]/.test(masked[at - 1])) {
      const closing = masked[at - 1];
      pair();
      // Round brackets hold the whole expression. Template arguments and an index follow a name.
      if (closing === ')') return at;
      back(/\s/);
    }
    back(/\w/);
    const before = /(::|->|\.)\s*$/.exec(masked.slice(Math.max(0, at - 40), at));
    if (!before) return at;
    at -= before[0].length;
    if (!/[\w)\]>]\s*$/.test(masked.slice(Math.max(0, at - 40), at))) return at;
  }
}

const ATTRIBUTE = /__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)/g;
/** Matches `extern static T name[];` or `static extern T name[];`, since `__shared__` is already `static`. */
const UNSIZED = new RegExp(
  String.raw`\b(extern\s+(?:volatile\s+)?static|static\s+(?:volatile\s+)?extern)\s+((?:${ATTRIBUTE.source}|[^;=(){}[\]])*?)\b(\w+)\s*\[\s*\]\s*;`,
  'g',
);

/**
 * Rewrites preprocessed CUDA, in which `__shared__` is already `static`, as C++ with the same line numbers. Launches
 * become calls, and an array of unknown size becomes a pointer to the block's memory. Fails with `unsupported`.
 */
export function rewriteLaunches(preprocessed: string): Result<string> {
  let text = preprocessed
    .replaceAll(/\bstatic\s+static\b/g, 'static')
    .replaceAll(/\basm\s+(?:volatile|__volatile__)\s*\(\s*"\/\/[^"\n]*"\s*\)/g, '((void)0)')
    .replaceAll(UNSIZED, (_, before: string, type: string, name: string) => {
      const element = `${/\bvolatile\b/.test(before) ? 'volatile ' : ''}${type.replaceAll(ATTRIBUTE, '').trim()}`;
      return `static ${element}* const ${name} = (${element}*)cuda_shim::dynamicShared;`;
    });
  for (;;) {
    const masked = ownCode(text);
    const at = masked.search(LAUNCH);
    if (at < 0) return ok(text);
    const open = at + /^<<\s*</.exec(masked.slice(at))![0].length;
    let [depth, close] = [0, -1];
    for (let next = open; next < masked.length && close < 0; next += 1) {
      if (OPENING.test(masked[next])) depth += 1;
      else if (CLOSING.test(masked[next])) depth -= 1;
      else if (depth === 0 && /^>\s*>\s*>/.test(masked.slice(next, next + 8))) close = next;
      if (depth < 0 || masked[next] === ';') break;
    }
    const ended = close < 0 ? null : close + /^>\s*>\s*>/.exec(masked.slice(close))![0].length;
    const argumentsAt = ended === null ? -1 : masked.indexOf('(', ended);
    const from = kernelStart(masked, at);
    if (ended === null || argumentsAt < 0 || masked.slice(ended, argumentsAt).trim() !== '' || findClosing(masked, argumentsAt) < 0 || from === at)
      return unsupported(`a launch cannot be read: ${text.slice(from, from + 80).replaceAll(/\s+/g, ' ')}. Write kernel<<<grid, block>>>(arguments)`); // prettier-ignore
    const kernel = text.slice(from, at).trim();
    const config = text.slice(open, close);
    text = `${text.slice(0, from)}cuda_shim::Start{cuda_shim::Config(${config}), [&](auto... lockstepGiven) { ${kernel}(lockstepGiven...); }}${text.slice(ended)}`;
  }
}

/** Returns the first PTX instruction in a preprocessed source, which only a GPU can execute; `null` if none. */
export function inlinePtx(preprocessed: string): string | null {
  const masked = ownCode(preprocessed);
  const found = preprocessed.matchAll(/\basm\s*(?:volatile|__volatile__)?\s*\(\s*"\s*\{?\s*([a-z]\w*\.[\w.:]+)/g);
  return [...found].find(({ index }) => masked.startsWith('asm', index))?.[1] ?? null;
}
