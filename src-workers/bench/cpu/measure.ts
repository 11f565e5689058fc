import { MessageChannel, Worker, type MessagePort } from 'node:worker_threads';
import type { BenchCase, BenchPlan, BenchRecord } from '../../domain/benchmark.ts';
import { errorText, ok, type Result, badInput, unsupported } from '../../domain/result.ts';
import { createCpuLoads, type CpuLoads } from '../../predict/cpu.ts';
import { BARRIER_WORDS } from './barrier.ts';
import { kernelBytes } from './kernels.ts';
import { caseShares, designShares, type DesignMachine, type DesignShares } from './shares.ts';
import type { ThreadMessage, ThreadTask } from './thread.ts';

/** @param threadModule a module that passes its `workerData`, a `ThreadTask`, to `runThread` */
export async function measureCpu(
  plan: BenchPlan,
  threadModule: URL,
  machine: DesignMachine,
  take: (record: BenchRecord) => void,
): Promise<void> {
  const started = performance.now();
  const module = new WebAssembly.Module(kernelBytes());
  const loads = plannedLoads(plan);
  for (const each of plan.cases) {
    const shares = makeShares(each, loads, machine);
    if (!shares.ok) take({ type: 'failed', case: each.id, message: shares.error.message });
    else await measureCase(plan, each, shares.value, module, threadModule, take);
  }
  take({ type: 'done', elapsedMs: performance.now() - started });
}

function plannedLoads({ workload }: BenchPlan): Result<CpuLoads> {
  if (!workload) return badInput('The plan has a unit loop, but no workload.');
  const { lengths, traffic } = workload;
  if (!traffic)
    return unsupported('The plan lacks the bytes that an iteration moves (traffic). The loop on a CPU needs them.');
  const iterations = Float64Array.from(lengths);
  return ok(createCpuLoads(traffic, lengths.length, { units: lengths.length, iterations, given: true }));
}

function makeShares(each: BenchCase, loads: Result<CpuLoads>, machine: DesignMachine): Result<DesignShares> {
  switch (each.benchmark) {
    case 'stream':
    case 'triangular':
    case 'imbalanced-stream': {
      const shares = caseShares(each);
      return shares.ok ? ok({ shares: shares.value, copies: 1 }) : shares;
    }
    case 'unit-loop':
      return loads.ok ? designShares(each.parameters.design, loads.value, machine) : loads;
    default:
      return unsupported(`The benchmark ${each.benchmark} runs on a GPU, but this device is a CPU.`);
  }
}

async function measureCase(
  plan: BenchPlan,
  { id }: BenchCase,
  { shares, copies }: DesignShares,
  module: WebAssembly.Module,
  threadModule: URL,
  take: (record: BenchRecord) => void,
): Promise<void> {
  const threads = shares.loadBytes.length;
  const launches = plan.warmUps + plan.repeats;
  const ends: (readonly number[])[] = [];
  const onCore: (readonly number[])[] = [];
  const times: number[] = [];
  const wrong: string[] = [];
  let checked = 0;
  const workers: Worker[] = [];
  const failure = await new Promise<string | null>((settle) => {
    const timer = setTimeout(
      () => settle(`stopped, because it took longer than the limit of ${plan.caseTimeLimitMs} ms`),
      plan.caseTimeLimitMs,
    );
    const leave = (message: string | null): void => {
      clearTimeout(timer);
      settle(message);
    };
    const hear = (message: ThreadMessage): void => {
      if (message.kind === 'launch') {
        const { launch, endNs, onCoreFraction } = message;
        const timeNs = message.timeNs / copies;
        const warmUp = launch < plan.warmUps;
        take({
          type: 'sample',
          case: id,
          repeat: warmUp ? launch : launch - plan.warmUps,
          warmUp,
          timeNs,
          clockMhz: null,
        });
        if (warmUp) return;
        times.push(timeNs);
        ends.push(endNs.map((end) => end / copies));
        onCore.push(onCoreFraction);
      } else {
        checked += 1;
        if (message.message !== '') wrong.push(message.message);
        if (checked === threads) leave(null);
      }
    };
    const barrier = new Int32Array(new SharedArrayBuffer(4 * BARRIER_WORDS));
    const clock = new BigInt64Array(new SharedArrayBuffer(8 * launches * (threads + 1)));
    const onCoreFractions = new Float64Array(new SharedArrayBuffer(8 * launches * threads));
    const channels = Array.from({ length: threads - 1 }, () => new MessageChannel());
    for (let rank = 0; rank < threads; rank += 1) {
      const ports: MessagePort[] = rank === 0 ? channels.map(({ port1 }) => port1) : [channels[rank - 1].port2];
      const task: ThreadTask = {
        rank,
        threads,
        shares,
        module,
        barrier,
        clock,
        onCore: onCoreFractions,
        launches,
        seed: plan.seed,
        ports,
      };
      const worker = new Worker(threadModule, { workerData: task, transferList: ports });
      worker.on('message', hear);
      worker.on('error', (error) => leave(errorText(error)));
      workers.push(worker);
    }
  });
  // Two cases must never hold their memory at the same time.
  await Promise.all(workers.map((worker) => worker.terminate()));
  if (failure !== null) return take({ type: 'failed', case: id, message: failure });
  take({ type: 'check', case: id, correct: wrong.length === 0, message: wrong.join('; ') });
  const loadBytes = shares.loadBytes.map((load) => load / copies);
  const bytes = loadBytes.reduce((sum, load) => sum + load, 0);
  take({
    type: 'values',
    case: id,
    values: {
      cores: threads,
      loadBytes,
      /** How often a launch did the work. Times, ends and loads are divided by this number. */
      copies,
      bandwidthGbS: times.map((timeNs) => bytes / timeNs),
      /** Ends of threads, ns from the common start: all threads of the first counted launch, then of the second, … */
      threadEndNs: ends.flat(),
      threadOnCoreFraction: onCore.flat(),
    },
  });
}
