import { changedPlan, type InputChange } from '../../../src-workers/advise/change.ts';
import { leastRegret, type Scenario } from '../../../src-workers/advise/robust.ts';
import {
  KERNEL_INPUTS,
  kernelInput,
  withKernelValue,
  type KernelNumber,
} from '../../../src-workers/domain/provenance.ts';
import { ok, type Result, unsupported, badInput, notFound, conflict } from '../../../src-workers/domain/result.ts';
import { describeDesign } from '../../../src-workers/predict/designs.ts';
import type { Robust } from '../../contract/advice.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import { validate } from '../../contract/parse.ts';
import { studySchema } from '../../contract/study.ts';
import type { Context } from '../context.ts';
import { deviceEvidence, tieBand } from '../evidence/tie-band.ts';
import { launchedText } from '../ranking/design-text.ts';
import type { RunView } from '../runs/run-view.ts';
import { adviseRun, type AdvisedDevice } from './prepare.ts';
import { exactParts } from './predictions.ts';

const MAX_DESIGNS = 10;
const MAX_SCENARIOS = 64;
const MAX_SPREAD = 100;

interface NamedScenario extends Scenario {
  readonly id: string;
  readonly label: string;
  readonly device: AdvisedDevice;
}

export async function robust(
  context: Context,
  { runIds, deviceIds, vary }: ProcedureArguments<'advice.robust'>,
): Promise<Result<Robust>> {
  const scenarios: NamedScenario[] = [];
  const known = new Set<string>();
  for (const runId of new Set(runIds)) {
    const view = await context.views.open(runId);
    if (!view.ok) return view;
    if (view.value.run.kept)
      return unsupported(
        `Run ${runId} has only its ${view.value.run.validCount} best designs, but another design may be the best for all scenarios. Specify a sweep of all designs.`,
      );
    const wrong = wrongChange(view.value, vary);
    if (wrong) return wrong;
    for (const device of adviseRun(view.value).devices) {
      known.add(device.device.id);
      if (deviceIds && !deviceIds.includes(device.device.id)) continue;
      scenarios.push(...(await makeScenarios(context, view.value, device, vary)));
      if (scenarios.length > MAX_SCENARIOS)
        return badInput(`There are more than ${MAX_SCENARIOS} scenarios. Specify fewer runs, devices or values.`);
    }
  }
  const unknown = deviceIds?.find((id) => !known.has(id));
  if (unknown !== undefined)
    return notFound(`The device "${unknown}" is in none of these runs. They have ${[...known].join(', ')}.`);
  const impossible = scenarios.find(({ timeMs }) => timeMs.every(Number.isNaN));
  if (impossible) return conflict(`No design is valid for ${impossible.label}. Leave out this scenario.`);
  const found = leastRegret(scenarios, MAX_DESIGNS);
  const text = (scenario: number, design: number): string => {
    const { device, axes } = scenarios[scenario];
    return launchedText(describeDesign(device.predictor(), design).design, axes, design);
  };
  return ok({
    scenarios: scenarios.map(({ id, label, device }, i) => ({
      id,
      label,
      bestMs: found.bestMs[i],
      best: text(i, found.best[i]),
      tieBand: tieBand(device.device),
      device: { id: device.device.id, name: device.device.name },
      evidence: deviceEvidence(device.device),
    })),
    designs: found.designs.map(({ designs, regret, worst, mean }) => ({
      design: describeDesign(scenarios[0].device.predictor(), designs[0]).design,
      text: text(0, designs[0]),
      worst,
      mean,
      regret,
      timeMs: designs.map((design, i) => scenarios[i].timeMs[design]),
    })),
    ownBest: found.ownBest,
    common: found.common,
  });
}

function wrongChange(
  { study: { study } }: RunView,
  vary: ProcedureArguments<'advice.robust'>['vary'],
): Result<never> | null {
  for (const { input, values } of vary)
    for (const value of values) {
      if (input === 'workload.spread') {
        if (value > 0 && value <= MAX_SPREAD) continue;
        return badInput(`workload.spread must be a number above 0 and at most ${MAX_SPREAD}, not ${value}.`);
      }
      const kernel = kernelInput(input);
      const changed = kernel
        ? { ...study, kernel: withKernelValue(study.kernel, kernel.field as KernelNumber, value) }
        : { ...study, workload: { ...study.workload, units: value } };
      const checked = validate(studySchema, changed, 'vary');
      if (!checked.ok) return checked;
    }
  return null;
}

async function makeScenarios(
  { pool }: Context,
  view: RunView,
  device: AdvisedDevice,
  vary: ProcedureArguments<'advice.robust'>['vary'],
): Promise<readonly NamedScenario[]> {
  const { plan, size, firstDesign } = device;
  const base: NamedScenario = {
    id: `${view.run.id}:${device.device.id}`,
    label: `run ${view.run.id} (${view.study.study.name}) on ${device.device.name}`,
    device,
    axes: plan.axes,
    timeMs: view.ranking.columns.timeMs.subarray(firstDesign, firstDesign + size),
  };
  const changes = vary.flatMap(({ input, values }) => values.map((value): InputChange => ({ input, value })));
  if (changes.length === 0) return [base];
  return Promise.all(
    changes.map(async (change) => {
      const timeMs = new Float64Array(size);
      const changed = changedPlan(plan, change);
      const parts = exactParts(device).map(async (range) => {
        const { chunks } = await pool.run('predict', { plan: changed, ranges: [range] });
        timeMs.set(chunks[0].timeMs, range.first);
      });
      await Promise.all(parts);
      const name = `${inputLabel(change.input)} ${change.value}`;
      return { ...base, id: `${base.id}:${change.input}=${change.value}`, label: `${base.label}, ${name}`, timeMs };
    }),
  );
}

export function inputLabel(input: InputChange['input']): string {
  if (input === 'workload.units') return 'Units';
  if (input === 'workload.spread') return 'Spread of the lengths';
  return KERNEL_INPUTS[kernelInput(input)!.field as KernelNumber].label;
}
