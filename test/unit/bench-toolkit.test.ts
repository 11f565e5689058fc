import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { knownByRelease, neededToolkit, findReleases } from '../../src-workers/bench/cuda/releases.ts';
import * as toolkit from '../../src-workers/bench/cuda/toolkit.ts';
import { cudaAdvice } from '../../src-main/services/measuring/targets.ts';
import { isSameDevice } from '../../src-main/services/measuring/device.ts';
import type { GpuDevice } from '../../src-workers/domain/device.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { measuringDevice } from '../measuring.ts';
import { testFolder } from '../workplace.ts';

const folder = testFolder();

/** Makes a toolkit whose nvcc lists these architectures. If the list is empty, nvcc only prints its release. */
function makeToolkit(name: string, codes: readonly string[], release = '13.0.88'): string {
  const nvcc = join(folder, name, 'bin', 'nvcc');
  mkdirSync(dirname(nvcc), { recursive: true });
  const list = codes.length > 0 ? `echo "${codes.join('\n')}"` : 'exit 1';
  const body = `case $1 in
  --list-gpu-code) ${list} ;;
  --version) echo "Cuda compilation tools, release ${release.slice(0, 4)}, V${release}" ;;
esac`;
  writeFileSync(nvcc, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  return nvcc;
}

describe('the compiler for the GPUs of a machine', () => {
  const KNOWN = toolkit.knownCapabilities('sm_75\nsm_80\nsm_86\nsm_90\nsm_90a\nsm_120\n');
  it.each<[string, string, readonly number[], readonly string[], readonly number[]]>([
    ['several GPUs, each kind once', '9.0\n8.6\n9.0\n', KNOWN, ['sm_86', 'sm_90'], []],
    ['a GPU between those that nvcc knows', '8.9\n', KNOWN, ['compute_86'], []],
    ['a GPU newer than nvcc', '12.1\r\n', KNOWN, ['compute_120'], []],
    ['a GPU older than nvcc beside another', '6.1\n9.0\n', KNOWN, ['sm_90'], [61]],
    ['a GPU older than nvcc alone', '6.1\n', KNOWN, [], [61]],
    ['an nvcc that does not list its architectures', '12.0\n', [], ['sm_120'], []],
    ['a GPU that does not report its capability', '[N/A]\n', KNOWN, ['native'], []],
    ['a driver that has failed', 'No devices were found\n', KNOWN, ['native'], []],
  ])('has the right flags for %s', (_what, said, known, architectures, lacking) => {
    const chosen = toolkit.chooseToolkit([{ nvcc: 'nvcc', known }], toolkit.readCapabilities(said));
    expect(chosen).toEqual({ nvcc: 'nvcc', architectures, lacking });
  });

  it('is the first that knows most of the GPUs, and machine code counts more than code for the driver', () => {
    const toolkits = [
      { nvcc: 'new', known: [75, 90, 120] },
      { nvcc: 'old', known: [70, 75, 90] },
      { nvcc: 'between', known: [70, 90, 120] },
    ];
    const chosen = (...capabilities: number[]) => toolkit.chooseToolkit(toolkits, capabilities);
    expect([chosen(90).nvcc, chosen(70, 90).nvcc]).toEqual(['new', 'old']);
    expect(chosen(70, 120)).toEqual({ nvcc: 'between', architectures: ['sm_120', 'sm_70'], lacking: [] });
    expect(chosen(35, 120)).toMatchObject({ nvcc: 'new', lacking: [35] });
  });

  it('is searched where the user says, in PATH, then under CUDA_HOME, CUDA_PATH and the paths of other versions', async () => {
    const { findNvcc } = toolkit;
    const home = makeToolkit('home', ['sm_75', 'sm_90']);
    const old = makeToolkit('old', ['sm_70', 'sm_90']);
    const older = makeToolkit('older', [], '11.8.89');
    const homeOf = (nvcc: string): string => dirname(dirname(nvcc));
    const empty = join(folder, 'empty');
    mkdirSync(join(empty, 'nvcc'), { recursive: true });
    const environment = { PATH: empty, CUDA_HOME: homeOf(home) };
    expect(unwrap(await findNvcc({ PATH: `${empty}:${dirname(old)}`, CUDA_HOME: homeOf(home) }))).toBe(old);
    expect(unwrap(await findNvcc(environment))).toBe(home);
    expect(unwrap(await findNvcc({ PATH: empty, CUDA_PATH: homeOf(home) }))).toBe(home);
    expect(unwrap(await findNvcc({ PATH: '/bin', NVCC: home }))).toBe(home);
    expect(await findNvcc({ NVCC: join(empty, 'nvcc') })).toFail('not-found');
    const several = { ...environment, CUDA_PATH_V12_9: homeOf(old), CUDA_PATH_V11_8: homeOf(older) };
    expect(unwrap(await findNvcc(several, 'sm_90'))).toBe(home);
    expect(unwrap(await findNvcc(several, 'sm_70'))).toBe(old);
    // This nvcc does not list its architectures, so its release determines them.
    expect(unwrap(await findNvcc(several, 'compute_35'))).toBe(older);
    // If the user names a toolkit, it is used, and the architectures that it lacks are reported.
    const named = unwrap(await toolkit.findToolkit({ ...several, NVCC: home }, [70, 90]));
    expect(named).toEqual({ nvcc: home, architectures: ['sm_90'], lacking: [70] });
    const lacking = 'compute capability 7.0 needs CUDA 12.9 or older; set NVCC=/path/to/nvcc';
    expect(toolkit.lackingText(named.lacking)).toBe(lacking);
  });
});

it('asks the nvidia-smi of the driver if WSL does not have it in PATH', async () => {
  const [none, wsl] = [join(folder, 'none'), join(folder, 'wsl')];
  mkdirSync(wsl, { recursive: true });
  writeFileSync(join(wsl, 'nvidia-smi'), '#!/bin/sh\necho "$1"\n', { mode: 0o755 });
  const asked = (folder: string) => toolkit.askNvidiaSmi('compute_cap', { PATH: none }, folder);
  expect([await asked(wsl), await asked(none)]).toEqual(['--query-gpu=compute_cap\n', null]);
});

it('a slice of a multi-instance GPU has a name, and is the device that a study names as a part of the whole', () => {
  const name = 'NVIDIA A100-SXM4-40GB MIG 1g.5gb';
  const device = measuringDevice({ name, multiprocessors: 14, properties: { ordinal: 0, launchTimeLimit: 0 } });
  expect(cudaAdvice(device)).toMatch(/^This is a slice \(MIG\) of a GPU, which a study names DEVICE:14:slice\./);
  expect(cudaAdvice({ ...device, name: 'NVIDIA A100-SXM4-40GB' })).toBe('');
  const whole = { kind: 'gpu', id: 'a100', name: 'NVIDIA A100 SXM4 40 GB', multiprocessors: 108 } as GpuDevice;
  expect(isSameDevice(whole, device)).toBe(false);
  const slice = { ...whole, id: 'a100:14:slice', name: `${whole.name} (14 of 108 SMs, slice)`, multiprocessors: 14 };
  expect(isSameDevice(slice, device)).toBe(true);
});

it("the host's compiler is chosen by nvcc, and on Windows it is named, in PATH, or where Visual Studio is installed", async () => {
  const { hostCompilerFlags } = toolkit;
  const programs = { 'ProgramFiles(x86)': folder };
  expect(unwrap(await hostCompilerFlags({}, 'linux'))).toEqual([]);
  expect(unwrap(await hostCompilerFlags({ NVCC_CCBIN: 'C:\\vs' }, 'win32'))).toEqual([]);
  expect(await hostCompilerFlags(programs, 'win32')).toFail('not-found', /NVCC_CCBIN/);
  const installer = join(folder, 'Microsoft Visual Studio', 'Installer');
  mkdirSync(installer, { recursive: true });
  const tools = 'C:\\VS\\VC\\Tools\\MSVC\\14.4\\bin\\Hostx64\\x64';
  const script = `#!/bin/sh\nprintf '%s\\r\\n' '${tools}\\cl.exe'\n`;
  writeFileSync(join(installer, 'vswhere.exe'), script, { mode: 0o755 });
  expect(unwrap(await hostCompilerFlags(programs, 'win32'))).toEqual(['-ccbin', tools]);
  writeFileSync(join(folder, 'cl.exe'), '#!/bin/sh\n', { mode: 0o755 });
  expect(unwrap(await hostCompilerFlags({ PATH: folder }, 'win32'))).toEqual([]);
});

it('the releases that know a compute capability are named, and the compute capabilities of a release are listed', () => {
  expect([30, 37, 70].map(findReleases)).toEqual(['CUDA 10.2 or older', 'CUDA 11.8 or older', 'CUDA 12.9 or older']);
  expect([75, 121, 999].map(findReleases)).toEqual(['CUDA 10.0 or newer', 'CUDA 12.9 or newer', null]);
  expect(knownByRelease('12.9.86')).toEqual(expect.arrayContaining([50, 70, 75, 90, 120, 121]));
  expect(knownByRelease('12.9.86')).not.toContain(110);
  expect(knownByRelease('13.0.88').slice(0, 2)).toEqual([75, 80]);
  expect(knownByRelease('0.0.0')).toEqual([]);
  const none = 'compute capability 3.0 needs CUDA 10.2 or older, which does not compile these C++17 kernels';
  expect(neededToolkit(30)).toBe(none);
});
