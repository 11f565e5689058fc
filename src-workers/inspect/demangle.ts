const BUILTIN: Readonly<Record<string, string>> = {
  v: 'void',
  b: 'bool',
  c: 'char',
  a: 'signed char',
  h: 'unsigned char',
  s: 'short',
  t: 'unsigned short',
  i: 'int',
  j: 'unsigned',
  l: 'long',
  m: 'unsigned long',
  x: 'long long',
  y: 'unsigned long long',
  f: 'float',
  d: 'double',
};

/** Returns `nbody::step<float, 32>` for `_ZN5nbody4stepIfLi32EEvPT_`. Parts that cannot be read become `…`. */
export function demangled(mangled: string): string {
  if (!mangled.startsWith('_Z')) return mangled;
  const reader = new Reader(mangled.slice(2));
  return reader.name() ?? mangled;
}

const MAX_DEPTH = 16;

class Reader {
  private at = 0;
  private depth = 0;
  private readonly text: string;
  constructor(text: string) {
    this.text = text;
  }

  private takes(what: string): boolean {
    if (!this.text.startsWith(what, this.at)) return false;
    this.at += what.length;
    return true;
  }

  name(): string | null {
    if (!this.takes('N')) return this.part();
    while (/[rVK]/.test(this.text[this.at] ?? '')) this.at++;
    const parts: string[] = [];
    while (!this.takes('E')) {
      const part = this.takes('St') ? 'std' : this.part();
      if (part === null) return null;
      parts.push(part);
    }
    return parts.join('::');
  }

  private part(): string | null {
    this.takes('L');
    const digits = /^\d{1,4}/.exec(this.text.slice(this.at, this.at + 4))?.[0];
    if (digits === undefined) return null;
    const from = this.at + digits.length;
    this.at = from + Number(digits);
    if (this.at > this.text.length) return null;
    const name = this.text.slice(from, this.at).replace(/^_GLOBAL__N_.*/, '(anonymous)');
    if (!this.takes('I')) return name;
    const values: string[] = [];
    while (!this.takes('E')) {
      const value = this.value();
      // It is unknown where an unreadable argument ends, so the remaining arguments are skipped.
      if (value === null) return `${name}<${[...values, '…'].join(', ')}>`;
      values.push(value);
    }
    return `${name}<${values.join(', ')}>`;
  }

  private value(): string | null {
    if (this.at >= this.text.length || ++this.depth > MAX_DEPTH) return null;
    const value = this.takes('L') ? this.literal() : this.type();
    this.depth--;
    return value;
  }

  private literal(): string | null {
    const found = /^([a-z])(n?\d+)E/.exec(this.text.slice(this.at, this.at + 32));
    if (!found) return null;
    this.at += found[0].length;
    if (found[1] === 'b') return found[2] === '0' ? 'false' : 'true';
    return found[2].replace('n', '-');
  }

  private type(): string | null {
    for (const [letter, text] of [
      ['P', '*'],
      ['R', '&'],
      ['K', ' const'],
    ] as const)
      if (this.takes(letter)) {
        const inner = this.value();
        return inner === null ? null : inner + text;
      }
    const builtin = BUILTIN[this.text[this.at] ?? ''];
    if (builtin === undefined) return this.name();
    this.at++;
    return builtin;
  }
}
