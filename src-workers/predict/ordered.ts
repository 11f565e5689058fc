import type { LengthLaw } from '../domain/workload.ts';
import { makeNumbers, type CompactNumbers } from '../numeric/compact.ts';
import { lengthSampler, mersenneTwister } from '../numeric/random.ts';
import { countLengths } from '../models/workload/generated.ts';
import { MAX_ENTRIES } from './constants.ts';

export interface OrderedLengths<Lengths extends CompactNumbers = Float64Array> {
  /** A workload with more units repeats these iterations, and one with fewer units takes the first of them. */
  readonly iterations: Lengths;
  /** Number of units that `iterations` represents. An entry may bundle several units. */
  readonly units: number;
  /** Whether a launch takes its units in this order. If not, the lengths are draws, which only designs for CPUs use. */
  readonly given: boolean;
}

export type CompactOrder = OrderedLengths<CompactNumbers>;

export function makeGivenLengths<Lengths extends CompactNumbers>(iterations: Lengths): OrderedLengths<Lengths> {
  return { units: iterations.length, iterations, given: true };
}

export function shareValues(values: CompactNumbers): Float64Array {
  const copy = new Float64Array(new SharedArrayBuffer(values.byteLength));
  copy.set(values);
  return copy;
}

/** Draws lengths from a law if the order is unknown: one draw per unit, but at most `MAX_ENTRIES`. */
export function drawLengths(law: LengthLaw, units: number, seed: number): OrderedLengths {
  const draw = lengthSampler(law);
  const uniform = mersenneTwister(seed);
  const iterations = new Float64Array(Math.min(units, MAX_ENTRIES));
  for (let at = 0; at < iterations.length; at += 1) iterations[at] = draw(uniform);
  return { units: iterations.length, iterations, given: false };
}

export function bundleLengths<Lengths extends CompactNumbers>({
  units,
  iterations,
  given,
}: OrderedLengths<Lengths>): OrderedLengths<Lengths | Float64Array> {
  const bundle = Math.ceil(iterations.length / MAX_ENTRIES);
  if (bundle <= 1) return { units, iterations, given };
  const bundles = new Float64Array(Math.ceil(iterations.length / bundle));
  for (let unit = 0; unit < iterations.length; unit += 1) bundles[Math.floor(unit / bundle)] += iterations[unit];
  return { units, iterations: bundles, given };
}

const laws = new WeakMap<CompactNumbers, { readonly units: number; readonly law: LengthLaw }>();

/** Keeps a law that another thread computed for an order, so that `makeUnitLaw` finds it. */
export const keepLawOfUnits = ({ iterations }: CompactOrder, units: number, law: LengthLaw): void =>
  void laws.set(iterations, { units, law });

export function makeUnitLaw(label: string, { iterations }: CompactOrder, units: number): LengthLaw {
  const known = laws.get(iterations);
  if (known?.units === units && known.law.label === label) return known.law;
  const rest = units % iterations.length;
  const whole = (units - rest) / iterations.length;
  const counts = countLengths(iterations.subarray(0, rest));
  if (whole > 0)
    for (const [length, count] of countLengths(iterations))
      counts.set(length, (counts.get(length) ?? 0) + whole * count);
  const support = Float64Array.from(counts.keys()).sort();
  const probability = support.map((length) => counts.get(length)! / units);
  const law = { label, support, probability, truncatedMass: 0 };
  laws.set(iterations, { units, law });
  return law;
}

export function repeatUnits<Lengths extends CompactNumbers>(lengths: Lengths, units: number): Lengths {
  if (units <= lengths.length) return lengths.subarray(0, units) as Lengths;
  const all = makeNumbers(lengths, units);
  for (let at = 0; at < units; at += lengths.length) all.set(lengths.subarray(0, units - at), at);
  return all;
}

/** Consecutive units that `takePart` keeps together, because neighbours are similar and designs run them together. */
const STRETCH = 256;

/** Keeps `part` lengths, in stretches spread evenly over all units, or all lengths if there are fewer. */
export function takePart<Lengths extends CompactNumbers>(lengths: Lengths, part: number): Lengths {
  if (part >= lengths.length) return lengths;
  const out = lengths.slice(0, part) as Lengths;
  const stretches = Math.ceil(part / STRETCH);
  const lastLength = part - (stretches - 1) * STRETCH;
  for (let each = 0; each < stretches; each += 1) {
    const from = stretches === 1 ? 0 : Math.floor((each * (lengths.length - lastLength)) / (stretches - 1));
    out.set(lengths.subarray(from, from + (each === stretches - 1 ? lastLength : STRETCH)), each * STRETCH);
  }
  return out;
}
