import type { KernelProfile } from '../domain/kernel.ts';
import {
  kernelInput,
  kernelValue,
  withKernelValue,
  type KernelNumber,
  type OwnInput,
  type VariedInput,
} from '../domain/provenance.ts';
import type { Implementation } from '../domain/space.ts';
import type { LengthLaw } from '../domain/workload.ts';
import { moments } from '../models/workload/laws.ts';
import type { CompactNumbers } from '../numeric/compact.ts';
import { makeUnitLaw } from '../predict/ordered.ts';
import { replanUnits, type SweepPlan } from '../predict/plan.ts';

/** For the input `spread`, the value is a factor that stretches lengths about their mean. */
export interface InputChange {
  readonly input: VariedInput | OwnInput;
  readonly value: number;
}

/** Only changes of the units or lengths need caches of their own: the keys of cached laws have all other inputs. */
export function changesLengths({ input }: InputChange): boolean {
  return kernelInput(input) === null;
}

export function changedPlan(plan: SweepPlan, { input, value }: InputChange): SweepPlan {
  const id = `${plan.id}|${input}=${value}`;
  switch (input) {
    case 'workload.units':
      return { ...replanUnits(plan, Math.max(1, Math.round(value))), id };
    case 'workload.spread': {
      if (value === 1) return plan;
      const law = stretchedLaw(plan.law, value, moments(plan.law).mean);
      if (!plan.ordered) return { ...plan, id, law };
      const ordered = { ...plan.ordered, iterations: stretchedOrder(plan.ordered.iterations, value) };
      // The law of a plan with a given order must be the law of the units in that order.
      return { ...plan, id, ordered, law: ordered.given ? makeUnitLaw(law.label, ordered, plan.units) : law };
    }
    default: {
      const { field, implementation } = kernelInput(input)!;
      const number = field as KernelNumber;
      // An absent phase differs from a phase without instructions, so it stays absent if the value does not change.
      const changedKernel = (kernel: KernelProfile): KernelProfile =>
        kernelValue(kernel, number) === value ? kernel : withKernelValue(kernel, number, value);
      const changed = implementation === null ? { ...plan, id, kernel: changedKernel(plan.kernel) } : { ...plan, id };
      const { implementations } = plan.axes;
      if (!implementations) return changed;
      // An input of the study applies to every implementation that has no value of its own.
      const follows = (one: Implementation, at: number): boolean =>
        implementation === null ? !one.own.includes(field) : at === implementation;
      const axes = {
        ...plan.axes,
        implementations: implementations.map((one, at) =>
          follows(one, at) ? { ...one, kernel: changedKernel(one.kernel) } : one,
        ),
      };
      return { ...changed, axes };
    }
  }
}

/** Moves lengths `factor` times as far from the mean. Negative lengths become 0; scaling then restores the mean. */
export function stretchedLaw(law: LengthLaw, factor: number, mean: number): LengthLaw {
  const moved = law.support.map((length) => Math.max(0, mean + (length - mean) * factor));
  let sum = 0;
  for (let i = 0; i < moved.length; i += 1) sum += moved[i] * law.probability[i];
  const scale = sum > 0 ? mean / sum : 1;
  const masses = new Map<number, number>();
  const add = (length: number, mass: number): void => {
    if (mass > 0) masses.set(length, (masses.get(length) ?? 0) + mass);
  };
  for (let i = 0; i < moved.length; i += 1) {
    const length = moved[i] * scale;
    const below = Math.floor(length);
    add(below, law.probability[i] * (below + 1 - length));
    add(below + 1, law.probability[i] * (length - below));
  }
  const support = Float64Array.from(masses.keys()).sort();
  const probability = support.map((length) => masses.get(length)!);
  return { ...law, label: `${law.label}, spread × ${Number(factor.toPrecision(4))}`, support, probability };
}

/**
 * Stretches ordered lengths as `stretchedLaw` stretches a law. Each length is rounded to a whole iteration, and the
 * rounding error is carried over to the next length.
 */
export function stretchedOrder(iterations: CompactNumbers, factor: number): Float64Array {
  let sum = 0;
  for (const length of iterations) sum += length;
  const mean = sum / iterations.length;
  const moved = Float64Array.from(iterations, (length) => Math.max(0, mean + (length - mean) * factor));
  let after = 0;
  for (const length of moved) after += length;
  const scale = after > 0 ? sum / after : 1;
  let rest = 0;
  return moved.map((length) => {
    const exact = length * scale + rest;
    const whole = Math.max(0, Math.round(exact));
    rest = exact - whole;
    return whole;
  });
}
