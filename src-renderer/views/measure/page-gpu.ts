import {
  describeWebGpu,
  isSoftwareAdapter,
  measuringDeviceDescriptor,
  type measureWebGpu,
} from '../../../src-workers/bench/webgpu/measure.ts';
import type { MeasuringProposal, MeasuringTarget } from '../../../src-main/contract/measuring.ts';
import type { ProcedureInput } from '../../../src-main/contract/procedures.ts';
import { isProbeEnough, probeTimes, type ProbeTimes, type TimedRecord } from '../../../src-workers/bench/probe.ts';
import {
  deviceTitle,
  type BenchPlan,
  type BenchRecord,
  type MeasuringDevice,
} from '../../../src-workers/domain/benchmark.ts';
import { fail, ok, type Result, unsupported } from '../../../src-workers/domain/result.ts';
import type { Api } from '../../state/engine.svelte.ts';
import { PAGE_TARGET } from './setup.ts';

export type PageBackend = typeof measureWebGpu;

function adapterName({ vendor, architecture, device, description }: GPUAdapterInfo): string {
  return description || [vendor, architecture || device].filter((part) => part !== '').join(' ') || 'unnamed adapter';
}

/** Describes an adapter's device before it is opened, so that the engine knows which designs it can run. */
function adapterDevice({ features, info, limits }: GPUAdapter): MeasuringDevice {
  return {
    type: 'device',
    backend: 'webgpu',
    name: adapterName(info),
    fingerprint: '',
    driver: '',
    versions: {},
    threadGroupWidth: info.subgroupMinSize === info.subgroupMaxSize ? info.subgroupMaxSize || null : null,
    multiprocessors: null,
    clockMhz: null,
    timer: 'host',
    properties: {
      maxComputeInvocationsPerWorkgroup: limits.maxComputeInvocationsPerWorkgroup,
      subgroups: features.has('subgroups') ? 1 : 0,
      software: isSoftwareAdapter(info) ? 1 : 0,
    },
  };
}

const messageOf = (error: unknown) => String(error instanceof Error ? error.message : error);

export async function pageTarget(gpu: GPU | undefined): Promise<MeasuringTarget> {
  const target = (label: string, advice: string, device: MeasuringDevice | null = null): MeasuringTarget => {
    return { id: PAGE_TARGET, backend: 'webgpu', available: device !== null, label, device, advice };
  };
  if (!gpu)
    return target(
      'This window has no WebGPU',
      'Open this page in a browser with WebGPU, over https or from localhost. In Chromium, chrome://gpu shows what is missing.',
    );
  try {
    const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
    const device = adapter && adapterDevice(adapter);
    return device
      ? target(deviceTitle(device), '', device)
      : target(
          'WebGPU finds no adapter in this window',
          'The driver may be on the browser’s block list: see chrome://gpu.',
        );
  } catch (error) {
    return target('WebGPU does not answer in this window', messageOf(error));
  }
}

async function openPageDevice(
  gpu: GPU | undefined,
): Promise<Result<{ readonly device: GPUDevice; readonly info: MeasuringDevice }>> {
  const adapter = await gpu?.requestAdapter({ powerPreference: 'high-performance' }).catch(() => null);
  if (!adapter) return unsupported('this window lost its WebGPU adapter');
  try {
    const device = await adapter.requestDevice(measuringDeviceDescriptor(adapter));
    return ok({ device, info: describeWebGpu(adapter, device, { versions: browserVersions(), processor: null }) });
  } catch (error) {
    return unsupported(`the adapter provides no device: ${messageOf(error)}`);
  }
}

function browserVersions(): Readonly<Record<string, string>> {
  const found = /(Electron|Edg|Firefox|Chrome|Version)\/([\d.]+)/.exec(navigator.userAgent);
  return found ? { [found[1] === 'Version' ? 'Safari' : found[1]]: found[2] } : { browser: navigator.userAgent };
}

/** Runs a probe: the engine plans each round, and the page's GPU runs it. Returns null if no launch gave a time. */
export async function probeInPage(
  engine: Pick<Api, 'call'>,
  asked: ProcedureInput<'bench.probe'>,
  gpu: GPU | undefined,
  measure: PageBackend,
  signal: AbortSignal,
): Promise<Result<MeasuringProposal | null>> {
  const rounds: ProbeTimes[] = [];
  for (;;) {
    const answer = await engine.call('bench.probe', { ...asked, rounds });
    if (!answer.ok) return answer;
    if (answer.value.kind === 'done') return ok(answer.value.proposal);
    const times = await roundInPage(answer.value.plan, gpu, measure, signal);
    if (signal.aborted) return fail('cancelled', 'the probe was cancelled');
    if (!times.ok) return times;
    if (times.value === null) return ok(null);
    rounds.push(times.value);
  }
}

async function roundInPage(
  plan: BenchPlan,
  gpu: GPU | undefined,
  measure: PageBackend,
  signal: AbortSignal,
): Promise<Result<ProbeTimes | null>> {
  const from = performance.now();
  const opened = await openPageDevice(gpu);
  if (!opened.ok) return opened;
  const { device, info } = opened.value;
  const records: TimedRecord[] = [];
  const enough = new AbortController();
  const take = (record: BenchRecord): void => {
    records.push({ atMs: performance.now() - from, record });
    if (isProbeEnough(records)) enough.abort();
  };
  try {
    await measure(device, info, plan, take, AbortSignal.any([enough.signal, signal]), async () =>
      unsupported('a probe has no laws'),
    );
  } catch {
    // The error is ignored, because the measurement after the probe fails in the same way and reports it.
  }
  device.destroy();
  return ok(probeTimes(plan.workload!.lengths.length, records));
}

const BATCH_RECORDS = 400;
const BATCH_EVERY_MS = 250;

/** Measures the remaining cases of a run. Records are sent every quarter second, so closing the page loses few. */
export async function measureInPage(
  engine: Pick<Api, 'call'>,
  runId: number,
  gpu: GPU | undefined,
  measure: PageBackend,
  signal: AbortSignal,
): Promise<Result<null>> {
  const plan = await engine.call('bench.plan', { id: runId });
  if (!plan.ok) return plan;
  const opened = await openPageDevice(gpu);
  if (!opened.ok) {
    // The record ends the run with the reason. Otherwise, the engine would wait for the page.
    await engine.call('bench.record', { id: runId, records: [{ type: 'lost', message: opened.error.message }] });
    return opened;
  }
  const { device, info } = opened.value;
  const stop = new AbortController();

  const records = recordSender(engine, runId, () => stop.abort());
  let closing = false;
  let lost: string | null = null;
  void device.lost.then(({ message, reason }) => {
    if (closing) return;
    lost = message || `the browser took the device away (${reason})`;
    stop.abort();
  });
  try {
    await measure(
      device,
      info,
      plan.value,
      (record) => records.push(record),
      AbortSignal.any([stop.signal, signal]),
      async (lengths) => {
        const resolved = await engine.call('workload.resolve', { workload: { lengths, units: 1 } });
        if (!resolved.ok) return resolved;
        const { label, support, probability, truncatedMass } = resolved.value;
        return ok({ label, support, probability, truncatedMass });
      },
    );
  } catch (error) {
    // After a loss of the device, any call throws, so only the loss is reported.
    if (lost === null && !signal.aborted)
      records.push({ type: 'lost', message: `measuring stopped: ${messageOf(error)}` });
  }
  if (lost !== null) records.push({ type: 'lost', message: lost });
  closing = true;
  device.destroy();
  return records.end();
}

/** Sends one batch at a time, in order, until a batch is refused. */
function recordSender(engine: Pick<Api, 'call'>, runId: number, refused: () => void) {
  let waiting: BenchRecord[] = [];
  let sending: Promise<void> = Promise.resolve();
  let result: Result<null> = ok(null);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lost = false;
  const send = () => {
    clearTimeout(timer);
    timer = undefined;
    const batch = waiting;
    waiting = [];
    if (batch.length === 0) return;
    sending = sending.then(async () => {
      if (!result.ok) return;
      const answer = await engine.call('bench.record', { id: runId, records: batch });
      if (answer.ok) return;
      result = answer;
      refused();
    });
  };
  return {
    push(record: BenchRecord): void {
      if (lost) return;
      lost = record.type === 'lost';
      waiting.push(record);
      if (waiting.length >= BATCH_RECORDS || record.type === 'done' || lost) send();
      else timer ??= setTimeout(send, BATCH_EVERY_MS);
    },
    async end(): Promise<Result<null>> {
      send();
      await sending;
      return result;
    },
  };
}
