import { ok, type Result, badInput } from '../domain/result.ts';

/** The record of a kernel that was traced with `db/kernels/lockstep.cuh` or `lockstep.wgsl`. */
export interface Trace {
  readonly lengths: Float64Array;
  /** `null` if only lengths are known (WGSL). */
  readonly measured: MeasuredLoss | null;
}

/** The number of lanes of a group is the largest number that was active when one of its units began. */
export interface MeasuredLoss {
  readonly threadGroupWidth: number;
  readonly threadGroups: number;
  readonly meanActiveLanes: number;
  /** Lanes that hold units, divided by active lanes, both summed over all steps; ≥ 1. */
  readonly aggregateLoss: number;
  /** Mean loss over the thread groups, ≥ 1. A group without steps has the loss 1. */
  readonly meanLoss: number;
}

const MAGIC = 0x5254534c; // The letters "LSTR".
const VERSION = 1;
const HEAD_WORDS = 8;
const RECORD_WORDS = 4;
const MAX_COUNT = 2 ** 32 - 1;

export const traceBytes = (units: number): number => 4 * (HEAD_WORDS + RECORD_WORDS * units);

/** Reads 32-bit little-endian words in the layout of `struct Trace` and `struct Record` in `lockstep.cuh`. */
export function parseTrace(bytes: Uint8Array): Result<Trace> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const word = (at: number): number => view.getUint32(4 * at, true);
  if (bytes.byteLength < traceBytes(0) || word(0) !== MAGIC)
    return badInput('The file from the program is not a trace. Write the bytes of the trace buffer.');
  if (word(1) !== VERSION)
    return badInput(`The trace has version ${word(1)}, not ${VERSION}. Use the header of lockstep trace --header.`);
  const [units, beyond, width] = [word(2), word(3), word(4)];
  if (bytes.byteLength !== traceBytes(units))
    return badInput(
      `The trace has ${bytes.byteLength} bytes, but its ${units} units need ${traceBytes(units)}. Write all bytes of the trace buffer.`,
    );
  if (beyond > 0)
    return badInput(
      `The kernel ran unit ${beyond - 1}, and the trace has room for ${units} units, 0 to ${units - 1}. Set LOCKSTEP_TRACE_UNITS (in WGSL, the size of the buffer) to the number of all units.`,
    );

  const lengths = new Float64Array(units);
  const groups = new Map<number, { lanes: number; steps: number; active: number }>();
  let missing = 0;
  let firstMissing = 0;
  for (let unit = 0; unit < units; unit++) {
    const at = HEAD_WORDS + RECORD_WORDS * unit;
    const [length, led, lanes, id] = [word(at), word(at + 1), word(at + 2), word(at + 3)];
    if (lanes === 0) {
      if (missing++ === 0) firstMissing = unit;
      continue;
    }
    if (length === MAX_COUNT)
      return badInput(`Unit ${unit} took more steps than a counter can hold. Place LOCKSTEP_STEP in an outer loop.`);
    lengths[unit] = length;
    const group = groups.get(id) ?? { lanes: 0, steps: 0, active: 0 };
    group.lanes = Math.max(group.lanes, lanes);
    group.steps += led;
    group.active += length;
    groups.set(id, group);
  }
  if (missing > 0)
    return badInput(
      missing === units
        ? 'The kernel ran no unit between LOCKSTEP_UNIT and LOCKSTEP_END. Place LOCKSTEP_TRACE_UNITS before the first launch, in the source file of the kernel.'
        : `The kernel did not run ${missing} of ${units} units; the first is unit ${firstMissing}. Place LOCKSTEP_UNIT and LOCKSTEP_END where every unit passes, or trace as many units as the kernel runs.`,
    );
  return ok({ lengths, measured: width === 0 ? null : measuredLoss([...groups.values()], width) });
}

function measuredLoss(
  groups: readonly { readonly lanes: number; readonly steps: number; readonly active: number }[],
  threadGroupWidth: number,
): MeasuredLoss {
  let [held, active, steps, losses] = [0, 0, 0, 0];
  for (const group of groups) {
    held += group.lanes * group.steps;
    active += group.active;
    steps += group.steps;
    losses += group.active > 0 ? (group.lanes * group.steps) / group.active : 1;
  }
  return {
    threadGroupWidth,
    threadGroups: groups.length,
    meanActiveLanes: steps > 0 ? active / steps : 0,
    aggregateLoss: active > 0 ? held / active : 1,
    meanLoss: losses / groups.length,
  };
}
