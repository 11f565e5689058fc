import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { namedFiles, readContents, sourcePath } from '../../../src-workers/bench/kernel/files.ts';
import { findEntry } from '../../../src-workers/bench/kernel/launches.ts';
import type { Ability } from '../../../src-workers/domain/ability.ts';
import type { BenchBackend } from '../../../src-workers/domain/benchmark.ts';
import type { KernelManifest, KernelTask } from '../../../src-workers/domain/kernel-manifest.ts';
import {
  ok,
  systemReason,
  type Result,
  badInput,
  unsupported,
  conflict,
  notFound,
} from '../../../src-workers/domain/result.ts';
import { AXIS } from '../../../src-workers/domain/space.ts';
import { describeDesign } from '../../../src-workers/predict/designs.ts';
import { axisPosition, rankedDesigns } from '../../../src-workers/sweep/ranking.ts';
import { parseKernelManifest } from '../../contract/kernel-manifest.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import { readText } from '../files/files.ts';
import type { Context } from '../context.ts';
import { deviceFilter } from '../ranking/rows.ts';
import type { RunView } from '../runs/run-view.ts';
import { checkMayRunPrograms, EMULATION_TARGET, isOpencl, PAGE_TARGET } from './targets.ts';

export type AskedKernel = ProcedureArguments<'bench.start'>['kernel'];

export function kernelBackend(
  context: Context,
  target: string,
  backend: BenchBackend,
  kernel: NonNullable<AskedKernel>,
): Result<BenchBackend> {
  const may = checkMayRunPrograms(context, `lockstep bench RUN --kernel ${kernel.file}`);
  if (!may.ok) return may;
  if (target === EMULATION_TARGET || isOpencl(target)) return ok('program');
  if (!['cuda', 'hip', 'webgpu'].includes(backend) || target === PAGE_TARGET)
    return badInput(
      `A kernel is measured on the targets cuda:0, hip:0, opencl:0, webgpu and emulation, not on ${target}.`,
      { field: 'target' },
    );
  return ok(backend === 'webgpu' ? backend : 'program');
}

/** How units are taken depends on the user's kernel, not on the target. */
export function kernelAbility(ability: Ability): Ability {
  return { ...ability, threadsPerUnit: null, bestBuckets: true, wholeUnits: false, tiles: false };
}

export async function kernelTask(
  { file }: NonNullable<AskedKernel>,
  view: RunView,
  deviceId: string,
  target: string,
): Promise<Result<KernelTask>> {
  const read = await readKernel(file);
  if (!read.ok) return read;
  const gpu = /^(cuda|hip|opencl):(\d+)$/.exec(target);
  const emulated = target === EMULATION_TARGET;
  const opencl = isOpencl(target);
  const language = opencl ? 'cl' : gpu?.[1] === 'hip' ? 'hip' : gpu || emulated ? 'cu' : 'wgsl';
  if (sourcePath(read.value, language) === null)
    return unsupported(
      `${file}: "sources" has no .${language} file${language === 'hip' ? ' and no .cu file' : ''}, which the target ${target} needs. Add such a file, or specify another --target.`,
      { field: 'sources' },
    );
  const device = view.devices.find(({ id }) => id === deviceId);
  const task = {
    ...read.value,
    units: view.study.study.workload.units,
    threadGroupWidth: device?.kind === 'gpu' ? device.threadGroupWidth : 1,
    device: gpu ? Number(gpu[2]) : null,
    ...(language === 'hip' && { platform: 'hip' as const }),
    ...(opencl && { platform: 'opencl' as const }),
    ...(emulated && { platform: 'emulation' as const }),
  };
  // The files will be read again later. Checking them here reports a wrong file before a run is opened.
  const key = `${task.digest} ${task.units}`;
  if (!readable.has(key)) {
    const contents = await readContents(task);
    if (!contents.ok) return contents;
    readable.add(key);
  }
  return ok(task);
}

/** Kernels whose files could be read, by digest and number of units. Tunings request the same kernel repeatedly. */
const readable = new Set<string>();

export async function kernelAgain(before: KernelTask): Promise<Result<KernelTask>> {
  const again = await readKernel(before.file);
  if (!again.ok) return again;
  return again.value.digest === before.digest
    ? ok({ ...before, ...again.value })
    : conflict(`${before.file}, or a file that it names, has changed since it was measured. Start a new run.`);
}

async function readKernel(named: string): Promise<Result<Pick<KernelTask, 'manifest' | 'file' | 'digest'>>> {
  const file = resolve(named);
  const text = await readText(file, 'the manifest of a kernel (JSON)');
  if (!text.ok) return text;
  const manifest = parseKernelManifest(text.value, named);
  if (!manifest.ok) return manifest;
  const digest = await computeDigest(text.value, manifest.value, file);
  return digest.ok ? ok({ manifest: manifest.value, file, digest: digest.value }) : digest;
}

async function computeDigest(text: string, manifest: KernelManifest, path: string): Promise<Result<string>> {
  const digest = createHash('sha256').update(text);
  for (const named of namedFiles(manifest, path)) {
    const ofFile = createHash('sha256');
    try {
      // Something like /dev/zero is no file and would never end.
      if (!(await stat(named)).isFile())
        return badInput(`${path} names ${named}, which is not a file. Specify a file.`);
      await pipeline(createReadStream(named), ofFile);
    } catch (error) {
      return notFound(`${path} names ${named}, which cannot be read (${systemReason(error)}).`);
    }
    digest.update(ofFile.digest());
  }
  return ok(digest.digest('hex'));
}

/**
 * Without named designs, the kernel must implement all valid designs of the device, because a choice from only a part
 * of a sweep says nothing about the sweep. Fails with `unsupported` and names what the kernel does not implement.
 */
export function checkImplemented(
  view: RunView,
  deviceId: string,
  manifest: KernelManifest,
  named: readonly number[] | undefined,
): Result<null> {
  const filter = deviceFilter(view, deviceId);
  if (!filter.ok) return filter;
  const { ranking } = view;
  const seen = new Set<number>();
  for (const design of named ?? rankedDesigns(ranking, filter.value, 'timeMs')) {
    // Kernels accept any grid and any number of units per thread, so most designs need no separate check.
    const key = KEY_AXES.reduce(
      (sum, axis) => sum * ranking.counts[AXIS[axis]] + axisPosition(ranking, AXIS[axis], design),
      0,
    );
    if (seen.has(key)) continue;
    seen.add(key);
    const entry = findEntry(manifest, describeDesign(view.predictor, design).design);
    if (!entry.ok)
      return unsupported(
        `Design ${design} of run ${view.run.id}: ${entry.error.message}. ${named ? 'Specify other designs' : 'Remove the value from a copy of the study and predict the copy, or specify designs with --design'}.`,
      );
  }
  return ok(null);
}

const KEY_AXES = ['implementation', 'blockWidth', 'threadsPerUnit', 'loop', 'balancing', 'blockThreads'] as const;
