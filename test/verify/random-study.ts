import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { KERNEL_INPUTS, withKernelValue, type KernelNumber } from '../../src-workers/domain/provenance.ts';
import type { KernelProfile } from '../../src-workers/domain/kernel.ts';
import type { UniformSource } from '../../src-workers/numeric/random.ts';
import { oneOf, wholeBelow } from './report.ts';

const ROOT = join(import.meta.dirname, '../..');
export const EXAMPLES = join(ROOT, 'db/examples');

export function exampleStudies(): readonly (readonly [name: string, study: StudyFile])[] {
  return readdirSync(EXAMPLES)
    .filter((name) => name.endsWith('.json'))
    .map((name) => [name, JSON.parse(readFileSync(join(EXAMPLES, name), 'utf8')) as StudyFile] as const);
}

const KERNEL_NUMBERS = Object.keys(KERNEL_INPUTS) as KernelNumber[];

/** Returns a value in the usual range of a field, even over its logarithm, sometimes an end of the range or 0. */
function randomValue(uniform: UniformSource, [low, high]: readonly [number, number]): number {
  const kind = uniform();
  if (kind < 0.1) return 0;
  if (kind < 0.3) return oneOf(uniform, [low, high]);
  const from = Math.max(low, high / 1e6);
  const value = from * (high / from) ** uniform();
  return Number.isInteger(low) && Number.isInteger(high) && high > 1 ? Math.round(value) : value;
}

export function editedStudy(study: StudyFile, uniform: UniformSource): StudyFile {
  const field = oneOf(uniform, KERNEL_NUMBERS);
  const value = randomValue(uniform, KERNEL_INPUTS[field].usual);
  // A study file leaves out fields without a value. As in a complete kernel, the changed field is always written.
  const kernel = withKernelValue(study.kernel as KernelProfile, field, value);
  return { ...study, kernel: kernel as StudyFile['kernel'] };
}

/** Laws of the usual kinds, and laws with extreme lengths. */
const LENGTHS = [
  'constant(1)',
  'constant(5000)',
  'uniform(0,40)',
  'geometric(0.5)',
  'geometric(0.01)',
  'zipf(1.2,2000)',
  'zipf(2.5,100000)',
  'summary(mean=20,sd=60,max=3000)',
  'mixture(0.99*constant(2),0.01*constant(4000))',
] as const;

/** Returns the study with other fields of the kernel, units and device, and other lengths unless from a file. */
export function randomStudy(study: StudyFile, uniform: UniformSource): StudyFile {
  let changed = study;
  for (let edits = 1 + wholeBelow(uniform, 6); edits > 0; edits -= 1) changed = editedStudy(changed, uniform);
  const { lengths, units } = study.workload;
  const isOwn = uniform() < 0.5 || study.axes.blockWidth !== undefined;
  return {
    ...changed,
    workload: {
      ...study.workload,
      lengths: isOwn ? lengths : oneOf(uniform, LENGTHS),
      units: uniform() < 0.3 ? units : Math.round(2 ** (20 * uniform())),
    },
    devices: [oneOf(uniform, study.devices)],
  };
}
