import type { Study } from '../../../src-main/contract/study.ts';
import type { Term } from '../../../src-workers/domain/terms.ts';
import { fieldLabel } from '../../format/fields.ts';
import { isAdvanced, kernelFields } from './kernel-fields.ts';

export interface FieldName {
  readonly id: string;
  readonly label: string;
  readonly words: string;
  readonly control: string;
  readonly advanced: boolean;
}

const AXES = [
  'threadsPerUnit', 'blockThreads', 'unitsPerThread', 'gridBlocks', 'blocksPerMultiprocessor', 'cores', 'registerCap',
] as const satisfies readonly (keyof Study['axes'])[]; // prettier-ignore

const LETTERS: Readonly<Record<string, string>> = { σ: 'sigma', κ: 'kappa', τ: 'tau', ω: 'omega' };

export function spelledLetters(text: string): string {
  const written = Object.entries(LETTERS).filter(([letter]) => text.includes(letter));
  return written.map(([, name]) => name).join(' ');
}

export function fieldNames(say: Term, axes: Study['axes']): readonly FieldName[] {
  const units = { id: 'study.field.units', label: 'Units', words: 'number of units', control: 'Number of units' };
  return [
    { ...units, advanced: false },
    ...kernelFields(say).map((field) => ({
      id: `study.field.${field.id}`,
      label: `${field.label}${field.symbol && ` ${field.symbol}`}`,
      words: `kernel profile field ${spelledLetters(field.symbol)}`,
      control: field.label,
      advanced: isAdvanced(field),
    })),
    ...AXES.filter((axis) => axes[axis] !== undefined).map((axis) => {
      const label = fieldLabel(`axes.${axis}`, { say, devices: [] });
      return { id: `study.field.${axis}`, label, words: 'axis values', control: `Values of ${label}`, advanced: false };
    }),
  ];
}
