import type { RunRecord } from '../../../db/records.ts';
import { ALTERNATING, type BenchPlan, type BenchRecord, type PlanLine } from '../../../src-workers/domain/benchmark.ts';
import {
  errorText,
  fail,
  ok,
  type Failure,
  type Result,
  badInput,
  notFound,
  unsupported,
  conflict,
} from '../../../src-workers/domain/result.ts';
import { parsePlanLine } from '../../../src-workers/parse/bench-records.ts';
import type { MeasuringRequest, Bundle } from '../../contract/measuring.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import type { RunnableDesigns } from '../../contract/runnable.ts';
import {
  chosenDesigns,
  designCases,
  measuredDeviceId,
  measuredUnits,
  restoredPlan,
  spreadOver,
  standInOf,
} from './plans.ts';
import { checkCommands, needsLengths } from '../../../src-workers/bench/program/command-line.ts';
import { HIP_GROUP_WIDTH } from '../../../src-workers/bench/cuda/hip.ts';
import { keptPlan } from '../../../src-workers/bench/plan-files.ts';
import { tarArchive } from '../../../src-workers/bench/cuda/tar.ts';
import { checkImplemented, kernelAbility, kernelAgain, kernelBackend, kernelTask } from './own-kernel.ts';
import { probeMeasurement } from './probe.ts';
import { runOnPage, type PageRun } from './page-run.ts';
import { runnableDesigns } from './runnable.ts';
import { openSession, type MeasuringSession } from './session.ts';
import { suiteCases } from './suites.ts';
import {
  checkLimits,
  checkMayRunPrograms,
  COMPILE_LIMIT_MS,
  EMULATION_TARGET,
  isCallerTarget,
  isOpencl,
  measureOn,
  PAGE_TARGET,
  PROGRAM_TARGET,
  targetAbility,
  targetBackend,
  type Targets,
} from './targets.ts';
import type { Context } from '../context.ts';
import { Turns } from '../turns.ts';
import { thisMachine } from '../machine/machine.ts';
import { measuredRunStudy, type MeasuredRunStudy } from './records.ts';
import { runStudy, type RunView } from '../runs/run-view.ts';
import type { RunHandle } from '../runs/running.ts';
import type { RunStudy } from '../studies/studies.ts';
import { APP_VERSION, MODEL_VERSION } from '../version.ts';

export interface BenchRunStudy extends Partial<RunStudy>, MeasuredRunStudy {
  readonly bench: PlanLine;
}

/** The time limit until a program mentions its first case, ms. It first compiles and computes the correct results. */
const START_LIMIT_MS = 300_000;
/** A measuring program counts as hung if it ends no case until this long after the limit of the case, ms. */
const graceMs = (limitMs: number): number => Math.max(2000, limitMs / 2);
const MAX_TIMER_MS = 2 ** 31 - 1;
/** A run ends after this many programs that hung, if nothing was measured in between. */
const MAX_HANGS = 3;
/** A run ends if its agent stops answering this many times and nothing was measured in between. */
const MAX_LOSSES = 5;

interface PlannedMeasurement {
  readonly plan: BenchPlan;
  readonly digest: string | null;
  readonly request: MeasuringRequest;
  readonly view: RunView | null;
}

function groupWidth(view: RunView | null, deviceId: string | undefined): number | null {
  const gpus = view?.devices.filter((device) => device.kind === 'gpu');
  return gpus?.find(({ id }) => deviceId === undefined || id === deviceId)?.threadGroupWidth ?? null;
}

/** @param packed whether another machine will measure, so that this machine does not look for the device */
async function planMeasurement(
  context: Context,
  targets: Targets,
  asked: ProcedureArguments<'bench.start'>,
  view: RunView | null,
  packed: boolean,
): Promise<Result<PlannedMeasurement>> {
  const { target, limits, program, kernel, units: wantedUnits, spreadDesigns = Infinity, probe, ...input } = asked;
  const ofTarget = targetBackend(target);
  if (!ofTarget.ok) return ofTarget;
  if (kernel && program) return badInput('Specify a kernel or a program, not both.', { field: 'kernel' });
  if (kernel && input.suite !== 'designs')
    return badInput('A suite measures the device itself, not a kernel. Specify a kernel without a suite.', {
      field: 'kernel',
    });
  const backend = kernel ? kernelBackend(context, target, ofTarget.value, kernel) : ofTarget;
  if (!backend.ok) return backend;
  const own = kernel ? ok(null) : checkProgram(context, target, program);
  if (!own.ok) return own;
  const { suite, repeats, warmUps, caseTimeLimitMs } = input;
  const shared = {
    format: 'lockstep-bench',
    version: 1,
    backend: backend.value,
    repeats,
    warmUps,
    caseTimeLimitMs,
  } as const;
  const cuda = backend.value === 'cuda' || backend.value === 'hip';
  if (input.cache === 'flush' && !cuda)
    return unsupported(
      kernel
        ? 'The cache cannot be flushed for your own kernel. Leave out "cache".'
        : `Caches can be flushed only on CUDA and HIP devices, not on ${target}. Leave out "cache".`,
      { field: 'cache' },
    );
  const { cache = 'warm' } = input;
  const isHip = backend.value === 'hip';
  const answering = (isHip && !packed) || isOpencl(target) ? await targets.device(target) : null;
  if ((isHip && !packed && !answering?.threadGroupWidth) || (isOpencl(target) && !answering))
    return notFound(`${target} does not answer. lockstep bench --list says why.`);
  const packedWidth = packed ? (groupWidth(view, input.deviceId) ?? HIP_GROUP_WIDTH) : null;
  const threadGroupWidth = answering?.threadGroupWidth ?? packedWidth;
  const onCuda = cuda && { cache };
  const alternating = cuda && { alternating: ALTERNATING, ...(isHip && threadGroupWidth && { threadGroupWidth }) };
  const common = { target, backend: backend.value, suite, repeats, warmUps, ...onCuda };
  if (suite !== 'designs') {
    const device = backend.value === 'webgpu' ? await targets.device(target) : answering;
    const cases = suiteCases(suite, backend.value, device);
    if (!cases.ok) return cases;
    const plan: BenchPlan = { ...shared, ...onCuda, ...alternating, cases: cases.value, seed: 1, workload: null };
    const request = { ...common, sourceRunId: null, deviceId: null, cases: cases.value.length };
    return ok({ plan, digest: null, request, view: null });
  }
  if (!view) return badInput('Specify the sweep whose designs are to be measured (runId).');
  const deviceId = measuredDeviceId(view, ofTarget.value, input.deviceId, kernel !== undefined);
  if (!deviceId.ok) return deviceId;
  const known = checkLimits(target, limits);
  if (!known.ok) return known;
  const task = kernel ? await kernelTask(kernel, view, deviceId.value, target) : ok(null);
  if (!task.ok) return task;
  const implemented = task.value
    ? checkImplemented(view, deviceId.value, task.value.manifest, input.designs)
    : ok(null);
  if (!implemented.ok) return implemented;
  const chosen = await chosenDesigns(view, deviceId.value, input, async () => {
    const ability = await targetAbility(targets, target, ofTarget.value, {
      ...limits,
      ...(isHip && { threadsPerUnit: threadGroupWidth }),
    });
    return task.value ? kernelAbility(ability) : ability;
  });
  if (!chosen.ok) return chosen;
  const { designs, leftOut } = chosen.value;
  const seed = view.run.seed ?? 0;
  const ofUnits = view.study.study.workload.units;
  const part = wantedUnits !== undefined && wantedUnits < ofUnits ? wantedUnits : null;
  if (part !== null && (program || kernel || backend.value === 'cpu'))
    return unsupported(
      `${program ? 'A program' : kernel ? 'A kernel' : 'A CPU'} is always measured on all units. Remove the number of units.`,
      { field: 'units' },
    );
  const standIn = kernel ? null : standInOf(view.study.study.kernel, backend.value);
  const possible = await designCases(context, view, designs, standIn, part);
  if (!possible.ok) return possible;
  const cases = spreadOver(possible.value, spreadDesigns);
  const units =
    isCallerTarget(target) || (program && !needsLengths(program))
      ? ok({ workload: null, digest: null })
      : await measuredUnits(context, view.study, program || kernel ? 'program' : backend.value, seed, part ?? ofUnits);
  if (!units.ok) return units;
  const { workload, digest } = units.value;
  return ok({
    plan: {
      ...shared,
      ...onCuda,
      ...alternating,
      cases,
      seed,
      workload,
      ...(backend.value === 'program' &&
        !isCallerTarget(target) && {
          program: {
            ...(program ?? KERNEL_PROGRAM),
            units: ofUnits,
            deviceId: deviceId.value,
            reference: null,
            probe: false,
            threadGroupWidth: groupWidth(view, deviceId.value),
          },
        }),
      ...(task.value && { kernel: task.value }),
    },
    digest,
    request: {
      ...common,
      sourceRunId: view.run.id,
      deviceId: deviceId.value,
      cases: cases.length,
      ...(leftOut && { leftOut }),
      ...(part !== null && { part: { units: part, ofUnits, designsLeftOut: designs.length - possible.value.length } }),
      ...(probe && { probe }),
      ...(program && { program: { exec: program.exec, build: program.build } }),
      ...(task.value && { kernel: { file: task.value.file, name: task.value.manifest.name } }),
    },
    view,
  });
}

/** One of our own programs measures a CUDA, HIP or OpenCL kernel, so these command lines are placeholders. */
const KERNEL_PROGRAM = { exec: '{binary}', build: null, folder: '.' };

function checkProgram(
  context: Context,
  target: string,
  program: ProcedureArguments<'bench.start'>['program'],
): Result<null> {
  if ((target === PROGRAM_TARGET) !== (program !== undefined))
    return badInput(
      `Your own program runs on the target "${PROGRAM_TARGET}", and only there. Specify both or neither.`,
      { field: 'program' },
    );
  if (target === EMULATION_TARGET)
    return badInput('The emulation checks the results of your own kernel. Specify its manifest (--kernel).', { field: 'kernel' }); // prettier-ignore
  if (isOpencl(target))
    return badInput(`${target} measures your own kernel. Specify its manifest (--kernel).`, { field: 'kernel' }); // prettier-ignore
  if (!program) return ok(null);
  const may = checkMayRunPrograms(context, 'lockstep bench RUN --exec COMMAND');
  return may.ok ? checkCommands(program) : may;
}

function planSource({ view, request }: PlannedMeasurement): PlanLine['source'] {
  if (!view || request.deviceId === null) return null;
  return { runId: view.run.id, study: view.study.study.name, seed: view.run.seed ?? 0, deviceId: request.deviceId };
}

export function openBenchmarks(context: Context, targets: Targets, pageSilenceMs: number) {
  const pages = new Map<number, PageRun>();
  const probes = new Turns();

  const execute = (session: MeasuringSession, request: MeasuringRequest): RunHandle => {
    const ofCaller = isCallerTarget(request.target);
    if (request.target !== PAGE_TARGET && !ofCaller) return runOnProgram(context, session, request);
    const silenceMs = ofCaller ? null : pageSilenceMs;
    const page = runOnPage(session, silenceMs, () => context.emit('bench.ping', { runId: session.run.id }));
    pages.set(session.run.id, page);
    void page.finished.finally(() => pages.delete(session.run.id));
    return page;
  };
  const alone = oneAtATime(context);
  const runAlone = (begin: () => Promise<Result<RunHandle>>): Promise<Result<RunHandle>> =>
    alone(begin, ({ runId }) => runId);
  const pageOf = (runId: number): Result<PageRun> => {
    const page = pages.get(runId);
    if (page) return ok(page);
    return conflict(
      `Run ${runId} is not being measured by a page or a caller. Specify a run with the target ${PAGE_TARGET} or caller:NAME.`,
    );
  };

  const plan = async (
    input: ProcedureArguments<'bench.start'>,
    packed = false,
  ): Promise<Result<PlannedMeasurement>> => {
    let view: RunView | null = null;
    if (input.suite === 'designs' && input.runId !== undefined) {
      const opened = await context.views.open(input.runId);
      if (!opened.ok) return opened;
      view = opened.value;
    }
    return planMeasurement(context, targets, input, view, packed);
  };

  return {
    async runnable(input: ProcedureArguments<'bench.runnable'>): Promise<Result<RunnableDesigns>> {
      const { target, limits, runId, deviceId: named } = input;
      const backend = targetBackend(target);
      if (!backend.ok) return backend;
      const view = await context.views.open(runId);
      if (!view.ok) return view;
      const deviceId = measuredDeviceId(view.value, backend.value, named);
      if (!deviceId.ok) return deviceId;
      const known = checkLimits(target, limits);
      if (!known.ok) return known;
      const ability = await targetAbility(targets, target, backend.value, limits);
      const among = runnableDesigns(view.value, deviceId.value, ability);
      return among.ok ? ok(among.value.found) : among;
    },
    async bundle(asked: ProcedureArguments<'bench.bundle'>): Promise<Result<Bundle>> {
      const { archive, hip, slurmTasks, ...input } = asked;
      const planned = await plan({ target: hip ? 'hip:0' : 'cuda:0', ...input }, true);
      return planned.ok ? packMeasurement(context, planned.value, { archive, slurmTasks }) : planned;
    },
    probe: ({ client, ...input }: ProcedureArguments<'bench.probe'>, gone?: AbortSignal) =>
      alone(
        () => probes.take(client, [gone, context.closing], (signal) => probeMeasurement(context, input, plan, signal)),
        () => null,
      ),
    cancelProbe: (client: string) => probes.cancel(client),
    start: (input: ProcedureArguments<'bench.start'>) =>
      runAlone(async () => {
        const planned = await plan(input);
        if (!planned.ok) return planned;
        if (context.closing.aborted) return fail('cancelled', 'Lockstep is closing, so nothing was started.');
        const run = await createMeasuredRun(context, planned.value);
        if (!run.ok) return run;
        const { plan: wanted, request } = planned.value;
        return ok(execute(openSession(context, run.value, wanted, request, []), request));
      }),
    resume: (run: RunRecord) =>
      runAlone(async () => {
        const again = await reopenSession(context, run);
        return again.ok ? ok(execute(again.value.session, again.value.request)) : again;
      }),
    plan(runId: number): Result<BenchPlan> {
      const page = pageOf(runId);
      return page.ok ? ok(page.value.plan()) : page;
    },
    async record(runId: number, records: readonly BenchRecord[]): Promise<Result<null>> {
      const page = pageOf(runId);
      return page.ok ? page.value.record(records) : page;
    },
  };
}

export type Benchmarks = ReturnType<typeof openBenchmarks>;

function oneAtATime(context: Context) {
  let busy: number | 'another run' | null = null;
  return async <T>(begin: () => Promise<Result<T>>, runOf: (begun: T) => number | null): Promise<Result<T>> => {
    // A run leaves `running` before its end is announced, so that listeners can start the next one at once.
    if (typeof busy === 'number' && !context.running.get(busy)) busy = null;
    if (busy !== null)
      return conflict(
        `Only one measurement can run at a time, and ${typeof busy === 'number' ? `run ${busy}` : busy} is being measured. Wait for its end, or cancel it.`,
      );
    busy = 'another run';
    let begun: Result<T> | null = null;
    try {
      begun = await begin();
    } finally {
      busy = begun?.ok ? runOf(begun.value) : null;
    }
    return begun;
  };
}

async function packMeasurement(
  context: Context,
  planned: PlannedMeasurement,
  { archive, slurmTasks }: { readonly archive: boolean; readonly slurmTasks: number | undefined },
) {
  const files = await context.pool.run('bundle', {
    plan: planned.plan,
    sourcesFolder: context.programs.cudaFolder,
    source: planSource(planned),
    ...(slurmTasks !== undefined && { slurmTasks: Math.min(slurmTasks, planned.plan.cases.length) }),
  });
  const what = planned.view ? `run-${planned.view.run.id}` : planned.request.suite;
  if (!files.ok) return files;
  const { cases, leftOut = null } = planned.request;
  const bundle = {
    fileName: `lockstep-measure-${what}.tar`,
    cases,
    leftOut,
    packed: files.value.map(({ path }) => path),
    bytes: files.value.reduce((sum, file) => sum + file.bytes.length, 0),
  };
  if (!archive) return ok({ ...bundle, files: files.value });
  const bytes = tarArchive(files.value);
  return bytes.ok ? ok({ ...bundle, files: [{ path: bundle.fileName, bytes: bytes.value }] }) : bytes;
}

function createMeasuredRun(context: Context, planned: PlannedMeasurement): Promise<Result<RunRecord>> {
  const { plan: wanted, digest, request, view } = planned;
  const study: BenchRunStudy = {
    ...view?.study,
    measuring: { request, warnings: [] },
    bench: keptPlan(wanted, digest, planSource(planned)),
  };
  return context.store.createRun({
    kind: 'bench',
    name: view?.run.name ?? `${request.suite} on ${request.target}`,
    studyId: view?.run.studyId ?? null,
    study,
    appVersion: APP_VERSION,
    modelVersions: view ? { prediction: view.run.modelVersions.prediction ?? MODEL_VERSION } : {},
    seed: wanted.seed,
    machine: thisMachine(),
    sourceRunId: request.sourceRunId,
    enumeratedCount: wanted.cases.length,
    devices: view ? view.devices.filter((device) => device.id === request.deviceId) : [],
    axes: null,
  });
}

async function reopenSession(context: Context, run: RunRecord) {
  const asked = measuredRunStudy(run);
  if (!asked.ok) return asked;
  const line = parsePlanLine((run.study as Partial<BenchRunStudy>).bench);
  if (!line.ok) return fail('storage', `Run ${run.id} is not a measurement that this version can resume.`);
  const { target } = asked.value.request;
  if (isCallerTarget(target))
    return unsupported(
      `Run ${run.id} was measured by a function of another program (${target}). Call tune there again to measure the other designs.`,
    );
  const { program, kernel } = line.value.plan;
  const may = program || kernel ? checkMayRunPrograms(context, `lockstep runs resume ${run.id}`) : ok(null);
  if (!may.ok) return may;
  const read = kernel ? await kernelAgain(kernel) : ok(null);
  if (!read.ok) return read;
  const study = line.value.plan.workload ? runStudy(run) : ok(null);
  if (!study.ok) return study;
  const again = await restoredPlan(context, line.value, study.value, run.seed ?? 0);
  if (!again.ok) return again;
  const before = await context.store.listMeasurements(run.id);
  if (!before.ok) return before;
  const { request } = asked.value;
  const plan = { ...again.value, ...(read.value && { kernel: read.value }) };
  return ok({ session: openSession(context, run, plan, request, before.value), request });
}

function runOnProgram(context: Context, session: MeasuringSession, request: MeasuringRequest): RunHandle {
  const controller = new AbortController();
  const signal = AbortSignal.any([controller.signal, context.closing]);
  const measure = async (): Promise<Result<RunRecord>> => {
    let hangs = 0;
    let losses = 0;
    for (;;) {
      const before = session.state().saved;
      const attempt = await measureOnce(context, session, request.target, signal);
      if (attempt.kind === 'lost') {
        // What the agent has measured is saved. The next attempt waits until the agent is back.
        losses = session.state().saved > before ? 1 : losses + 1;
        if (losses < MAX_LOSSES) continue;
        const message = `The agent of ${request.target} stopped answering ${losses} times without a result. Measure the other cases: lockstep runs resume ${session.run.id}`;
        return session.finish({ code: 'unsupported', message });
      }
      if (attempt.kind !== 'hung') return session.finish(attempt.kind === 'failed' ? attempt.error : attempt.kind);
      hangs = session.state().saved > before + 1 ? 1 : hangs + 1;
      if (hangs >= MAX_HANGS)
        return session.finish({
          code: 'unsupported',
          message: `${hangs} cases in a row took longer than their limit, the last of them ${attempt.label}. Measure the other cases: lockstep runs resume ${session.run.id}`,
        });
      if (session.remaining().cases.length === 0) return session.finish('complete');
    }
  };
  const finished = measure().catch((error: unknown) =>
    // Even if this code has a bug, the run must end and the engine must continue.
    session.finish({ code: 'internal', message: errorText(error) }),
  );
  return { runId: session.run.id, finished, cancel: () => controller.abort() };
}

type Attempt =
  | { readonly kind: 'complete' | 'cancelled' | 'lost' }
  | { readonly kind: 'failed'; readonly error: Failure }
  | { readonly kind: 'hung'; readonly label: string };

const failed = (error: Failure): Attempt => ({ kind: 'failed', error });

async function measureOnce(
  context: Context,
  session: MeasuringSession,
  target: string,
  signal: AbortSignal,
): Promise<Attempt> {
  const plan = session.remaining();
  if (plan.cases.length === 0) return { kind: 'complete' };
  let refused: Failure | null = null;
  const caseMs = plan.caseTimeLimitMs + graceMs(plan.caseTimeLimitMs);
  // The runner of a user's program enforces the limits of each case and build, so only the total is limited here.
  const totalMs = Math.min(
    MAX_TIMER_MS,
    START_LIMIT_MS + plan.cases.length * (caseMs + (plan.program ? COMPILE_LIMIT_MS : 0)),
  );
  const limits = plan.program
    ? { totalMs, startMs: totalMs, caseMs: totalMs }
    : { totalMs, startMs: START_LIMIT_MS, caseMs };
  const ran = await measureOn(context, session.run.id, target, plan, limits, signal, async (record) => {
    const taken = await session.take(record);
    if (!taken.ok) refused = taken.error;
    return taken;
  });
  if (!ran.ok) return failed(ran.error);
  const end = ran.value;
  const state = session.state();
  if (refused) return failed(refused);
  const settled = await session.programEnded();
  if (!settled.ok) return failed(settled.error);
  if (state.done) return { kind: 'complete' };
  // A function, because one more case may be saved as failed before the text is used.
  const kept = (): string =>
    `${session.state().saved} of ${state.total} cases are saved; lockstep runs resume ${session.run.id} measures the others.`;
  if (state.lost !== null) {
    if (!state.answered) return failed({ code: 'unsupported', message: `${state.lost}. ${kept()}` });
    const gone =
      state.begun && state.failed === null ? await session.giveUp(`the device was lost: ${state.lost}`) : ok(null);
    if (!gone.ok) return failed(gone.error);
    const where = gone.value === null ? '' : ` (while measuring ${gone.value})`;
    return failed({ code: 'unsupported', message: `The device was lost: ${state.lost}${where}. ${kept()}` });
  }
  switch (end.kind) {
    case 'cancelled':
    case 'lost':
      return { kind: end.kind };
    case 'hung':
      return { kind: 'hung', label: state.failed ?? '' };
    case 'ended':
      return failed({ code: 'internal', message: `The measuring program ended before it had finished. ${kept()}` });
    case 'refused':
      return failed({ code: 'bad-input', message: `${end.message.replace(/\.$/, '')}. ${kept()}` });
    case 'crashed': {
      // A case that made the program crash may do so again. It counts as failed, so that a resumed run skips it.
      const at = state.begun ? await session.giveUp(`the measuring program ${end.message}`) : ok(null);
      if (!at.ok) return failed(at.error);
      const where = at.value === null ? '' : ` (while measuring ${at.value})`;
      return failed({ code: 'unsupported', message: `The measuring program ${end.message}${where}. ${kept()}` });
    }
    case 'late': {
      const seconds = `${Number((end.limitMs / 1000).toPrecision(3))} s`;
      if (end.whole || !state.begun)
        return failed({
          code: 'unsupported',
          message: `The measuring program ${end.whole ? 'did not finish' : 'did not begin to measure'} within ${seconds} and was stopped. ${kept()}`,
        });
      const at = await session.giveUp(`There was no result within ${seconds}, so the case was abandoned.`);
      return at.ok ? { kind: 'hung', label: at.value ?? '' } : failed(at.error);
    }
  }
}
