import { cpus, hostname, release, type } from 'node:os';
import {
  ALTERNATING,
  type BenchPlan,
  type BenchRecord,
  type CaseOf,
  type MeasuringDevice,
  type ProgramTask,
} from '../../domain/benchmark.ts';
import { isCpuDesign, type Design } from '../../domain/design.ts';
import { expected, ok, unwrap, type Result, unsupported } from '../../domain/result.ts';
import { arbitraryOrder, mersenneTwister } from '../../numeric/random.ts';
import { EMULATION_NOTE } from '../cuda/emulation.ts';
import { lastLine } from '../../domain/text.ts';
import { inParallel } from '../parallel.ts';
import { MAX_OUTPUT_CHARACTERS } from '../guard.ts';
import { runTool } from '../tool.ts';
import type { Build } from './build.ts';
import { splitCommand, substituted, listValues, type UnitTexts, type Values } from './command-line.ts';
import { exitText, readOutput, type ProgramOutput } from './output.ts';

/**
 * Except in a probe, every design is first launched once, in random order. The digests of these launches, or of earlier
 * runs, decide which result is right. Then each launch is of a random design among the first `ALTERNATING` unfinished
 * ones, so that changes of the machine affect these alike, and designs are still completed one after another.
 */

interface Measured {
  readonly one: CaseOf<'unit-loop'>;
  launches: number;
  spentMs: number;
  digest: string | null;
  correct: boolean | null;
  maxError: number | null;
}

interface Reference {
  readonly digest: string | null;
  readonly of: string;
}

export async function measureProgram(
  plan: BenchPlan,
  task: ProgramTask,
  ofUnits: (design: Design) => Promise<Result<UnitTexts>>,
  build: Build,
  print: (record: BenchRecord) => void,
): Promise<void> {
  try {
    await measureDesigns(plan, task, ofUnits, build, print);
  } catch (error) {
    const stopped = expected(error);
    if (!stopped.ok) print({ type: 'lost', message: stopped.error.message });
  }
}

async function measureDesigns(
  plan: BenchPlan,
  task: ProgramTask,
  ofUnits: (design: Design) => Promise<Result<UnitTexts>>,
  build: Build,
  print: (record: BenchRecord) => void,
): Promise<void> {
  const started = performance.now();
  const words = unwrap(splitCommand(task.exec));
  const designs = plan.cases.flatMap((one): Measured[] =>
    one.benchmark === 'unit-loop'
      ? [{ one, launches: 0, spentMs: 0, digest: null, correct: null, maxError: null }]
      : [],
  );
  const recorder = openRecorder(plan, designs, print);
  const ready = await buildAll(designs, task, ofUnits, build);

  let hasStarted = false;

  const launch = async (design: Measured): Promise<ProgramOutput | null> => {
    const values = ready.get(design)!;
    if (!values.ok) return recorder.failed(design, values.error.message);
    const [program, ...args] = words.map((word) => substituted(word, values.value));
    const from = performance.now();
    const timeLimitMs = Math.max(1, plan.caseTimeLimitMs - design.spentMs);
    const ran = await runTool(program, args, { cwd: task.folder, timeLimitMs });
    // A program that is the same for all designs would be missing for all of them.
    if (!ran.ok && ran.error.code === 'not-found' && !hasStarted && program === words[0]) unwrap(ran);
    hasStarted = true;
    design.spentMs += performance.now() - from;
    if (design.spentMs >= plan.caseTimeLimitMs) return recorder.failed(design, lateText(design, plan));
    const output = ran.ok ? readProgramOutput(ran.value, plan) : ran;
    if (!output.ok) return recorder.failed(design, output.error.message);
    const name = recorder.device(output.value);
    const { device } = output.value;
    if (device !== null && device !== name)
      return recorder.failed(design, `The program ran on ${device}, but other launches ran on ${name}.`);
    return output.value;
  };

  if (task.probe) {
    const unknown = { digest: null, of: '' };
    for (const design of designs) {
      let output: ProgramOutput | null;
      do output = await launch(design);
      while (output && !recorder.report(design, output, unknown));
    }
  } else {
    const first: { readonly design: Measured; readonly output: ProgramOutput }[] = [];
    for (const at of arbitraryOrder(designs.length, plan.seed)) {
      const output = await launch(designs[at]);
      if (output) first.push({ design: designs[at], output });
    }
    const reference =
      task.reference === null
        ? majority(first.flatMap(({ output }) => (output.correct === false ? [] : (output.digest ?? []))))
        : { digest: task.reference, of: 'the designs measured before' };
    const left = first.filter(({ design, output }) => !recorder.report(design, output, reference));
    const uniform = mersenneTwister(plan.seed);
    while (left.length > 0) {
      const at = Math.floor(uniform() * Math.min(ALTERNATING, left.length));
      const { design } = left[at];
      const output = await launch(design);
      if (!output || recorder.report(design, output, reference)) left.splice(at, 1);
    }
  }
  recorder.device({ device: null, driver: null, multiprocessors: null });
  print({ type: 'done', elapsedMs: performance.now() - started });
}

/** A compiler that runs at the same time would disturb the times of a program on the CPU. */
async function buildAll(
  designs: readonly Measured[],
  task: ProgramTask,
  ofUnits: (design: Design) => Promise<Result<UnitTexts>>,
  build: Build,
): Promise<ReadonlyMap<Measured, Result<Values>>> {
  const given: { readonly design: Measured; readonly texts: Result<UnitTexts> }[] = [];
  // Designs may share a file with an order, so the files are written one after another.
  for (const design of designs) given.push({ design, texts: await ofUnits(design.one.parameters.design) });
  const ready = await inParallel(given, async ({ design, texts }): Promise<readonly [Measured, Result<Values>]> => {
    if (!texts.ok) return [design, texts];
    const { design: mapping, designIndex } = design.one.parameters;
    const values = listValues(mapping, designIndex, task, texts.value);
    const binary = await build(values, mapping);
    return [design, binary.ok ? ok({ ...values, binary: binary.value }) : binary];
  });
  return new Map(ready);
}

interface Recorder {
  /** Returns the name of the device, which the first successful launch determines. */
  device(output: Pick<ProgramOutput, 'device' | 'driver' | 'multiprocessors'>): string;
  failed(design: Measured, message: string): null;
  report(design: Measured, output: ProgramOutput, reference: Reference): boolean;
}

function openRecorder(plan: BenchPlan, designs: readonly Measured[], print: (record: BenchRecord) => void): Recorder {
  const { warmUps, repeats } = plan;
  let device: MeasuringDevice | null = null;
  const held: BenchRecord[] = [];
  /** Records wait until the record of the device has been printed, which must come first. */
  const say = (record: BenchRecord): void => void (device ? print(record) : held.push(record));
  return {
    device(output) {
      if (!device) {
        device = findDevice(output, designs);
        print(device);
        for (const record of held) print(record);
      }
      return device.name;
    },
    failed(design, message) {
      say({ type: 'failed', case: design.one.id, message });
      return null;
    },
    report(design, output, reference) {
      const { id } = design.one;
      const { timesNs, maxError, digest } = output;
      for (const timeNs of timesNs) {
        const repeat = Math.max(0, design.launches - warmUps);
        say({ type: 'sample', case: id, repeat, warmUp: design.launches < warmUps, timeNs, clockMhz: null });
        design.launches += 1;
      }
      const wrong = wrongText(design, output, reference);
      const correct = wrong !== null ? false : output.correct === true || digest !== null ? true : null;
      // The check is reported once for each design, and again if a later launch is wrong.
      if (correct !== null && design.correct !== false && correct !== design.correct) {
        design.correct = correct;
        say({ type: 'check', case: id, correct, message: wrong ?? '', ...(digest !== null && { digest }) });
      }
      design.digest ??= digest;
      if (maxError !== null) design.maxError = Math.max(maxError, design.maxError ?? 0);
      if (isEmulated(plan)) {
        const values = { ...(design.maxError !== null && { maxError: design.maxError }), emulatedLaunches: 1 };
        say({ type: 'values', case: id, values });
        return true;
      }
      const complete = design.launches >= warmUps + repeats;
      // The values come last, because a case that has values before its times would count as a case without times.
      if (complete && design.maxError !== null)
        say({ type: 'values', case: id, values: { maxError: design.maxError } });
      return complete;
    },
  };
}

function wrongText(
  before: Measured,
  { correct, maxError, digest }: ProgramOutput,
  reference: Reference,
): string | null {
  if (correct === false)
    return `The program says that its result is wrong${maxError === null ? '' : ` (maxError ${maxError})`}.`;
  if (digest === null) return null;
  if (before.digest !== null && digest !== before.digest)
    return `The digest of the result was ${before.digest} at first and ${digest} in a later launch.`;
  return reference.digest !== null && digest !== reference.digest
    ? `The result has the digest ${digest}, but the digest of ${reference.of} is ${reference.digest}.`
    : null;
}

function majority(digests: readonly string[]): Reference {
  const tally = new Map<string, number>();
  for (const digest of digests) tally.set(digest, (tally.get(digest) ?? 0) + 1);
  const [most] = [...tally].sort((a, b) => b[1] - a[1]);
  return most ? { digest: most[0], of: `${most[1]} of ${digests.length} designs` } : { digest: null, of: '' };
}

const isEmulated = ({ kernel }: BenchPlan): boolean => kernel?.platform === 'emulation';

function readProgramOutput(
  { code, stdout, stderr }: { code: number; stdout: string; stderr: string },
  plan: BenchPlan,
): Result<ProgramOutput> {
  const emulated = isEmulated(plan);
  // The OpenCL host is our own program, so its last line is a complete message.
  if (code === 1 && plan.kernel?.platform === 'opencl') return unsupported(lastLine(stderr));
  if (code !== 0) return unsupported(exitText({ code, stdout, stderr }));
  if (stdout.length >= MAX_OUTPUT_CHARACTERS)
    return unsupported(`The program printed more than ${MAX_OUTPUT_CHARACTERS} characters. Print less.`);
  if (!emulated && stderr.includes(EMULATION_NOTE))
    return unsupported('The program ran on the CPU emulation of CUDA, whose times mean nothing. Build it with nvcc, or check its results with --kernel and --target emulation.'); // prettier-ignore
  return readOutput(stdout, stderr, !emulated);
}

function lateText({ launches, spentMs }: Measured, { caseTimeLimitMs, warmUps, repeats }: BenchPlan): string {
  const seconds = (ms: number): string => `${Number((ms / 1000).toPrecision(3))} s`;
  return `Stopped after ${seconds(spentMs)} (limit ${seconds(caseTimeLimitMs)}), ${launches} of ${warmUps + repeats} launches done.`;
}

/** Returns the device that the program names. If it names none: the CPU for CPU designs, or else this machine. */
function findDevice(
  { device, driver: said, multiprocessors }: Pick<ProgramOutput, 'device' | 'driver' | 'multiprocessors'>,
  designs: readonly Measured[],
): MeasuringDevice {
  const ofCpu = designs.length > 0 && isCpuDesign(designs[0].one.parameters.design);
  const name = device ?? (ofCpu ? cpus()[0]?.model.trim() : undefined) ?? hostname();
  const driver = said ?? `${type()} ${release()}`;
  return {
    type: 'device',
    backend: 'program',
    name,
    fingerprint: ['program', name, multiprocessors ?? '', hostname(), process.arch, driver].join('|'),
    driver,
    versions: {},
    threadGroupWidth: null,
    multiprocessors,
    clockMhz: null,
    timer: null,
    properties: { deviceFrom: device === null ? (ofCpu ? 'cpu' : 'machine') : 'program' },
  };
}
