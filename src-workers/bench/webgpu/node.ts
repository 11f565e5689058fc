/// <reference types="@webgpu/types" />
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type { MeasuringDevice } from '../../domain/benchmark.ts';
import { errorText, ok, type Result, unsupported, notFound } from '../../domain/result.ts';
import { describeWebGpu, measuringDeviceDescriptor } from './describe.ts';

export interface NodeWebGpu {
  readonly device: GPUDevice;
  readonly info: MeasuringDevice;
}

/** Dawn crashes if a GPU from its `create` is garbage-collected while a device of this GPU is in use. */
const keptAlive: GPU[] = [];

/** Software adapters that are tried if there is no other adapter: description files of Vulkan drivers (ICDs). */
const SOFTWARE_DRIVERS = ['/usr/lib/chromium/vk_swiftshader_icd.json', '/opt/google/chrome/vk_swiftshader_icd.json'];
const LIBRARY_FOLDERS = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64', '/usr/lib'];

export function softwareDriver(env: NodeJS.ProcessEnv): string | null {
  if (env.LOCKSTEP_VULKAN_ICD) return existsSync(env.LOCKSTEP_VULKAN_ICD) ? env.LOCKSTEP_VULKAN_ICD : null;
  return SOFTWARE_DRIVERS.find((file) => existsSync(file)) ?? null;
}

/** Returns environment variables for a software adapter; `null` if one is set, no driver is found, or not on Linux. */
export function softwareEnvironment(env: NodeJS.ProcessEnv): Readonly<Record<string, string>> | null {
  if (process.platform !== 'linux' || env.VK_ICD_FILENAMES || env.VK_DRIVER_FILES) return null;
  const driver = softwareDriver(env);
  if (driver === null) return null;
  const added: Record<string, string> = { VK_ICD_FILENAMES: driver };
  if (!LIBRARY_FOLDERS.some((folder) => existsSync(join(folder, 'libvulkan.so.1'))))
    added.LD_LIBRARY_PATH = [env.LD_LIBRARY_PATH, dirname(driver)].filter(Boolean).join(delimiter);
  return added;
}

/** Opens Dawn's fastest adapter. Fails with `not-found`, or `unsupported` if the package or a device is missing. */
export async function openNodeWebGpu(): Promise<Result<NodeWebGpu>> {
  let create: (flags: string[]) => GPU;
  try {
    ({ create } = await import('webgpu'));
  } catch (error) {
    const reason = errorText(error);
    return unsupported(`the optional package webgpu (Dawn for Node) does not load here: ${reason}`);
  }
  // Without this toggle, Dawn rounds timestamps to 0.1 ms.
  const gpu = create(['disable-dawn-features=timestamp_quantization']);
  keptAlive.push(gpu);
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' }).catch(() => null);
  if (!adapter)
    return notFound(
      'No WebGPU adapter was found. Install a driver for Vulkan, Metal or Direct3D 12, or Chromium, which contains SwiftShader.',
    );
  try {
    const device = await adapter.requestDevice(measuringDeviceDescriptor(adapter));
    const processor = `${cpus()[0]?.model ?? 'unknown processor'} × ${cpus().length}`;
    const versions = { node: process.versions.node, webgpu: packageVersion() };
    return ok({ device, info: describeWebGpu(adapter, device, { versions, processor }) });
  } catch (error) {
    return unsupported(`The adapter provides no device: ${errorText(error)}`);
  }
}

function packageVersion(): string {
  const file = createRequire(import.meta.url).resolve('webgpu');
  return (JSON.parse(readFileSync(join(dirname(file), 'package.json'), 'utf8')) as { version: string }).version;
}
