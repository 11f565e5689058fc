import { mersenne } from 'pure-rand/generator/mersenne';
import type { LengthLaw } from '../domain/workload.ts';

/** Independent uniform doubles in [0, 1), passed as an argument, so that a seed fixes the result. */
export type UniformSource = () => number;

/**
 * MT19937 with 53 random bits per double (two 32-bit outputs each). Source: Matsumoto and Nishimura, ACM TOMACS 8
 * (1998), doi:10.1145/272991.272995.
 * @param seed an integer; only its low 32 bits are used
 */
export function mersenneTwister(seed: number): UniformSource {
  const generator = mersenne(seed);
  return () => {
    const high = generator.next() >>> 5;
    const low = generator.next() >>> 6;
    return (high * 2 ** 26 + low) / 2 ** 53;
  };
}

/**
 * Makes a sampler of a discrete law by an alias table: linear time to build, constant time and one double for each
 * draw. Source: Vose, IEEE Trans. Softw. Eng. 17 (1991), doi:10.1109/32.92917.
 * @param keep each probability times the number of probabilities, so that the mean is 1; the sampler overwrites it
 */
export function aliasSampler(keep: Float64Array): (uniform: UniformSource) => number {
  const count = keep.length;
  const alias = new Int32Array(count);
  const small: number[] = [];
  const large: number[] = [];
  for (let i = 0; i < count; i++) (keep[i] < 1 ? small : large).push(i);
  while (small.length > 0 && large.length > 0) {
    const poor = small.pop()!;
    const rich = large.pop()!;
    alias[poor] = rich;
    keep[rich] -= 1 - keep[poor];
    (keep[rich] < 1 ? small : large).push(rich);
  }
  // The remaining entries differ from 1 only by rounding.
  for (const i of small) keep[i] = 1;
  for (const i of large) keep[i] = 1;
  return (uniform) => {
    const position = uniform() * count;
    const cell = Math.floor(position);
    return position - cell < keep[cell] ? cell : alias[cell];
  };
}

export function lengthSampler({ support, probability }: LengthLaw): (uniform: UniformSource) => number {
  const draw = aliasSampler(probability.map((p) => p * probability.length));
  return (uniform) => support[draw(uniform)];
}

/** A generator to spread samples, too poor for simulations: the quick one of Numerical Recipes, modulo 2³². */
export function quickGenerator(seed: number): UniformSource {
  let state = seed + 1;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export function standardNormal(uniform: UniformSource): number {
  return Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

/** Shuffles in place (Fisher and Yates, as in Durstenfeld 1964, doi:10.1145/364520.364540). */
export function shuffle(values: number[] | Float64Array | Uint32Array, uniform: UniformSource): void {
  for (let at = values.length - 1; at > 0; at -= 1) {
    const other = Math.floor(uniform() * (at + 1));
    const value = values[at];
    values[at] = values[other];
    values[other] = value;
  }
}

/** The numbers 0 … count − 1 in an order without pattern: Fisher and Yates, by the quick generator. */
export function arbitraryOrder(count: number, seed: number): Int32Array {
  const order = new Int32Array(count);
  const uniform = quickGenerator(seed);
  for (let i = 0; i < count; i++) {
    const other = Math.floor(uniform() * (i + 1));
    order[i] = order[other];
    order[other] = i;
  }
  return order;
}
