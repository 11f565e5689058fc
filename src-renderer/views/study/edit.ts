import type { Study } from '../../../src-main/contract/study.ts';

/** Changes the study: the field that is edited, what undo says, and the change. */
export type Edit = (field: string, label: string, change: (study: Study) => Study) => void;

/** The study with some fields of its kernel changed. */
export function withKernel(study: Study, change: Partial<Study['kernel']>): Study {
  return { ...study, kernel: { ...study.kernel, ...change } };
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
