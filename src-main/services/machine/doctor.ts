import { readFile } from 'node:fs/promises';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { inspectDatabase } from '../../../db/open.ts';
import { findHipcc, hipVersion } from '../../../src-workers/bench/cuda/hip.ts';
import {
  askNvidiaSmi,
  findToolkit,
  lackingText,
  localCapabilities,
  nvccVersion,
} from '../../../src-workers/bench/cuda/toolkit.ts';
import { findProgram, isProgram, pathFolders } from '../../../src-workers/bench/tool.ts';
import type { DoctorCheck } from '../../contract/api.ts';
import type { MeasuringPrograms } from '../measuring/programs.ts';
import { webgpuTarget } from '../measuring/targets.ts';
import { CHROMIUM_NAMES } from './chromium.mjs';
import { makeDefaultFolder, migrationsIn } from '../files/data-folder.ts';

function check(id: string, label: string, found: string | null, advice = ''): DoctorCheck {
  return found === null
    ? { id, label, state: 'absent', found: 'not found', advice }
    : { id, label, state: 'ok', found, advice: '' };
}

async function cudaCompiler(): Promise<DoctorCheck> {
  const [id, label] = ['nvcc', 'CUDA compiler'];
  const chosen = await findToolkit(process.env, await localCapabilities());
  const version = chosen.ok ? await nvccVersion(chosen.value.nvcc) : chosen;
  const found = chosen.ok && version.ok ? `nvcc ${version.value} (${chosen.value.nvcc})` : null;
  if (found !== null && chosen.ok && chosen.value.lacking.length > 0) {
    const advice = `This nvcc cannot compile for a GPU of this machine: ${lackingText(chosen.value.lacking)}.`;
    return { id, label, state: 'problem', found, advice };
  }
  return check(
    id,
    label,
    found,
    'Measuring on CUDA needs the CUDA toolkit: nvcc in PATH, in CUDA_HOME, or named by NVCC. Predictions work without it.',
  );
}

async function hipCompiler(): Promise<string | null> {
  const hipcc = await findHipcc(process.env);
  const version = hipcc.ok ? await hipVersion(hipcc.value) : hipcc;
  return hipcc.ok && version.ok ? `HIP ${version.value} (${hipcc.value})` : null;
}

/** Linux reports the caches that the first core uses; elsewhere the text is empty. */
async function cacheSizes(): Promise<string> {
  const found: string[] = [];
  for (let index = 0; index < 8; index += 1) {
    const read = (name: string): Promise<string> =>
      readFile(`/sys/devices/system/cpu/cpu0/cache/index${index}/${name}`, 'utf8').then((text) => text.trim());
    try {
      const [level, type, size] = [await read('level'), await read('type'), await read('size')];
      if (type !== 'Instruction') found.push(`L${level} ${size.replace('K', ' KiB').replace('M', ' MiB')}`);
    } catch {
      break;
    }
  }
  return found.join(', ');
}

function databaseCheck(file: string, resourceFolder: string): DoctorCheck {
  const made = makeDefaultFolder(file);
  const looked = made.ok ? inspectDatabase({ file, migrationsFolder: migrationsIn(resourceFolder) }) : made;
  if (!looked.ok) {
    const advice = 'Choose another database with --db FILE.';
    return { id: 'database', label: 'Database', state: 'problem', found: looked.error.message, advice };
  }
  const { bytes } = looked.value;
  const size = bytes === null ? 'not created yet' : `${(bytes / 1e6).toFixed(1)} MB`;
  return check('database', 'Database', `${file} (${size})`);
}

export async function doctorChecks(
  databaseFile: string,
  resourceFolder: string,
  programs: MeasuringPrograms,
  signal?: AbortSignal,
): Promise<readonly DoctorCheck[]> {
  const database = databaseCheck(databaseFile, resourceFolder);
  const electron =
    process.env.LOCKSTEP_ELECTRON ??
    (process.versions.electron ? `Electron ${process.versions.electron}` : await electronBinary(resourceFolder));
  const browser = process.env.LOCKSTEP_CHROMIUM ?? (await findProgram(CHROMIUM_NAMES, pathFolders(process.env)));
  const [nvcc, hipcc, gpu, webgpu, caches] = await Promise.all([
    cudaCompiler(),
    hipCompiler(),
    askNvidiaSmi('name,driver_version,compute_cap').then((said) => said?.trim().split('\n')[0] || null),
    webgpuTarget(programs, signal),
    cacheSizes(),
  ]);
  const memory = `${(totalmem() / 2 ** 30).toFixed(1)} GiB`;
  const processor = [cpus()[0]?.model ?? 'unknown', `${availableParallelism()} threads`, caches, memory];
  return [
    // An old Node is refused at every start, so this one is new enough.
    check('node', 'Node', `${process.version} (${process.execPath})`),
    check('processor', 'Processor', processor.filter(Boolean).join(', ')),
    database,
    check(
      'electron',
      'Electron',
      electron,
      'The desktop window needs Electron. Install it with npx install-electron, or use the browser host (lockstep serve) instead.',
    ),
    check(
      'browser',
      'Browser',
      browser,
      'Install Chromium. It prints PDFs, shows the browser host best, and runs the browser tests.',
    ),
    nvcc,
    check(
      'cuda',
      'CUDA device',
      gpu,
      'No NVIDIA device answers nvidia-smi. Predictions do not need a device; lockstep bench --bundle packs a measurement for a machine that has one.',
    ),
    check(
      'hipcc',
      'HIP compiler',
      hipcc,
      'Measuring on AMD devices needs ROCm: hipcc in PATH, in ROCM_PATH, or named by HIPCC. Predictions work without it.',
    ),
    webgpu.available
      ? check('webgpu', 'WebGPU', webgpu.label)
      : { id: 'webgpu', label: 'WebGPU', state: 'absent', found: `not found (${webgpu.label})`, advice: webgpu.advice },
  ];
}

async function electronBinary(resourceFolder: string): Promise<string | null> {
  const binary = join(resourceFolder, 'node_modules', 'electron', 'dist', 'electron');
  return (await isProgram(binary)) ? binary : null;
}
