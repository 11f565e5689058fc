import { isDeepStrictEqual } from 'node:util';
import type { RunDraft, RunRecord } from '../../../db/records.ts';
import type { CaseResult, MeasuringDevice, PlanLine, PlanSource } from '../../../src-workers/domain/benchmark.ts';
import type { NamedParameters } from '../../../src-workers/domain/design-names.ts';
import { type Result, ok, badInput, conflict, notFound } from '../../../src-workers/domain/result.ts';
import { spaceSize } from '../../../src-workers/domain/space.ts';
import { sentenceCase } from '../../../src-workers/domain/terms.ts';
import type { FileSweep } from '../../../src-workers/parse/kernel-tuner.ts';
import { shown } from '../../../src-workers/parse/source.ts';
import { describeDesign } from '../../../src-workers/predict/designs.ts';
import { createPredictor } from '../../../src-workers/predict/predictor.ts';
import type { ImportedFile } from '../../contract/measuring.ts';
import type { Context } from '../context.ts';
import { runPlan } from '../runs/run-view.ts';
import type { RunStudy } from '../studies/studies.ts';
import { hasDesignParameters, linkDesigns } from './designs.ts';
import type { ImportInput, Imported } from './importer.ts';
import { parametersOfStudy } from './named-parameters.ts';

export interface Linked extends LinkedSource {
  readonly cases: readonly CaseResult[];
  readonly devices: readonly (string | null)[] | null;
  readonly device: MeasuringDevice | null;
  readonly linked: ImportedFile['linked'] | null;
  readonly parameters: NamedParameters;
}

function deviceNamed(name: string): MeasuringDevice {
  return {
    type: 'device',
    backend: 'external',
    name,
    fingerprint: name,
    driver: '',
    versions: {},
    threadGroupWidth: null,
    multiprocessors: null,
    clockMhz: null,
    timer: null,
    properties: {},
  };
}

interface LinkedSource {
  readonly source: Pick<PlanSource, 'runId' | 'deviceId'> | null;
  readonly study: {
    readonly studyId: number | null;
    readonly study: RunStudy;
    readonly devices: RunDraft['devices'];
  } | null;
  readonly warnings: readonly string[];
}

export async function linkedPlan(
  context: Context,
  { cases, device, plan }: Imported,
  { runId }: ImportInput,
): Promise<Result<Linked>> {
  const source = plan?.source ?? null;
  if (runId !== undefined && !source)
    return badInput(`The cases are not designs of a sweep. Import the file without run ${runId}.`);
  const line = plan && source && runId !== undefined ? { ...plan, source: { ...source, runId } } : plan;
  const linked = await findSource(context, line);
  if (!linked.ok) return linked;
  if (runId !== undefined && !linked.value.source) return conflict(linked.value.warnings.join(' '));
  return ok({ ...linked.value, cases, devices: null, device, linked: null, parameters: {} });
}

/**
 * The number of the file's run may belong to another run here, so its study, seed, device and designs must equal those
 * in the file. Otherwise the measurements are not linked.
 */
async function findSource(context: Context, line: PlanLine | null): Promise<Result<LinkedSource>> {
  const source = line?.source ?? null;
  if (!line || !source) return ok({ source: null, study: null, warnings: [] });
  const run = await runOfFile(context, source);
  if (!run.ok) return run;
  if (typeof run.value === 'string') return ok(alone(run.value));
  const planned = await runPlan(context.store, run.value);
  if (!planned.ok) return planned;
  const { study, plan } = planned.value;
  const another = ok(alone(anotherRun(source.runId)));
  if (study.study.name !== source.study) return another;
  const predictor = createPredictor(plan);
  const size = spaceSize(plan.axes);
  for (const one of line.plan.cases) {
    if (one.benchmark !== 'unit-loop' || one.parameters.designIndex === null) continue;
    const { design, designIndex } = one.parameters;
    if (designIndex >= size) return another;
    const described = describeDesign(predictor, designIndex);
    if (described.device.id !== source.deviceId || !isDeepStrictEqual({ ...described.design }, { ...design })) {
      return another;
    }
  }
  const { studyId, devices } = run.value;
  return ok({ source, study: { studyId, study, devices }, warnings: [] });
}

const alone = (why: string): LinkedSource => ({
  source: null,
  study: null,
  warnings: [`${why}, so the measurements are not linked to a sweep.`],
});
const anotherRun = (runId: number): string => `Run ${runId} of this database is not the sweep of these designs`;

async function runOfFile(context: Context, { runId, study, seed }: FileSweep): Promise<Result<RunRecord | string>> {
  const run = await context.store.getRun(runId);
  if (!run.ok && run.error.code !== 'not-found') return run;
  if (!run.ok || run.value.kind !== 'sweep' || run.value.deletedAt !== null)
    return ok(`The designs belong to run ${runId} of "${study}", which is not in this database`);
  return ok(seed !== null && run.value.seed !== seed ? anotherRun(runId) : run.value);
}

/** Links a file to the sweep that the user names, or else to the one that the file names, or else to the open one. */
export async function linkedFile(
  context: Context,
  read: Imported,
  { runId, openRunId, parameters: given = {}, fixed = {} }: ImportInput,
): Promise<Result<Linked>> {
  const isMeasured = ({ timesMs, failure, values }: CaseResult): boolean =>
    timesMs.length > 0 || failure !== null || Object.keys(values).length > 0;
  const unlinked = ({ warnings }: Pick<LinkedSource, 'warnings'>): Result<Linked> => {
    const measured = read.predicted ? read.cases.flatMap((one, at) => (isMeasured(one) ? [at] : [])) : [];
    const isAllPredicted = read.predicted && measured.length === 0;
    const places = read.predicted && !isAllPredicted ? measured : [...read.cases.keys()];
    const name = read.deviceName ?? read.deviceGuess;
    const left = read.cases.length - places.length;
    return ok({
      source: null,
      study: null,
      cases: places.map((at) => read.cases[at]),
      devices: read.devices && places.map((at) => read.devices![at]),
      device: name === null || isAllPredicted ? null : deviceNamed(name),
      linked: null,
      parameters: {},
      warnings: [
        ...(isAllPredicted
          ? ['Lockstep exported this file, so its times are predictions and not measurements. Import measured times.']
          : warnings),
        ...(left > 0 ? [leftOutText(left)] : []),
        ...(read.deviceName === null && read.deviceGuess !== null
          ? [`The file names no device, so ${shown(read.deviceGuess)} was taken from the name of the file.`]
          : []),
        ...(name === null && !read.predicted ? ['The file does not name the device of the measurements.'] : []),
      ],
    });
  };

  // A table of times is useless without the sweep of its designs, so a sweep that cannot be found is a failure.
  const isAsked = runId !== undefined || read.kind === 'times';
  let target = runId ?? read.sweep?.runId ?? null;
  let exported = read.sweep !== null && read.sweep.runId === target;
  if (read.sweep && exported) {
    const found = await runOfFile(context, read.sweep);
    if (!found.ok) return found;
    if (typeof found.value === 'string') {
      if (!isAsked) return unlinked(alone(found.value));
      exported = false;
    }
  }
  const parameters = await parametersOfStudy(context, target ?? openRunId, given);
  if (target === null && openRunId !== undefined && (isAsked || (await hasDesignParameters(read.cases, parameters))))
    target = openRunId;
  if (target === null)
    return isAsked
      ? badInput('The file does not name its sweep. Specify the run (import --run RUN), or open the run in the app.')
      : unlinked({ warnings: [] });

  const view = await context.views.open(target);
  if (!view.ok) return view;
  if (view.value.run.deletedAt !== null) return notFound(`Run ${target} is in the bin. Restore it first.`);
  if (exported && view.value.study.study.name !== read.sweep!.study) {
    if (!isAsked) return unlinked(alone(anotherRun(target)));
    exported = false;
  }
  // A prediction that was exported from another run may look like a measured time, but is not one.
  const places = [...read.cases.keys()].filter((at) => exported || !read.predicted || isMeasured(read.cases[at]));
  const left = read.cases.length - places.length;
  if (places.length === 0) return conflict(`${leftOutText(left)} No other case was measured.`);
  const found = await linkDesigns(
    view.value,
    places.map((at) => read.cases[at]),
    read.devices && places.map((at) => read.devices![at]),
    read.deviceName,
    exported,
    parameters,
    fixed,
  );
  if (!found.ok) return isAsked ? found : unlinked(alone(sentenceCase(found.error.message)));
  const { cases, device, designs, namesDevice, warnings } = found.value;
  // Files for tuners have the predicted device as a parameter, which need not be the one that measured.
  const isUnnamed = read.deviceName === null && !(read.kind === 'times' && namesDevice);
  const isOwnName = read.deviceName === null || read.deviceName === device.id;
  const { studyId, devices } = view.value.run;
  return ok({
    source: { runId: target, deviceId: device.id },
    study: { studyId, study: view.value.study, devices },
    cases,
    devices: null,
    device: deviceNamed(isOwnName ? device.name : read.deviceName),
    linked: { runId: target, deviceId: device.id, designs },
    parameters,
    warnings: [
      ...warnings,
      ...(left > 0 ? [leftOutText(left)] : []),
      ...(isUnnamed
        ? [
            `The file does not name the device of the measurements. It is assumed to be ${device.name}, the device of its designs.`,
          ]
        : []),
    ],
  });
}

const leftOutText = (count: number): string =>
  `Lockstep exported this file. Configurations with predictions instead of measured times are left out: ${count.toLocaleString('en')}.`;
