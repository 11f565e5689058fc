import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { exitText } from '../../../src-workers/bench/program/output.ts';
import { runTool } from '../../../src-workers/bench/tool.ts';
import { ok, type Result, unsupported, notFound, badInput } from '../../../src-workers/domain/result.ts';
import { MAX_ORDERED_LENGTHS } from '../../../src-workers/parse/length-taker.ts';
import { parseTrace, traceBytes, type MeasuredLoss } from '../../../src-workers/parse/trace.ts';
import type { GivenLoss } from '../../../src-workers/domain/loss.ts';
import { computeLossInOrder } from '../../../src-workers/predict/dealing/given.ts';
import { readBytes, writeFor } from '../files/files.ts';
import { inTemporaryFolder } from '../files/temporary-folder.ts';

const TRACE_FILE_VARIABLE = 'LOCKSTEP_TRACE_FILE';
const USUAL_WIDTH = 32;

export interface TraceRequest {
  readonly words: readonly [string, ...string[]];
  readonly units: number | null;
  readonly output: string;
  readonly timeLimitMs: number;
}

export interface TraceReport {
  readonly file: string;
  readonly units: number;
  readonly meanLength: number;
  readonly maxLength: number;
  readonly computed: GivenLoss & { readonly unitsPerGroup: number };
  readonly measured: MeasuredLoss | null;
}

/** Fails if the program fails, or if its trace is missing or incomplete. Kernels need lockstep.cuh or lockstep.wgsl. */
export async function traceProgram(request: TraceRequest, show: (text: string) => void): Promise<Result<TraceReport>> {
  const { words, timeLimitMs } = request;
  return inTemporaryFolder(async (folder) => {
    const file = join(folder, 'trace.bin');
    const ran = await runTool(words[0], words.slice(1), { timeLimitMs, env: { [TRACE_FILE_VARIABLE]: file } });
    if (!ran.ok) return ran;
    show(ran.value.stdout + ran.value.stderr);
    if (ran.value.code !== 0) return unsupported(exitText(ran.value));
    if (!existsSync(file))
      return notFound(
        `${words[0]} wrote no trace. Was it compiled with -DLOCKSTEP_TRACE, does its kernel include lockstep.cuh, and does it call LOCKSTEP_TRACE_UNITS before the launch? lockstep trace --help shows how.`,
      );
    return report(file, request);
  });
}

/** The text of tens of millions of lengths exceeds the longest string, so it is written in parts. */
async function* lengthsTable(lengths: Float64Array): AsyncGenerator<string, void> {
  yield 'length\n';
  for (let at = 0; at < lengths.length; at += PART_LENGTHS)
    yield `${lengths.subarray(at, at + PART_LENGTHS).join('\n')}\n`;
}
const PART_LENGTHS = 65_536;

async function report(file: string, { units, output }: TraceRequest): Promise<Result<TraceReport>> {
  const bytes = await readBytes(file, traceBytes(MAX_ORDERED_LENGTHS));
  if (!bytes.ok) return bytes;
  const trace = parseTrace(bytes.value);
  if (!trace.ok) return trace;
  const { lengths, measured } = trace.value;
  if (units !== null && lengths.length !== units)
    return badInput(`The program traced ${lengths.length} units, but --units is ${units}. Use one number for both.`);
  const written = await writeFor(output, lengthsTable(lengths));
  if (!written.ok) return written;
  const unitsPerGroup = measured?.threadGroupWidth ?? USUAL_WIDTH;
  const total = lengths.reduce((sum, length) => sum + length, 0);
  const maxLength = lengths.reduce((most, length) => Math.max(most, length), 0);
  return ok({
    file: output,
    units: lengths.length,
    meanLength: total / lengths.length,
    maxLength,
    computed: { unitsPerGroup, ...computeLossInOrder(lengths, lengths.length, unitsPerGroup) },
    measured,
  });
}
