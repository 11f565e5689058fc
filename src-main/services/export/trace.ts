import { assumedPhrase } from '../../../src-workers/domain/provenance.ts';
import type { DrawnTimeline } from '../../../src-workers/domain/timeline.ts';
import type { MeasuredDesignTime, RankRow } from '../../contract/api.ts';
import { APP_VERSION, SIMULATOR_VERSION } from '../app/version.ts';
import { designText } from '../ranking/design-text.ts';
import type { CodeSource } from './code.ts';
import { jsonParts } from './text.ts';

/** One event of the Trace Event Format, times in µs: X a slice, C a counter, M a name. */
interface TraceEvent {
  readonly name: string;
  readonly ph: 'X' | 'C' | 'M';
  readonly pid: number;
  readonly tid?: number;
  readonly ts?: number;
  readonly dur?: number;
  readonly args?: Readonly<Record<string, string | number>>;
}

const US_PER_MS = 1000;
/** Of the launches and what is counted over the whole device; multiprocessor m is process m + 1. */
const DEVICE = 0;

/**
 * A simulated launch in Chrome's Trace Event Format, which Perfetto opens: a process for each multiprocessor that the timeline lists, a
 * thread for each slot of it, a slice for each block, and the active thread groups as counters. Where the design was measured on the
 * device, its median is a slice of a process of its own: blocks were not recorded then.
 */
export function launchTrace(
  source: CodeSource,
  row: RankRow,
  drawn: DrawnTimeline,
  measured: MeasuredDesignTime | undefined,
): AsyncGenerator<string, void> {
  return jsonParts({
    displayTimeUnit: 'ns',
    otherData: {
      what: 'One launch, simulated event by event; not recorded on a device',
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
  yield named('thread_name', 'Launches', DEVICE, 0);
  for (const [at, startMs] of launchStartMs.entries()) {
    const endMs = launchStartMs[at + 1] ?? drawn.kernelMs;
    yield { name: `launch ${at}`, ph: 'X', pid: DEVICE, tid: 0, ts: startMs * US_PER_MS, dur: (endMs - startMs) * US_PER_MS }; // prettier-ignore
  }
  for (const [bin, mean] of drawn.activeMean.entries())
    yield {
      name: 'active thread groups of a multiprocessor',
      ph: 'C',
      pid: DEVICE,
      ts: bin * drawn.binMs * US_PER_MS,
      args: { mean, min: drawn.activeMin[bin], max: drawn.activeMax[bin] },
    };
  for (const multiprocessor of shownMultiprocessors) {
    yield named('process_name', `Multiprocessor ${multiprocessor}`, multiprocessor + 1);
    for (let slot = 0; slot < residentBlocks; slot += 1)
      yield named('thread_name', `Slot ${slot}`, multiprocessor + 1, slot);
  }
  for (const [at, startMs] of drawn.blockStartMs.entries()) {
    const first = blockIndex[at];
    const blocks = blockCount[at];
    yield {
      name: blocks === 1 ? `block ${first}` : `${blocks} blocks from ${first}`,
      ph: 'X',
      pid: shownMultiprocessors[drawn.blockRow[at]] + 1,
      tid: drawn.blockLane[at],
      ts: startMs * US_PER_MS,
      dur: (drawn.blockEndMs[at] - startMs) * US_PER_MS,
      args: { block: first, blocks },
    };
  }
  if (!measured) return;
  const pid = drawn.multiprocessors + 1;
  const { medianMs, lowMs, highMs, repeats, measuredOn } = measured;
  yield named('process_name', `Measured on ${measuredOn}`, pid);
  yield named('thread_name', `Median of ${repeats} launches`, pid, 0);
  yield {
    name: 'launch, measured',
    ph: 'X',
    pid,
    tid: 0,
    ts: 0,
    dur: medianMs * US_PER_MS,
    args: { ...(lowMs !== null && { lowMs }), ...(highMs !== null && { highMs }) },
  };
}
