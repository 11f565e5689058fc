import type { Study } from '../../../src-main/contract/study.ts';
import { CPU_BALANCING } from '../../../src-workers/domain/design.ts';
import {
  KERNEL_INPUTS,
  type KernelField,
  type KernelNumber,
  type Origin,
} from '../../../src-workers/domain/provenance.ts';

/** Changes the study: the field that is edited, what undo says, and the change. */
export type Edit = (field: string, label: string, change: (study: Study) => Study) => void;

/** The study with some fields of its kernel changed. */
export function withKernel(study: Study, change: Partial<Study['kernel']>): Study {
  return { ...study, kernel: { ...study.kernel, ...change } };
}
/** The study with a field of its kernel set by a person: from now on it is given. */
export function withGiven<Field extends KernelField>(study: Study, field: Field, value: Study['kernel'][Field]): Study {
  return withOrigin(withKernel(study, { [field]: value }), field, 'given');
}
/** The study with another origin of a field of its kernel. */
export function withOrigin(study: Study, field: KernelField, origin: Origin): Study {
  return withKernel(study, { origins: { ...study.kernel.origins, [field]: origin } });
}
/** The study with the usual value of a field of its kernel, assumed. */
export function withAssumed(study: Study, field: KernelNumber): Study {
  return withOrigin(withKernel(study, { [field]: KERNEL_INPUTS[field].assumed }), field, 'assumed');
}
export function withWorkload(study: Study, change: Partial<Study['workload']>): Study {
  return { ...study, workload: { ...study.workload, ...change } };
}
/** The study with an axis replaced, or taken out where the value is undefined. */
export function withAxis<Name extends keyof Study['axes']>(
  study: Study,
  name: Name,
  value: Study['axes'][Name] | undefined,
): Study {
  const axes = { ...study.axes };
  if (value === undefined) delete axes[name];
  else axes[name] = value;
  return { ...study, axes };
}

/** The study with what a CPU needs, where it has none: numbers of cores, and ways to cut the work into their shares. */
export function withCores(study: Study, cores: number): Study {
  const { axes } = study;
  const cuts = axes.balancing.some((text) => CPU_BALANCING.some((kind) => kind === text));
  return {
    ...study,
    axes: {
      ...axes,
      cores: axes.cores ?? { from: 1, to: cores },
      balancing: cuts ? axes.balancing : [...axes.balancing, ...CPU_BALANCING],
    },
  };
}
