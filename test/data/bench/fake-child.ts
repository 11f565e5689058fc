// Stands in for a measuring program: node fake-child.ts FOLDER. It prints what such a program prints, but measures
// nothing. The environment variable FAKE_BENCH contains a `FakeBench` as JSON: the faults to imitate, and the times to report.
import { spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { EXIT_HUNG } from '../../../src-workers/bench/cuda/cuda-plan.ts';
import { readPlanFolder } from '../../../src-workers/bench/plan-files.ts';
import type { BenchRecord } from '../../../src-workers/domain/benchmark.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { measuringDevice } from '../../measuring.ts';

export interface FakeBench {
  /** Fingerprint of the device, by default `fake`. */
  readonly fingerprint?: string;
  readonly name?: string;
  readonly multiprocessors?: number;
  /** Lanes of a thread group, by default 32; null if the device does not report them. */
  readonly width?: number | null;
  readonly properties?: Readonly<Record<string, number>>;
  /** Pause before every case, ms. */
  readonly pauseMs?: number;
  /** Event to imitate, and the id of a case. The event happens at the second launch of this case. */
  readonly at?: string;
  readonly event?: 'crash' | 'exit' | 'garbage' | 'long-line' | 'unknown-case' | 'hang' | 'lost' | 'failed-lost' | 'hung' | 'leave' | 'grandchild';
  /** Id of the case that is announced as the next one just before the event. */
  readonly turn?: string;
  /** Ids of cases with a wrong result, and ids of cases that fail. */
  readonly wrong?: readonly string[];
  readonly failing?: readonly string[];
  /** The program ends before it prints the device or any other record. */
  readonly silent?: boolean;
  /** The program prints nothing, and does not end by itself. */
  readonly mute?: boolean;
  /** The program reports that there is no device, and ends normally. */
  readonly absent?: boolean;
  /** Reported time divided by the predicted time. */
  readonly factor?: number;
  /** Reported time of every case in ms, instead of a multiple of the predicted time. */
  readonly timeMs?: number;
  /** Reported time of every case in ms per unit of the plan. */
  readonly msPerUnit?: number;
}

const fake = JSON.parse(process.env.FAKE_BENCH ?? '{}') as FakeBench;
const print = (record: BenchRecord): void => void writeSync(1, `${JSON.stringify(record)}\n`);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

if (fake.silent) {
  process.stderr.write('no such device\n');
  process.exit(3);
}
if (fake.mute) await pause(60_000);
if (fake.absent) {
  print({ type: 'lost', message: 'no adapter' });
  process.exit(0);
}
const plan = unwrap(await readPlanFolder(process.argv[2]));
print(
  measuringDevice({
    backend: plan.backend,
    name: fake.name ?? 'Fake device',
    fingerprint: fake.fingerprint ?? 'fake',
    threadGroupWidth: fake.width === undefined ? 32 : fake.width,
    multiprocessors: fake.multiprocessors ?? 2,
    timer: 'host',
    properties: fake.properties ?? {},
  }),
);

async function happen(): Promise<void> {
  if (fake.turn !== undefined) print({ type: 'turn', case: fake.turn });
  switch (fake.event) {
    case undefined:
      return;
    case 'crash':
      process.stderr.write('about to crash\nillegal address\n');
      process.kill(process.pid, 'SIGSEGV');
      return pause(60_000);
    case 'exit':
      process.stderr.write('out of memory\n');
      process.exit(7);
      return;
    case 'garbage':
      writeSync(1, 'warming up …\n');
      return pause(60_000);
    case 'long-line':
      for (let i = 0; i < 80; i += 1) writeSync(1, 'x'.repeat(2 ** 20));
      return pause(60_000);
    case 'unknown-case':
      print({ type: 'failed', case: 'nobody', message: '' });
      return pause(60_000);
    case 'hang':
      // The program ignores requests to end.
      process.on('SIGTERM', () => {});
      return pause(600_000);
    case 'failed-lost':
    case 'hung':
      print({ type: 'failed', case: fake.at!, message: 'broke the device' });
      if (fake.event === 'hung') process.exit(EXIT_HUNG);
      print({ type: 'lost', message: 'the driver reset it' });
      process.exit(1);
      return;
    case 'lost':
      print({ type: 'lost', message: 'the driver reset it' });
      process.exit(1);
      return;
    case 'leave':
      process.exit(0);
      return;
    case 'grandchild': {
      const child = spawn('sleep', ['601'], { stdio: 'inherit' });
      process.stderr.write(`grandchild ${child.pid}\n`);
      return pause(600_000);
    }
  }
}

const ofUnits = fake.msPerUnit === undefined ? undefined : fake.msPerUnit * plan.workload!.lengths.length;
for (const one of plan.cases) {
  await pause(fake.pauseMs ?? 0);
  if (fake.failing?.includes(one.id)) {
    print({ type: 'failed', case: one.id, message: 'too many registers' });
    continue;
  }
  const predictedMs = one.benchmark === 'unit-loop' ? (one.parameters.predictedMs ?? 1) : 1;
  print({
    type: 'compiled',
    case: one.id,
    registersPerThread: 32,
    sharedMemoryBytes: 0,
    spillBytes: 0,
    residentBlocks: null,
  });
  for (let launch = 0; launch < plan.warmUps + plan.repeats; launch += 1) {
    if (one.id === fake.at && launch === 1) await happen();
    print({
      type: 'sample',
      case: one.id,
      repeat: Math.max(0, launch - plan.warmUps),
      warmUp: launch < plan.warmUps,
      // The launches of a case have the same times in every run, which differ by up to 0.8 %.
      timeNs: (ofUnits ?? fake.timeMs ?? predictedMs * (fake.factor ?? 2)) * 1e6 * (1 + ((launch * 7) % 5) / 500),
      clockMhz: 1000,
    });
  }
  const correct = !fake.wrong?.includes(one.id);
  print({ type: 'check', case: one.id, correct, message: correct ? '' : 'unit 3 is 1 instead of 2' });
  print({ type: 'values', case: one.id, values: { launches: plan.repeats } });
}
print({ type: 'done', elapsedMs: 1 });
