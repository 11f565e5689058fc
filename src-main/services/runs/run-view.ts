import type { RunRecord } from '../../../db/records.ts';
import type { StoreClient } from '../../../db/store-api.ts';
import type { Device } from '../../../src-workers/domain/device.ts';
import { fail, ok, type Result, unsupported } from '../../../src-workers/domain/result.ts';
import { kept } from '../../../src-workers/numeric/kept.ts';
import type { SweepPlan } from '../../../src-workers/predict/plan.ts';
import { createPredictor } from '../../../src-workers/predict/predictor.ts';
import type { Predictor } from '../../../src-workers/predict/tables.ts';
import { createRanking, type Ranking } from '../../../src-workers/sweep/ranking.ts';
import type { TieTable } from '../../../src-workers/sweep/ties.ts';
import { tieTableOf } from '../evidence/tie-band.ts';
import {
  createFoundOrders,
  loadMeasuredDesigns,
  loadSimulatedDesigns,
  type Findings,
  type FoundOrders,
} from '../ranking/fidelity.ts';
import { studyAxes, sweepPlan } from '../studies/plan.ts';
import { locatedStudy, type RunStudy } from '../studies/studies.ts';
import { kindText } from './runs.ts';
import { isOrderAware } from '../version.ts';
import { planLengths, unpackLengths } from '../studies/workloads.ts';

/** A sweep, opened for reading. Its saved columns are in memory, and its predictor computes further values. */
export interface RunView extends Found {
  readonly run: RunRecord;
  readonly study: RunStudy;
  readonly devices: readonly Device[];
  readonly ranking: Ranking;
  readonly predictor: Predictor;
  readonly ties: TieTable;
}

interface Found extends Findings {
  readonly orders: FoundOrders;
}

/** The number of runs that stay open. Each takes about 45 bytes per design. */
const MAX_OPEN = 3;

export function createRunViews(store: StoreClient) {
  const open = new Map<number, Promise<Result<Predictions>>>();
  const findings = new Map<number, Promise<Result<Found>>>();
  const orders = new Map<number, ReturnType<typeof createFoundOrders>>();
  const loadRun = async (runId: number): Promise<Result<Predictions>> => {
    const view = await loadPredictions(store, runId);
    if (!view.ok || view.value.run.state === 'running') open.delete(runId);
    return view;
  };
  const openRun = async (runId: number): Promise<Result<RunView>> => {
    const predictions = await kept(open, MAX_OPEN, runId, () => loadRun(runId));
    if (!predictions.ok) return predictions;
    const found = await kept(findings, MAX_OPEN, runId, async () => {
      let known = orders.get(runId);
      if (!known) orders.set(runId, (known = createFoundOrders()));
      const loaded = await loadFindings(store, runId, predictions.value.devices);
      return loaded.ok ? ok({ ...loaded.value, orders: known.add(loaded.value) }) : loaded;
    });
    if (!found.ok) findings.delete(runId);
    return found.ok ? ok({ ...predictions.value, ...found.value }) : found;
  };
  return {
    open: openRun,
    async read<T>(runId: number, read: (view: RunView) => Result<T> | Promise<Result<T>>): Promise<Result<T>> {
      const view = await openRun(runId);
      return view.ok ? read(view.value) : view;
    },
    drop: (runId: number): void => void open.delete(runId),
    dropFindings: (): void => findings.clear(),
  };
}

export type RunViews = ReturnType<typeof createRunViews>;

export function runStudy(run: RunRecord): Result<RunStudy> {
  const located = locatedStudy(run.study, `run ${run.id}`);
  if (!located.ok) return located;
  const { workloadHash } = run.study as Partial<RunStudy>;
  return ok({ ...located.value, workloadHash: typeof workloadHash === 'string' ? workloadHash : '' });
}

export async function runPlan(
  store: StoreClient,
  run: RunRecord,
): Promise<Result<{ readonly study: RunStudy; readonly plan: SweepPlan }>> {
  const study = runStudy(run);
  if (!study.ok) return study;
  const axes = studyAxes(study.value.study, run.devices);
  if (!axes.ok) return axes;
  const workload = await store.getWorkload(study.value.workloadHash);
  if (!workload.ok) return workload;
  if (!workload.value) return fail('storage', `The workload of run ${run.id} is missing from the database.`);
  const { law, provenance } = workload.value;
  const known = await unpackLengths(provenance);
  // Earlier versions of the prediction treated the units of GPUs as independent draws, whatever their order was.
  const order = known && { ...known, given: known.given && isOrderAware(run.modelVersions.prediction) };
  const ordered = planLengths(study.value.study, axes.value, law, order);
  const plan = sweepPlan(`run-${run.id}`, study.value.study, axes.value, law, ordered);
  return ok({ study: study.value, plan });
}

async function loadFindings(store: StoreClient, runId: number, devices: readonly Device[]): Promise<Result<Findings>> {
  const simulated = await loadSimulatedDesigns(store, runId);
  if (!simulated.ok) return simulated;
  const measured = await loadMeasuredDesigns(store, runId, devices);
  return measured.ok ? ok({ simulated: simulated.value, measured: measured.value }) : measured;
}

type Predictions = Omit<RunView, keyof Found>;

async function loadPredictions(store: StoreClient, runId: number): Promise<Result<Predictions>> {
  const run = await store.getRun(runId);
  if (!run.ok) return run;
  if (run.value.kind !== 'sweep') return unsupported(`Run ${runId} is ${kindText(run.value)}. Specify a sweep.`);
  const planned = await runPlan(store, run.value);
  if (!planned.ok) return planned;
  const { study, plan } = planned.value;
  const columns = await store.loadRunColumns(runId);
  if (!columns.ok) return columns;
  const ranking = createRanking(plan.axes, columns.value, columns.value.designs);
  return ok({
    run: run.value,
    study,
    devices: run.value.devices,
    ranking,
    predictor: createPredictor(plan),
    ties: tieTableOf(plan.axes),
  });
}
