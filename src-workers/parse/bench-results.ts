import type { BenchRecord, CaseResult, MeasuringDevice, PlanLine } from '../domain/benchmark.ts';
import { ok, type Result, badInput } from '../domain/result.ts';
import { parseBenchRecord, parsePlanLine, recordType } from './bench-records.ts';
import { addRecord, caseResult, gatheredCase, type GatheredCase } from './case-records.ts';
import { Slice } from './slice.ts';
import { caught, refuse, shown } from './source.ts';

export interface BenchResults {
  readonly plan: PlanLine;
  /** `null` if the file ends before the record of the device. The cases then have no times. */
  readonly device: MeasuringDevice | null;
  readonly cases: readonly CaseResult[];
  readonly elapsedMs: number;
  readonly done: boolean;
  readonly warnings: readonly string[];
}

/** A line may hold a plan with all its cases, or a list with one number per work group. */
const MAX_LINE_BYTES = 64 * 2 ** 20;
/** Maximum number of times of all cases together. They take 64 MB. */
const MAX_SAMPLES = 2 ** 23;
const NEWLINE = 0x0a;
const MAX_NAMED = 5;

type Sample = Extract<BenchRecord, { readonly type: 'sample' }>;

interface Attempt extends GatheredCase {
  session: number;
  last: Sample | null;
}

/**
 * Reads a plan and the records of the program that measured. The program may have been stopped at any point and started
 * again. If it repeated a case, the later records replace the earlier ones. A truncated last line, and records of an
 * unknown type or case, are dropped with a warning. Reading fails if the plan or the device changes within a file.
 */
export function parseBenchResults(bytes: Uint8Array, label: string): Promise<Result<BenchResults>> {
  return caught<BenchResults>(async () => {
    const { takeLine, results } = gatherResults(label);
    await eachLine(bytes, label, takeLine);
    return results();
  });
}

type TakeLine = (text: string, line: number, isLast: boolean) => void;

async function eachLine(bytes: Uint8Array, label: string, takeLine: TakeLine): Promise<void> {
  const decoder = new TextDecoder('utf-8');
  const slice = new Slice();
  let line = 0;
  for (let start = 0; start < bytes.length;) {
    const found = bytes.indexOf(NEWLINE, start);
    const end = found < 0 ? bytes.length : found;
    line++;
    if (end - start > MAX_LINE_BYTES)
      refuse(label, { line }, `a line of ${end - start} bytes exceeds the limit of ${MAX_LINE_BYTES}`);
    const text = decoder.decode(bytes.subarray(start, end)).trim();
    start = end + 1;
    if (text !== '') takeLine(text, line, start >= bytes.length);
    if (slice.isOver) await slice.next();
  }
}

function gatherResults(label: string): { readonly takeLine: TakeLine; readonly results: () => Result<BenchResults> } {
  let plan: PlanLine | null = null;
  let planText = '';
  let device: MeasuringDevice | null = null;
  let session = 0;
  let elapsedMs = 0;
  let done = false;
  let samples = 0;
  const known = new Set<string>();
  const attempts = new Map<string, Attempt>();
  const again = new Set<string>();
  const unknownCases = new Set<string>();
  const unknownTypes = new Map<string, number>();
  const warnings: string[] = [];

  const takePlan = (value: unknown, line: number): void => {
    const read = parsePlanLine(value);
    if (!read.ok) refuse(label, { line }, read.error.message);
    const { plan: planned, lengthsDigest } = read.value;
    const text = JSON.stringify([planned, lengthsDigest]);
    if (plan && text !== planText)
      refuse(label, { line }, 'this plan differs from the plan of line 1. A file holds the results of one plan');
    plan ??= read.value;
    planText = text;
    for (const { id } of planned.cases) known.add(id);
  };
  const attemptOf = (id: string, sample: Sample | null): Attempt => {
    const before = attempts.get(id);
    const goesOn =
      before?.failure === null &&
      (before.last === null || (before.session === session && !(sample && isAgain(before.last, sample))));
    if (before && goesOn) {
      before.session = session;
      return before;
    }
    if (before) again.add(id);
    const attempt: Attempt = { session, last: null, ...gatheredCase() };
    attempts.set(id, attempt);
    return attempt;
  };

  const take = (record: BenchRecord, line: number): void => {
    if (record.type === 'device') {
      if (device && device.fingerprint !== record.fingerprint)
        refuse(
          label,
          { line },
          `device ${shown(record.fingerprint)} follows device ${shown(device.fingerprint)}. A file holds the results of one device and driver`,
        );
      device ??= record;
      session++;
      done = false;
      return;
    }
    if (record.type === 'done') {
      elapsedMs += record.elapsedMs;
      done = true;
      return;
    }
    if (record.type === 'lost') {
      warnings.push(`The device was lost: ${record.message}.`);
      return;
    }
    // The record of a case that was compiled, or failed, may come before the record of the device.
    if (!device && record.type !== 'compiled' && record.type !== 'failed')
      refuse(label, { line }, `a record of type "${record.type}" precedes the device, which must come first`);
    if (!known.has(record.case)) {
      unknownCases.add(record.case);
      return;
    }
    if (record.type === 'turn') return;
    const attempt = attemptOf(record.case, record.type === 'sample' ? record : null);
    if (record.type === 'sample') {
      samples++;
      if (samples > MAX_SAMPLES) refuse(label, { line }, `the file has more samples than the limit of ${MAX_SAMPLES}`);
      attempt.last = record;
    }
    addRecord(attempt, record);
  };

  const takeLine = (text: string, line: number, isLast: boolean): void => {
    const value = parsedLine(text);
    if (value === null) {
      if (isLast && plan) {
        warnings.push(`Line ${line} is cut off and was left out.`);
        return;
      }
      refuse(label, { line }, `${shown(text)} is not a JSON object`);
    }
    if (value.cutOff) warnings.push(`Line ${line} begins with a record that is cut off and was left out.`);
    const type = recordType(value.json);
    if (!plan && type !== 'plan') {
      const found = type === null ? shown(text) : `a record of type "${type}"`;
      refuse(label, { line }, `the file begins with ${found}. It must begin with the plan`);
    }
    if (type === 'plan') return takePlan(value.json, line);
    const record = parseBenchRecord(value.json);
    if (!record.ok) refuse(label, { line }, record.error.message);
    if (record.value) take(record.value, line);
    else unknownTypes.set(type ?? '', (unknownTypes.get(type ?? '') ?? 0) + 1);
  };

  const results = (): Result<BenchResults> => {
    if (!plan) return badInput(`${label}: the file is empty. It must hold a plan and its results`);
    const planned = plan.plan;
    const cases = planned.cases.flatMap((one): CaseResult[] => {
      const attempt = attempts.get(one.id);
      return attempt ? [caseResult(one, attempt)] : [];
    });
    warnings.push(...leftOutWarnings(again, unknownCases, unknownTypes));
    warnings.push(...missingWarnings(planned, cases, done));
    return ok({ plan, device, cases, elapsedMs, done, warnings });
  };
  return { takeLine, results };
}

function leftOutWarnings(
  again: ReadonlySet<string>,
  unknownCases: ReadonlySet<string>,
  unknownTypes: ReadonlyMap<string, number>,
): readonly string[] {
  const warnings: string[] = [];
  if (again.size > 0) warnings.push(`Repeated cases: ${named(again)}. Only the last measurement of each counts.`);
  if (unknownCases.size > 0)
    warnings.push(`Records of cases that are not in the plan were left out: ${named(unknownCases)}.`);
  for (const [type, count] of unknownTypes)
    warnings.push(
      `Records of the type ${shown(type)}, which this version does not know, were left out. Their number: ${count}.`,
    );
  return warnings;
}

function missingWarnings(planned: PlanLine['plan'], cases: readonly CaseResult[], done: boolean): readonly string[] {
  const warnings: string[] = [];
  const short = cases.filter(
    ({ timesMs, failure }) => failure === null && timesMs.length > 0 && timesMs.length < planned.repeats,
  );
  if (short.length > 0)
    warnings.push(`Fewer than ${planned.repeats} repeats: ${named(short.map((one) => one.case.id))}.`);
  if (!done || cases.length < planned.cases.length) {
    const how = done ? 'The file has' : 'The measurement was interrupted: the file has';
    warnings.push(`${how} ${cases.length} of ${planned.cases.length} cases.`);
  }
  return warnings;
}

function named(ids: Iterable<string>): string {
  const all = [...ids];
  return all.length > MAX_NAMED
    ? `${all.slice(0, MAX_NAMED).join(', ')} and ${all.length - MAX_NAMED} more`
    : all.join(', ');
}

/** A stopped program may leave an incomplete line, which the restarted program continues with another object. */
function parsedLine(text: string): { readonly json: unknown; readonly cutOff: boolean } | null {
  for (const [from, cutOff] of [
    [0, false],
    [text.lastIndexOf('{"type":'), true],
  ] as const) {
    if (from < 0 || (cutOff && from === 0)) continue;
    try {
      return { json: JSON.parse(text.slice(from)), cutOff };
    } catch {
      // No JSON value begins at this position.
    }
  }
  return null;
}

/** Returns whether a new attempt at the case begins: an attempt has warm-ups first, then repeats in rising order. */
function isAgain(before: Sample, next: Sample): boolean {
  if (before.warmUp !== next.warmUp) return next.warmUp;
  return next.repeat <= before.repeat;
}
