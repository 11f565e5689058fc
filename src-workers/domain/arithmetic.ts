import { expected, FailureError, ok, type Result, badInput } from './result.ts';

/** Arithmetic as text: `4 * ceil({units} / {blockThreads}) + 1`. */
export interface Arithmetic {
  readonly names: ReadonlySet<string>;
  /** Evaluates in double precision, like the C++ expression that `cpp` returns. */
  value(of: (name: string) => number): number;
  /** Returns a C++ expression of the type double. `named` translates each name to C++. */
  cpp(named: (name: string) => string): string;
}

const FUNCTIONS: Readonly<
  Record<string, { readonly takes: number; readonly apply: (...given: number[]) => number; readonly cpp: string }>
> = {
  ceil: { takes: 1, apply: Math.ceil, cpp: 'std::ceil' },
  floor: { takes: 1, apply: Math.floor, cpp: 'std::floor' },
  log2: { takes: 1, apply: Math.log2, cpp: 'std::log2' },
  min: { takes: 2, apply: Math.min, cpp: 'std::fmin' },
  max: { takes: 2, apply: Math.max, cpp: 'std::fmax' },
};
export const ARITHMETIC_FUNCTIONS = Object.keys(FUNCTIONS);

const OPERATORS: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
};

const MAX_CHARACTERS = 200;
const TOKEN = /\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)|\{(\w+)\}|([A-Za-z_]\w*)|([-+*/%(),]))/y;

/** Parses arithmetic. Names may be in braces and must be `known`. A failure is `bad-input`. */
export function parseArithmetic(text: string, known: readonly string[]): Result<Arithmetic> {
  if (text.length > MAX_CHARACTERS) return badInput(`it has more than ${MAX_CHARACTERS} characters`);
  try {
    return ok(read(text, known));
  } catch (error) {
    return expected(error);
  }
}

function read(text: string, known: readonly string[]): Arithmetic {
  const refuse = (why: string): never => {
    throw new FailureError({ code: 'bad-input', message: why });
  };
  const tokens = [...splitTokens(text, refuse)];
  let at = 0;
  const taken = (...signs: readonly string[]): string | null => {
    const found = signs.find((sign) => tokens[at] === sign);
    if (found !== undefined) at += 1;
    return found ?? null;
  };
  const expect = (what: string): never =>
    refuse(`${what} is missing ${at < tokens.length ? `before "${tokens[at]}"` : 'at the end'}`);

  const chain = (signs: readonly string[], operand: () => Arithmetic): Arithmetic => {
    let left = operand();
    for (let sign = taken(...signs); sign !== null; sign = taken(...signs)) left = combined(sign, left, operand());
    return left;
  };
  const sum = (): Arithmetic => chain(['+', '-'], product);
  const product = (): Arithmetic => chain(['*', '/', '%'], operand);
  const operand = (): Arithmetic => {
    if (taken('-') !== null) return combined('-', constant(0), operand());
    if (taken('(') !== null) {
      const inner = sum();
      return taken(')') === null ? expect('")"') : inner;
    }
    const token = tokens[at] as string | undefined;
    if (token === undefined || '+*/%,)'.includes(token)) return expect('a number or a name');
    at += 1;
    if (/^\d/.test(token)) return constant(Number(token));
    if (taken('(') !== null) return call(token);
    if (!known.includes(token)) refuse(`"${token}" is not one of ${known.join(', ')}`);
    return { names: new Set([token]), value: (of) => of(token), cpp: (named) => named(token) };
  };
  const call = (name: string): Arithmetic => {
    const found = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : null;
    if (!found) return refuse(`"${name}" is not one of the functions ${ARITHMETIC_FUNCTIONS.join(', ')}`);
    const given = [sum()];
    while (taken(',') !== null) given.push(sum());
    if (taken(')') === null) return expect('")"');
    if (given.length !== found.takes) refuse(`${name} takes ${found.takes === 1 ? 'one number' : 'two numbers'}`);
    return {
      names: new Set(given.flatMap(({ names }) => [...names])),
      value: (of) => found.apply(...given.map((one) => one.value(of))),
      cpp: (named) => `${found.cpp}(${given.map((one) => one.cpp(named)).join(', ')})`,
    };
  };
  const whole = sum();
  if (at === tokens.length) return whole;
  const isSurplus = tokens[at] === ')' || tokens[at] === ',';
  return isSurplus ? refuse(`"${tokens[at]}" is one too many`) : expect('an operator');
}

function* splitTokens(text: string, refuse: (why: string) => never): Generator<string, void> {
  for (let from = 0; text.slice(from).trim() !== '';) {
    TOKEN.lastIndex = from;
    const found = TOKEN.exec(text);
    if (!found) return refuse(`"${text.slice(from).trim()[0]}" is neither a number, a name nor a sign`);
    from = TOKEN.lastIndex;
    yield found.slice(1).find((part) => part !== undefined)!;
  }
}

const constant = (value: number): Arithmetic => ({
  names: new Set(),
  value: () => value,
  cpp: () => `double(${value})`,
});

function combined(sign: string, left: Arithmetic, right: Arithmetic): Arithmetic {
  return {
    names: new Set([...left.names, ...right.names]),
    value: (of) => OPERATORS[sign](left.value(of), right.value(of)),
    cpp(named) {
      const [a, b] = [left.cpp(named), right.cpp(named)];
      return sign === '%' ? `std::fmod(${a}, ${b})` : `(${a} ${sign} ${b})`;
    },
  };
}
