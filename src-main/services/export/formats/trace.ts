import { assumedPhrase } from '../../../../src-workers/domain/provenance.ts';
import { ok } from '../../../../src-workers/domain/result.ts';
import type { DrawnTimeline } from '../../../../src-workers/domain/timeline.ts';
import type { MeasuredDesignTime, RankRow } from '../../../contract/api.ts';
import { APP_VERSION, SIMULATOR_VERSION } from '../../version.ts';
import { designText } from '../../../../src-workers/domain/design.ts';
import type { CodeSource } from '../code.ts';
import { gpuDesign } from '../code-format.ts';
import type { Exporter } from '../exporter.ts';
import { jsonParts } from '../text.ts';

export const trace: Exporter = {
  id: 'trace',
  label: 'Launch trace',
  text: 'A simulated launch, for Perfetto',
  words: 'perfetto chrome timeline json gantt',
  about: 'report',
  rows: false,
  gpus: true,
  async write(job) {
    const { context, view, base } = job;
    const gpu = await gpuDesign(job, { tiles: true });
    if (!gpu.ok) return gpu;
    const { row, source, note } = gpu.value;
    const { plan } = view.predictor;
    const seed = view.run.seed ?? 0;
    const drawn = await context.pool.run('timeline', { plan, design: row.designIndex, seed, replication: 0 });
    if (!drawn.ok) return drawn;
    const parts = launchTrace(source, row, drawn.value, view.measured.times.get(row.designIndex));
    return ok({ fileName: `${base}.trace.json`, mediaType: 'application/json', parts, ...(note && { note }) });
  },
};

/** An event of the Trace Event Format, with times in µs. X is a slice, C a counter and M a name. */
interface TraceEvent {
  readonly name: string;
  readonly ph: 'X' | 'C' | 'M';
  readonly pid: number;
  readonly tid?: number;
  readonly ts?: number;
  readonly dur?: number;
  readonly args?: Readonly<Record<string, string | number>>;
}

/** The process of launches and of the device's counters. Multiprocessor m has process m + 2. Viewers ignore process 0. */
const DEVICE = 1;
const FIRST_THREAD = 1;
const firstProcess = DEVICE + 1;

const NS_PER_MS = 1e6;
const us = (ns: number): number => ns / 1000;
const toUs = (ms: number): number => us(Math.round(ms * NS_PER_MS));

/** Times are rounded to whole nanoseconds, so that a slice never overlaps the next one. */
function slice(startMs: number, endMs: number): { readonly ts: number; readonly dur: number } {
  const [start, end] = [Math.round(startMs * NS_PER_MS), Math.round(endMs * NS_PER_MS)];
  const [ts, dur] = [us(start), us(end - start)];
  return ts + dur > us(end) && end > start ? { ts, dur: us(end - start - 1) } : { ts, dur };
}

/**
 * Each multiprocessor is a process, each of its block slots a thread, and each block a slice; active thread groups are
 * counters. A measured design has a separate process with one slice, because measurements do not record blocks.
 */
function launchTrace(
  source: CodeSource,
  row: RankRow,
  drawn: DrawnTimeline,
  measured: MeasuredDesignTime | undefined,
): AsyncGenerator<string, void> {
  return jsonParts({
    displayTimeUnit: 'ns',
    otherData: {
      what: 'One launch, simulated event by event and not recorded on a device',
      study: source.study.name,
      device: row.device,
      design: designText(row.design),
      predictedMs: row.timeMs,
      simulatedKernelMs: drawn.kernelMs,
      madeBy: `Lockstep ${APP_VERSION}, simulator ${SIMULATOR_VERSION}, model ${source.model}, ${source.from}, design ${row.designIndex}`,
      evidence: source.evidence,
      assumed: assumedPhrase(source.inputs),
      multiprocessors: `${drawn.shownMultiprocessors.length} of ${drawn.multiprocessors} listed`,
    },
    traceEvents: events(drawn, measured),
  });
}

function* events(drawn: DrawnTimeline, measured: MeasuredDesignTime | undefined): Generator<TraceEvent> {
  const { launchStartMs, shownMultiprocessors, residentBlocks, blockIndex, blockCount } = drawn;
  const named = (kind: 'process_name' | 'thread_name', name: string, pid: number, tid?: number): TraceEvent => ({
    name: kind,
    ph: 'M',
    pid,
    ...(tid !== undefined && { tid }),
    args: { name },
  });
  yield named('process_name', 'Device, simulated', DEVICE);
  yield named('thread_name', 'Launches', DEVICE, FIRST_THREAD);
  for (const [at, startMs] of launchStartMs.entries()) {
    const endMs = launchStartMs[at + 1] ?? drawn.kernelMs;
    yield { name: `launch ${at}`, ph: 'X', pid: DEVICE, tid: FIRST_THREAD, ...slice(startMs, endMs) };
  }
  for (const [bin, mean] of drawn.activeMean.entries())
    yield {
      name: 'active thread groups of a multiprocessor',
      ph: 'C',
      pid: DEVICE,
      ts: toUs(bin * drawn.binMs),
      args: { mean, min: drawn.activeMin[bin], max: drawn.activeMax[bin] },
    };
  for (const multiprocessor of shownMultiprocessors) {
    const pid = multiprocessor + firstProcess;
    yield named('process_name', `Multiprocessor ${multiprocessor}`, pid);
    for (let slot = 0; slot < residentBlocks; slot += 1)
      yield named('thread_name', `Slot ${slot}`, pid, slot + FIRST_THREAD);
  }
  for (const [at, startMs] of drawn.blockStartMs.entries()) {
    const first = blockIndex[at];
    const blocks = blockCount[at];
    yield {
      name: blocks === 1 ? `block ${first}` : `${blocks} blocks from ${first}`,
      ph: 'X',
      pid: shownMultiprocessors[drawn.blockRow[at]] + firstProcess,
      tid: drawn.blockLane[at] + FIRST_THREAD,
      ...slice(startMs, drawn.blockEndMs[at]),
      args: { block: first, blocks },
    };
  }
  if (!measured) return;
  const pid = drawn.multiprocessors + firstProcess;
  const { medianMs, lowMs, highMs, repeats, measuredOn } = measured;
  yield named('process_name', `Measured on ${measuredOn}`, pid);
  yield named('thread_name', `Median of ${repeats} launches`, pid, FIRST_THREAD);
  yield {
    name: 'launch, measured',
    ph: 'X',
    pid,
    tid: FIRST_THREAD,
    ...slice(0, medianMs),
    args: { ...(lowMs !== null && { lowMs }), ...(highMs !== null && { highMs }) },
  };
}
