import type { Device } from '../../../src-workers/domain/device.ts';
import type { InputFact } from '../../../src-workers/domain/provenance.ts';
import { ok, type Result } from '../../../src-workers/domain/result.ts';
import { type SpaceAxes, spaceSize } from '../../../src-workers/domain/space.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import type { CompactOrder } from '../../../src-workers/predict/ordered.ts';
import type { SweepPlan } from '../../../src-workers/predict/plan.ts';
import type { CompactNumbers } from '../../../src-workers/numeric/compact.ts';
import { getOrMake, keptWith } from '../../../src-workers/numeric/kept.ts';
import { createPredictor } from '../../../src-workers/predict/predictor.ts';
import type { Predictor } from '../../../src-workers/predict/tables.ts';
import type { TieTable } from '../../../src-workers/sweep/ties.ts';
import type { FastestMeasured } from '../../contract/advice.ts';
import type { RankRow } from '../../contract/api.ts';
import type { Study } from '../../contract/study.ts';
import type { Context } from '../context.ts';
import { tieTableOf } from '../evidence/tie-band.ts';
import { fastestMeasured } from '../ranking/recommended.ts';
import { noDevice } from '../ranking/rows.ts';
import type { RunView } from '../runs/run-view.ts';
import { atMiddle } from '../../../src-workers/advise/assumed.ts';
import { listInputs } from '../studies/inputs.ts';
import { studyAxes, sweepPlan, tooLarge } from '../studies/plan.ts';
import { planLengths, sha256, sharedLaw } from '../studies/workloads.ts';
import { studyDevices, wrongBound } from '../sweeps/sweeps.ts';

export interface AdvisedDevice {
  readonly device: Device;
  readonly plan: SweepPlan;
  readonly size: number;
  readonly firstDesign: number;
  /** Identifies the units of the plan. In a worker, plans with the same key share depth laws and launches. */
  readonly key: string;
  readonly inputs: string;
  readonly predictor: () => Predictor;
  readonly ties: TieTable;
}

export interface AdvisedStudy {
  readonly study: Study;
  readonly axes: SpaceAxes;
  readonly devices: readonly AdvisedDevice[];
  facts(device: Device, implementation?: string): readonly InputFact[];
  /** The fastest measured design of a run, if it is not `row`. */
  readonly measuredBeside?: (row: RankRow) => FastestMeasured | null;
}

export async function adviseStudy(
  { catalogue, lengths }: Context,
  asked: Study,
  folder: string | null,
): Promise<Result<AdvisedStudy>> {
  const wrong = wrongBound(asked);
  if (wrong) return wrong;
  const devices = await studyDevices(catalogue, asked);
  if (!devices.ok) return devices;
  const study = atMiddle(asked, devices.value);
  const axes = studyAxes(study, devices.value);
  if (!axes.ok) return axes;
  const refused = tooLarge(axes.value);
  if (refused) return refused;
  const resolved = await lengths.resolve(study, folder);
  if (!resolved.ok) return resolved;
  const { law, order } = resolved.value;
  return ok(advised(study, axes.value, law, order));
}

export function adviseRun(view: RunView): AdvisedStudy {
  const { plan } = view.predictor;
  const study = advised(view.study.study, plan.axes, plan.law, plan.ordered);
  return { ...study, measuredBeside: (row) => fastestMeasured(view, row) };
}

function advised(study: Study, axes: SpaceAxes, law: LengthLaw, order: CompactOrder | null): AdvisedStudy {
  const size = spaceSize(axes) / axes.devices.length;
  const work = lawDigest(law);
  const { units } = study.workload;
  const { name: _name, origins: _origins, ...kernel } = study.kernel;
  const given = order?.given ? orderDigest(order) : null;
  const key = sha256(JSON.stringify({ work, given, units, width: study.workload.width }));
  const facts = new Map<string, readonly InputFact[]>();
  const { devices: _devices, implementations, ...values } = axes;
  return {
    study,
    axes,
    devices: axes.devices.map((device, at) => {
      const own: SpaceAxes = { ...axes, devices: [device] };
      const { constraints } = study;
      const pipeline = study.pipeline[device.id];
      const cut = device.kind === 'cpu' ? (order ? orderDigest(order) : study.seed) : null;
      const inputs = sha256(JSON.stringify({ key, kernel, implementations, device, constraints, pipeline, cut }));
      const id = `advice-${sha256(JSON.stringify({ inputs, values }))}`;
      const plan = sweepPlan(
        id,
        study,
        own,
        inShared(law),
        device.kind === 'cpu' || given !== null ? ordered(study, own, law, order) : null,
      );
      let predictor: Predictor | null = null;
      return {
        device,
        plan,
        size,
        firstDesign: at * size,
        key,
        inputs,
        predictor: () => (predictor ??= createPredictor(plan)),
        ties: tieTableOf(own),
      };
    }),
    facts: (device, implementation) =>
      getOrMake(facts, `${device.id} ${implementation}`, () => listInputs(study, axes, device, implementation)),
  };
}

const digestOf = (...arrays: readonly CompactNumbers[]): string =>
  sha256(
    Buffer.concat(arrays.map(({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength))),
  );
export const lawDigest = keptWith((law: LengthLaw) => digestOf(law.support, law.probability));
const orderDigest = keptWith((order: CompactOrder) => digestOf(order.iterations));
const inShared = keptWith(sharedLaw);

const orders = new WeakMap<LengthLaw, { readonly key: string; readonly order: CompactOrder | null }>();
function ordered(study: Study, axes: SpaceAxes, law: LengthLaw, known: CompactOrder | null): CompactOrder | null {
  if (known?.iterations.buffer instanceof SharedArrayBuffer) return known;
  const key = known ? 'known' : `${study.workload.units}|${study.seed}`;
  const last = orders.get(law);
  if (last?.key === key) return last.order;
  const order = planLengths(study, axes, law, known);
  orders.set(law, { key, order });
  return order;
}

export function advisedDevices(
  { devices }: AdvisedStudy,
  deviceId: string | undefined,
): Result<readonly AdvisedDevice[]> {
  if (deviceId === undefined) return ok(devices);
  const found = devices.find(({ device }) => device.id === deviceId);
  return found
    ? ok([found])
    : noDevice(
        deviceId,
        'the study',
        devices.map(({ device }) => device.id),
      );
}
