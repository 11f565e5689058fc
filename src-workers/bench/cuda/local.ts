import { dirname } from 'node:path';
import type { MeasuringDevice } from '../../domain/benchmark.ts';
import { ok, type Result, notFound } from '../../domain/result.ts';
import { parseBenchRecord } from '../../parse/bench-records.ts';
import { runTool } from '../tool.ts';
import { compileCuda, type CudaCompilation } from './compile.ts';
import { DEVICES_OBJECT } from './cuda-plan.ts';
import { findToolkit, localCapabilities, readCapabilities, type ToolkitChoice } from './toolkit.ts';

export type CompilationPlace = Pick<CudaCompilation, 'sources' | 'cacheFolder' | 'timeLimitMs' | 'signal'>;

const ASK_LIMIT_MS = 30_000;

/** Fails as `compileCuda` does, and with `not-found` and the reason if no device answers. */
export async function listDevices(
  compiler: Pick<CudaCompilation, 'nvcc' | 'hip'>,
  place: CompilationPlace,
): Promise<Result<readonly MeasuringDevice[]>> {
  const compiled = await compileCuda({ ...compiler, ...place, objects: [DEVICES_OBJECT], architectures: [] });
  if (!compiled.ok) return compiled;
  const { program } = compiled.value;
  const asked = await runTool(program, [], { timeLimitMs: ASK_LIMIT_MS, cwd: dirname(program), signal: place.signal });
  if (!asked.ok) return asked.error.code === 'cancelled' ? asked : notFound(asked.error.message);
  return readDevices(asked.value.stdout);
}

export function readDevices(stdout: string): Result<readonly MeasuringDevice[]> {
  const devices: MeasuringDevice[] = [];
  for (const line of stdout.split('\n')) {
    if (!line.startsWith('{')) continue;
    const record = parseBenchRecord(JSON.parse(line));
    if (!record.ok) return record;
    if (record.value?.type === 'lost') return notFound(record.value.message);
    if (record.value?.type === 'device') devices.push(record.value);
  }
  return devices.length > 0 ? ok(devices) : notFound('no device');
}

export const capabilitiesOf = (devices: readonly MeasuringDevice[]): readonly number[] =>
  readCapabilities(devices.map(({ properties }) => properties.computeCapability ?? '').join('\n'));

/** Chooses a toolkit for the GPUs that nvidia-smi lists or, if it lists none, that our program finds through CUDA. */
export async function localToolkit(place: CompilationPlace): Promise<Result<ToolkitChoice>> {
  const named = await localCapabilities();
  const chosen = await findToolkit(process.env, named);
  if (!chosen.ok || named.length > 0) return chosen;
  const devices = await listDevices(chosen.value, place);
  return devices.ok ? findToolkit(process.env, capabilitiesOf(devices.value)) : devices;
}
