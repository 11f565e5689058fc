import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BENCH_BACKENDS, type BenchPlan, type PlanLine, type PlanSource } from '../domain/benchmark.ts';
import { errorText, ok, type Result, notFound, badInput } from '../domain/result.ts';
import { MAX_MEASURED_UNITS } from './unit-loop.ts';
import { wordBytes } from './words.ts';

/** Lengths have their own file, since tens of millions of them are too many for JSON. */
const PLAN_FILE = 'plan.json';
export const LENGTHS_FILE = 'lengths.u32';

type StoredPlan = PlanLine['plan'];

/** Replaces the lengths by their digest, because they can be made again. */
export function keptPlan(plan: BenchPlan, lengthsDigest: string | null, source: PlanSource | null): PlanLine {
  const { workload, ...rest } = plan;
  if (!workload) return { type: 'plan', plan: { ...rest, workload: null }, lengthsDigest, source };
  const { lengths, ...described } = workload;
  const units = { ...described, units: lengths.length };
  return { type: 'plan', plan: { ...rest, workload: units }, lengthsDigest, source };
}

export async function writePlanFolder(folder: string, plan: BenchPlan): Promise<void> {
  await mkdir(folder, { recursive: true });
  if (plan.workload) await writeFile(join(folder, LENGTHS_FILE), wordBytes(plan.workload.lengths));
  await writeFile(join(folder, PLAN_FILE), JSON.stringify(keptPlan(plan, null, null).plan));
}

/** Fails with `not-found`, or with `bad-input` if `writePlanFolder` did not write the folder. */
export async function readPlanFolder(folder: string): Promise<Result<BenchPlan>> {
  const file = join(folder, PLAN_FILE);
  let stored: StoredPlan;
  try {
    stored = JSON.parse(await readFile(file, 'utf8')) as StoredPlan;
  } catch (error) {
    return notFound(`${file}: ${errorText(error)}`);
  }
  if (stored?.format !== 'lockstep-bench' || stored.version !== 1)
    return badInput(`${file}: the format is ${stored?.format} version ${stored?.version}, not lockstep-bench 1`);
  if (!BENCH_BACKENDS.includes(stored.backend) || !Array.isArray(stored.cases))
    return badInput(`${file}: this is not a plan, since it has no backend or no cases`);
  const { workload } = stored;
  if (!workload) return ok({ ...stored, workload: null });
  if (!(Number.isInteger(workload.units) && workload.units >= 1 && workload.units <= MAX_MEASURED_UNITS))
    return badInput(
      `${file}: the number of units must be an integer from 1 to ${MAX_MEASURED_UNITS}, not ${workload.units}`,
    );
  const path = join(folder, LENGTHS_FILE);
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (error) {
    return notFound(`${path}: ${errorText(error)}`);
  }
  if (bytes.length !== 4 * workload.units)
    return badInput(`${path}: the file has ${bytes.length} bytes instead of ${4 * workload.units}`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const lengths = Uint32Array.from({ length: workload.units }, (_, unit) => view.getUint32(4 * unit, true));
  const { label, profile, traffic } = workload;
  return ok({ ...stored, workload: { label, lengths, profile, traffic: traffic ?? null } });
}
