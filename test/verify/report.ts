import { mersenneTwister, type UniformSource } from '../../src-workers/numeric/random.ts';

/** Input of a section of `npm run verify`, and the place for its results. */
export interface Report {
  readonly seed: number;
  /** Random numbers from `seed`. The same seed gives the same choices in the same order. */
  readonly uniform: UniformSource;
  readonly figures: readonly (readonly [what: string, result: string])[];
  readonly failures: readonly string[];
  say(line: string): void;
  figure(what: string, result: string | number): void;
  fail(message: string): void;
}

export interface Section {
  readonly what: string;
  /** Amounts in `npm run verify` and with `--quick`, and the name of the things that they count. */
  readonly amount: { readonly full: number; readonly quick: number; readonly unit: string };
  run(report: Report, amount: number): Promise<void>;
}

export function openReport(seed: number, print: (line: string) => void): Report {
  const figures: [string, string][] = [];
  const failures: string[] = [];
  return {
    seed,
    uniform: mersenneTwister(seed),
    figures,
    failures,
    say: print,
    figure(what, result) {
      const text = typeof result === 'number' ? result.toLocaleString('en') : result;
      figures.push([what, text]);
      print(`${what}: ${text}`);
    },
    fail(message) {
      failures.push(message);
      print(`FAILED: ${message}`);
    },
  };
}

/** Returns a whole number from 0 to `below` − 1. */
export const wholeBelow = (uniform: UniformSource, below: number): number => Math.floor(uniform() * below);
export const oneOf = <T>(uniform: UniformSource, from: readonly T[]): T => from[wholeBelow(uniform, from.length)];

export const inMegabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MB`;
export const inSeconds = (ms: number): string => `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 0)} s`;
