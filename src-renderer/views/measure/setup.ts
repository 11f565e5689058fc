import type { RunSummary } from '../../../src-main/contract/api.ts';
import {
  BENCH_SUITES,
  type BenchSuite,
  type MeasuringDetail,
  type MeasuringTarget,
} from '../../../src-main/contract/measuring.ts';
import { roughDuration } from '../../../src-main/contract/probe.ts';
import type { ProcedureInput } from '../../../src-main/contract/procedures.ts';
import { findAbility } from '../../../src-workers/domain/ability.ts';
import type { BenchBackend } from '../../../src-workers/domain/benchmark.ts';
import { NBSP, counted, duration } from '../../format/numbers.ts';

export const PAGE_TARGET = 'webgpu-page';

export const CHOICES = ['best', 'random', 'spread', 'named'] as const;
export type Choice = (typeof CHOICES)[number];

export const SUITES: Readonly<
  Record<
    BenchSuite,
    {
      readonly label: string;
      readonly what: string;
      readonly action: string;
      readonly backends: readonly BenchBackend[];
    }
  >
> = {
  designs: {
    label: 'Designs of this run',
    what: 'Runs designs on the workload itself, and compares their times with the predictions.',
    action: 'Measure the designs',
    backends: ['cuda', 'hip', 'webgpu', 'cpu'],
  },
  'matrix-power': {
    label: 'Matrix power',
    what: 'Powers of small matrices, computed in lockstep and one by one. The cost of imbalance is compared with the loss in the model.',
    action: 'Measure matrix power',
    backends: ['cuda', 'hip', 'webgpu'],
  },
  'divergent-loops': {
    label: 'Divergent loops',
    what: 'Loops that the lanes leave one after another. They show the cycles of the divergence stack, if the device has one.',
    action: 'Measure divergent loops',
    backends: ['cuda', 'hip', 'webgpu'],
  },
  'launch-grid': {
    label: 'Launch grid',
    what: 'One kernel, launched with many numbers of blocks and threads per block. The times show waves and latency.',
    action: 'Measure the launch grid',
    backends: ['cuda', 'hip', 'webgpu'],
  },
  probes: {
    label: 'Device probes',
    what: 'Properties of the device, found by experiments and compared with the values of the catalogue.',
    action: 'Probe the device',
    backends: ['cuda', 'hip', 'webgpu'],
  },
  contention: {
    label: 'Memory contention',
    what: 'Bandwidth by number of cores, and times of unbalanced work, compared with the models.',
    action: 'Measure contention',
    backends: ['cpu'],
  },
};

export const CHOICE_WORDS: Readonly<Record<Choice, { readonly label: string; readonly hint: string }>> = {
  best: { label: 'Best', hint: 'Fastest by prediction: is the first choice right?' },
  random: { label: 'Random', hint: 'Drawn at random from all valid designs: how good is the model everywhere?' },
  spread: { label: 'Spread', hint: 'Evenly from best to worst by prediction: best for calibrating.' },
  named: { label: 'Selected', hint: 'Selected in Ranking or Landscape.' },
};

export interface MeasuringSetup {
  readonly target: string;
  readonly suite: BenchSuite;
  readonly choose: Choice;
  readonly count: number;
  readonly designs: readonly number[];
  readonly deviceId: string | null;
  readonly repeats: number;
  readonly warmUps: number;
  readonly limitS: number;
  /** The limit for all designs, s. A probe reduces the repeats, then the units, then the designs, until they fit. */
  readonly timeS: number;
}

/** Returns how many designs will be measured; null for suites. `runnable`: how many the target can run, if known. */
function plannedDesigns(setup: MeasuringSetup, runnable: number | null): number | null {
  if (setup.suite !== 'designs') return null;
  return setup.choose === 'named' ? setup.designs.length : Math.min(setup.count, runnable ?? Infinity);
}

export function startLabel(setup: MeasuringSetup, runnable: number | null): string {
  const designs = plannedDesigns(setup, runnable);
  return designs === null ? SUITES[setup.suite].action : `Measure ${counted(designs, 'design')}`;
}

export function pageLimits({ id, backend, device }: MeasuringTarget): Pick<ProcedureInput<'bench.start'>, 'limits'> {
  if (id !== PAGE_TARGET) return {};
  const { threadsPerUnit, blockThreads, bestBuckets } = findAbility(backend, device);
  return { limits: { threadsPerUnit, blockThreads, bestBuckets } };
}

export function measuringInput(setup: MeasuringSetup, runId: number | null): ProcedureInput<'bench.bundle'> {
  const ofSweep = setup.suite === 'designs';
  const named = setup.choose === 'named';
  return {
    suite: setup.suite,
    ...(runId === null ? {} : { runId }),
    ...(ofSweep && setup.deviceId !== null ? { deviceId: setup.deviceId } : {}),
    ...(ofSweep && { choose: setup.choose, ...(named ? { designs: [...setup.designs] } : { count: setup.count }) }),
    repeats: setup.repeats,
    warmUps: setup.warmUps,
    caseTimeLimitMs: Math.round(setup.limitS * 1000),
  };
}

export interface CommandPlace {
  readonly databaseFile: string;
  readonly runId: number;
  readonly deviceId: string | null;
}

/**
 * Returns the command that measures a set-up's designs with the user's own program.
 * @param tuning for a tuning: the largest number of designs, and how much slower than the fastest, %, it may end
 */
export function ownProgramCommand(
  { choose, count, designs }: MeasuringSetup,
  { databaseFile, runId, deviceId }: CommandPlace,
  tuning: { readonly budget: number; readonly withinPercent: number } | null = null,
): string {
  const chosen =
    choose === 'named' ? `--design ${designs.join(' ')}` : `--${choose === 'best' ? 'top' : choose} ${count}`;
  return [
    `lockstep ${tuning ? 'tune' : 'bench'} ${runId}`,
    `--db ${shellWord(databaseFile)}`,
    ...(deviceId === null ? [] : [`--device ${deviceId}`]),
    tuning ? `--budget ${tuning.budget} --within ${tuning.withinPercent}` : chosen,
    "--exec './program {threadsPerUnit} {blockThreads} {gridBlocks}'",
  ].join(' ');
}

function shellWord(text: string): string {
  return /^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * Returns why a set-up cannot be started, or null.
 * @param unsupported why no design of the run can be measured; null if some can, or if unknown
 */
export function refusal(
  setup: MeasuringSetup,
  target: MeasuringTarget | null,
  runId: number | null,
  devices: readonly SweepDevice[] | null,
  runnable: number | null,
  unsupported: string | null = null,
): string | null {
  if (!target) return 'Choose a target first.';
  if (!target.available) return `This target is not available: ${target.label}. Choose another target.`;
  if (!SUITES[setup.suite].backends.includes(target.backend))
    return `${SUITES[setup.suite].label} cannot be measured with ${BACKEND_NAMES[target.backend]}. Choose another measurement or target.`;
  if (setup.suite !== 'designs') return null;
  if (runId === null) return 'There are no predicted designs to measure yet. Predict the study first.';
  if (devices === null) return 'The devices of the run are still loading.';
  if (measurableDevices(devices, target.backend).length === 0)
    return target.backend === 'cpu'
      ? 'This run predicts no CPU, and a CPU can measure only designs for CPUs. Add a CPU to the devices of the study.'
      : 'This run predicts no GPU, and a GPU can measure only designs for GPUs. Add a GPU to the devices of the study.';
  if (unsupported !== null) return unsupported;
  if (plannedDesigns(setup, runnable) === 0)
    return setup.choose === 'named'
      ? 'No design is selected: select one in Ranking and press M.'
      : 'This target can run none of the designs of this run. Choose another target.';
  return null;
}

export interface SweepDevice {
  readonly id: string;
  readonly name: string;
  readonly kind: 'gpu' | 'cpu';
}

export function measurableDevices(
  devices: readonly SweepDevice[] | null,
  backend: BenchBackend | undefined,
): readonly SweepDevice[] {
  return (devices ?? []).filter(({ kind }) => kind === (backend === 'cpu' ? 'cpu' : 'gpu'));
}

export function fittingSuite(suite: BenchSuite, backend: BenchBackend): BenchSuite {
  return SUITES[suite].backends.includes(backend)
    ? suite
    : (BENCH_SUITES.find((each) => SUITES[each].backends.includes(backend)) ?? suite);
}

const BACKEND_NAMES: Readonly<Record<BenchBackend, string>> = {
  cuda: 'CUDA',
  hip: 'HIP',
  webgpu: 'WebGPU',
  cpu: 'the CPU',
  program: 'a program',
};

export function listTargets(
  engine: readonly MeasuringTarget[],
  page: MeasuringTarget | null,
): readonly MeasuringTarget[] {
  const all = [...engine.filter(({ id }) => id !== PAGE_TARGET), ...(page ? [page] : [])];
  const order: readonly BenchBackend[] = ['cuda', 'hip', 'webgpu', 'cpu', 'program'];
  const place = ({ available, backend, id }: MeasuringTarget) =>
    (available ? 0 : 100) + order.indexOf(backend) * 10 + (id === PAGE_TARGET ? 0 : 1);
  return [...all].sort((a, b) => place(a) - place(b));
}

export function chosenTarget(targets: readonly MeasuringTarget[], wanted: string | null): MeasuringTarget | null {
  return targets.find(({ id }) => id === wanted) ?? targets.find(({ available }) => available) ?? targets[0] ?? null;
}

export function durationText(
  setup: MeasuringSetup,
  runnable: number | null,
  last: { readonly run: RunSummary; readonly detail: MeasuringDetail } | null,
  runId: number | null,
): string {
  const designs = plannedDesigns(setup, runnable);
  const like = last && isAlike(last, setup, runId) ? last : null;
  if (like) {
    const { cases, repeats, warmUps } = like.detail.request;
    const perLaunchMs = like.run.elapsedMs / Math.max(1, cases * (repeats + warmUps));
    return `About ${duration(perLaunchMs * (designs ?? cases) * (setup.repeats + setup.warmUps))}, estimated from run ${like.run.id}.`;
  }
  return designs === null
    ? `The duration is not known yet; each case is stopped after ${setup.limitS}${NBSP}s.`
    : `A short probe finds how many designs, repeats and units fit into ${roughDuration(setup.timeS * 1000)}.`;
}

function isAlike(
  { run, detail: { request } }: { readonly run: RunSummary; readonly detail: MeasuringDetail },
  setup: MeasuringSetup,
  runId: number | null,
): boolean {
  if (run.state !== 'complete' || request.target !== setup.target || request.suite !== setup.suite) return false;
  return setup.suite !== 'designs' || (request.sourceRunId === runId && request.part === undefined);
}

function nameWords(name: string): readonly string[] {
  const noise = /^(nvidia|amd|intel|apple|geforce|radeon|instinct|tesla|quadro|gpu|gb|sxm\d*|pcie|the|one|gcd)$/;
  return name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '' && !noise.test(word) && !/^\d+gb$/.test(word));
}

/**
 * Whether a measured device may be a catalogue device: the two names share a word with digits or, if the catalogue's
 * name has no such word, any word.
 */
export function isSameDevice(predictedFor: string, measuredOn: string): boolean {
  const measured = new Set(nameWords(measuredOn));
  const models = nameWords(predictedFor).filter((word) => /\d/.test(word));
  return models.length > 0
    ? models.some((word) => measured.has(word))
    : nameWords(predictedFor).some((word) => measured.has(word));
}
