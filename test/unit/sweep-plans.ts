import { join } from 'node:path';
import { parseStudy } from '../../src-main/contract/parse.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { studyAxes, sweepPlan } from '../../src-main/services/studies/plan.ts';
import { planLengths } from '../../src-main/services/studies/workloads.ts';
import { fileOpener } from '../../src-workers/parse/open-file.ts';
import type { Device } from '../../src-workers/domain/device.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { resolveOrderedWorkload } from '../../src-workers/parse/grammar.ts';
import { makeGivenLengths } from '../../src-workers/predict/ordered.ts';
import type { SweepPlan } from '../../src-workers/predict/plan.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { predictChunk } from '../../src-workers/predict/ranges.ts';
import { spaceSize } from '../../src-workers/domain/space.ts';
import { CPUS, gpu } from '../catalogue.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const openFile = fileOpener(join(ROOT, 'db/examples'));
export const KERNEL: StudyFile['kernel'] = { name: 'k', registersPerThread: 32, instructionsPerIteration: 40 };

/** Makes a study with one design on an A100. Tests change it. */
export function oneDesign(change: Partial<StudyFile> = {}): StudyFile {
  return {
    lockstep: 1,
    name: 'One design',
    workload: { lengths: 'geometric(0.05)', units: 1 << 20 },
    kernel: KERNEL,
    devices: ['nvidia-a100-sxm4-40gb'],
    axes: { blockThreads: [256] },
    ...change,
  };
}

/**
 * Returns the workers' plan of a study. Its workload may only use files of the examples. `devices` replaces the
 * catalogue's.
 * @param inOrder true if units have the order of the workload; otherwise, they are draws from its law
 */
export async function planOf(study: StudyFile, devices?: readonly Device[], inOrder = true): Promise<SweepPlan> {
  const checked = unwrap(parseStudy(JSON.stringify(study)));
  const used = devices ?? checked.devices.map((id) => CPUS.find((entry) => entry.id === id) ?? gpu(id));
  const axes = unwrap(studyAxes(checked, used));
  const { law, lengths } = unwrap(await resolveOrderedWorkload(checked.workload.lengths, { openFile }));
  const ordered = planLengths(checked, axes, law, inOrder && lengths ? makeGivenLengths(lengths) : null);
  return sweepPlan('test', checked, axes, law, ordered);
}

export async function predicted(study: StudyFile, devices?: readonly Device[]) {
  const plan = await planOf(study, devices);
  const predictor = createPredictor(plan);
  return { plan, predictor, columns: predictChunk(predictor, 0, spaceSize(plan.axes)) };
}
