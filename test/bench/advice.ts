import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { StudyFile } from '../../src-main/contract/study.ts';
import type { Engine } from '../../src-main/services/engine.ts';
import type { KernelProfile } from '../../src-workers/domain/kernel.ts';
import { KERNEL_INPUTS, withKernelValue, type KernelNumber } from '../../src-workers/domain/provenance.ts';
import { FailureError, unwrap } from '../../src-workers/domain/result.ts';
import { inFolder } from '../db/sample.ts';
import { testEngine } from '../unit/engine-calls.ts';
import { say } from './report.ts';

// `npm run bench -- advice [EXAMPLE …]` measures the answers of the Study view after an edit, for each field of every
// example study over all its devices. Three times are measured from the edit on: to the first answer (a glance), to the
// exact answer, and to the answer with the least expected regret. The CPU time of all processors stands beside each
// elapsed time, because other programs affect it less. On two idle cores, the elapsed time is between half of the CPU
// time and all of it. `--fields A,B` restricts the fields. `--worst N` lists the N slowest.
const ROOT = join(import.meta.dirname, '../..');
const EXAMPLES = join(ROOT, 'db/examples');
const NAMES = readdirSync(EXAMPLES).flatMap((file) => /^(.*)\.json$/.exec(file)?.[1] ?? []);
/** Target times of the answers on two idle cores, ms since the edit. */
const STEPS = { first: 100, exact: 300, robust: 1000 } as const;
type Step = keyof typeof STEPS;

type Edit = (study: StudyFile) => StudyFile;
const AXES = ['threadsPerUnit', 'blockThreads', 'unitsPerThread', 'gridBlocks', 'registerCap', 'loop', 'balancing'] as const; // prettier-ignore
/** Removes one value of an axis, unless it is the only one. */
function edited(axis: readonly unknown[] | { from: number; to: number; step?: number | undefined }): unknown {
  if ('from' in axis) return { ...axis, to: axis.to - (axis.step ?? 1) };
  return axis.length > 1 ? axis.slice(0, -1) : axis;
}

const numberEdit =
  (field: KernelNumber): Edit =>
  (study) => {
    // The bytes of an iteration follow from the accesses, so an edit of the bytes removes the accesses.
    const { accesses, ...others } = study.kernel;
    const kernel = field === 'bytesPerIteration' ? others : { ...others, ...(accesses && { accesses }) };
    const { assumed, usual } = KERNEL_INPUTS[field];
    const phase = kernel[field];
    const value = (typeof phase === 'object' ? phase.instructions : phase) ?? 0;
    const other = value > 0 ? value * (usual[1] <= 1 ? 0.8 : 1.25) : assumed;
    const whole = field === 'registersPerThread' || field === 'sharedMemoryBytesPerBlock';
    const { origins } = kernel;
    const changed = withKernelValue(kernel as KernelProfile, field, whole ? Math.ceil(other) : other);
    return { ...study, kernel: { ...changed, origins: { ...origins, [field]: 'given' } } } as StudyFile;
  };

const kernelEdit = (study: StudyFile, change: Partial<StudyFile['kernel']>): StudyFile => ({
  ...study,
  kernel: { ...study.kernel, ...change },
});

/** Edits that change a law come last. Otherwise a later edit could reuse the law that an earlier edit computed. */
const EDITS: Readonly<Record<string, Edit>> = {
  ...Object.fromEntries((Object.keys(KERNEL_INPUTS) as KernelNumber[]).map((field) => [field, numberEdit(field)])),
  sharing: (study) => kernelEdit(study, { sharing: study.kernel.sharing === 'deal' ? 'split' : 'deal' }),
  accesses: (study) => {
    const { bytesPerIteration: _, ...kernel } = study.kernel;
    const accesses = kernel.accesses?.slice(1) ?? [{ pattern: 'along-unit', elementBytes: 8 }];
    return { ...study, kernel: { ...kernel, accesses } };
  },
  lengthsKnownBeforeLaunch: (study) =>
    kernelEdit(study, { lengthsKnownBeforeLaunch: !study.kernel.lengthsKnownBeforeLaunch }),
  devices: (study) => ({ ...study, devices: [...study.devices.slice(1), 'nvidia-t4'] }),
  ...Object.fromEntries(
    AXES.map((axis): [string, Edit] => [
      axis,
      (study) => {
        const { [axis]: values } = study.axes;
        return values ? { ...study, axes: { ...study.axes, [axis]: edited(values) } } : study;
      },
    ]),
  ),
  units: (study) => ({ ...study, workload: { ...study.workload, units: Math.round(study.workload.units * 0.9) } }),
  // The units of a law have no rows, so the axis of block widths is removed.
  lengths: (study) => {
    const { blockWidth: _, ...axes } = study.axes;
    return { ...study, workload: { ...study.workload, lengths: 'geometric(0.04)' }, axes };
  },
};

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { fields: { type: 'string' }, worst: { type: 'string', default: '5' } },
});
const steps = Object.keys(STEPS) as Step[];

interface Taken {
  readonly ms: number;
  readonly processorMs: number;
}
type Answers = Readonly<Record<Step, Taken>>;

/** Measures the time from an edit to each answer for the edited study. */
async function answersOf(engine: Engine, study: StudyFile): Promise<Answers> {
  const [start, before] = [performance.now(), process.cpuUsage()];
  const taken = (): Taken => {
    const { user, system } = process.cpuUsage(before);
    return { ms: performance.now() - start, processorMs: (user + system) / 1e3 };
  };
  const ask = async (more: object): Promise<string> => {
    const { device } = unwrap(await engine.call('advice.recommend', { study, folder: EXAMPLES, ...more }));
    return device.id;
  };
  await ask({ look: 'glance' });
  const first = taken();
  const deviceId = await ask({ look: 'fastest' });
  const exact = taken();
  await ask({ look: 'fastest', robust: true, deviceId });
  return { first, exact, robust: taken() };
}

const write = (name: string, field: string, answers: Answers): void => {
  const figures = steps.map((step) => {
    const { ms, processorMs } = answers[step];
    return `${ms.toFixed(0).padStart(7)} ${processorMs.toFixed(0).padStart(6)}${ms > STEPS[step] ? ' !' : '  '}`;
  });
  say(`${name.padEnd(21)}${field.padEnd(29)}${figures.join('')}`);
};

const fields = options.fields?.split(',') ?? Object.keys(EDITS);
say(`${''.padEnd(50)}${steps.map((step) => `${step}, ms`.padStart(10).padEnd(16)).join('')}`);
say(`${''.padEnd(50)}${steps.map(() => '  clock   CPU  ').join(' ')}`);
const all: { readonly name: string; readonly field: string; readonly answers: Answers }[] = [];
for (const name of positionals.length > 0 ? positionals : NAMES) {
  const { $schema: _schema, ...study } = JSON.parse(readFileSync(join(EXAMPLES, `${name}.json`), 'utf8'));
  await inFolder(async (folder) => {
    const engine = await testEngine(join(folder, 'bench.db'), { workers: 2 });
    write(name, '(opened)', await answersOf(engine, study));
    write(name, '(unchanged)', await answersOf(engine, study));
    for (const field of fields) {
      const other = EDITS[field](study);
      if (JSON.stringify(other) === JSON.stringify(study)) continue;
      try {
        const answers = await answersOf(engine, other);
        all.push({ name, field, answers });
        write(name, field, answers);
      } catch (error) {
        if (!(error instanceof FailureError)) throw error;
        say(`${name.padEnd(21)}${field.padEnd(29)}${error.message}`);
      }
    }
    await engine.close();
  });
}
for (const step of steps) {
  const missed = all.filter(({ answers }) => answers[step].ms > STEPS[step]).length;
  const sure = all.filter(({ answers }) => answers[step].processorMs / 2 > STEPS[step]).length;
  say(`\n${step}: ${all.length} edits, ${missed} above ${STEPS[step]} ms, ${sure} of them even on two idle cores`);
  const slowest = all.toSorted((a, b) => b.answers[step].processorMs - a.answers[step].processorMs);
  for (const { name, field, answers } of slowest.slice(0, Number(options.worst))) write(name, field, answers);
}
