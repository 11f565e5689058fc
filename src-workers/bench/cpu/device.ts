import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, cpus, freemem, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import type { MeasuringDevice } from '../../domain/benchmark.ts';
import { ASSUMED_CACHE_BYTES } from './cpu-plan.ts';

const SYSTEM_CPUS = '/sys/devices/system/cpu';
const UNITS: Readonly<Record<string, number>> = { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 };

function read(...path: readonly string[]): string | null {
  try {
    return readFileSync(join(...path), 'utf8').trim();
  } catch {
    return null;
  }
}

function folders(path: string, pattern: RegExp): string[] {
  try {
    return readdirSync(path).filter((entry) => pattern.test(entry));
  } catch {
    return [];
  }
}

/** Returns the total size of all instances of the largest data cache; `null` if the system reports none. */
export function lastLevelCacheBytes(root = SYSTEM_CPUS): number | null {
  let highest = 0;
  let instances = new Map<string, number>();
  for (const cpu of folders(root, /^cpu\d+$/)) {
    for (const index of folders(join(root, cpu, 'cache'), /^index\d+$/)) {
      const folder = join(root, cpu, 'cache', index);
      const size = /^(\d+)([KMG]?)$/.exec(read(folder, 'size') ?? '');
      const level = Number(read(folder, 'level'));
      if (!size || !(level >= highest) || read(folder, 'type') === 'Instruction') continue;
      if (level > highest) instances = new Map();
      highest = level;
      instances.set(read(folder, 'shared_cpu_list') ?? cpu, Number(size[1]) * UNITS[size[2]]);
    }
  }
  const total = [...instances.values()].reduce((sum, bytes) => sum + bytes, 0);
  return total > 0 ? total : null;
}

function physicalCores(): number | null {
  const siblings = (cpu: string) => read(SYSTEM_CPUS, cpu, 'topology', 'thread_siblings_list') ?? [];
  const cores = new Set(folders(SYSTEM_CPUS, /^cpu\d+$/).flatMap(siblings));
  return cores.size > 0 ? cores.size : null;
}

export function cpuDevice(): MeasuringDevice {
  const cores = cpus();
  const name = cores[0]?.model.trim() || 'CPU';
  const available = availableParallelism();
  const usable = Math.min(physicalCores() ?? available, available);
  const driver = `${type()} ${release()}`;
  const versions = { node: process.versions.node, v8: process.versions.v8 };
  const cache = lastLevelCacheBytes();
  const hugePages = read('/sys/kernel/mm/transparent_hugepage/enabled');
  return {
    type: 'device',
    backend: 'cpu',
    name,
    fingerprint: ['cpu', name, usable, process.arch, driver, versions.node, versions.v8].join('|'),
    driver,
    versions,
    threadGroupWidth: null,
    multiprocessors: usable,
    clockMhz: cores[0] && cores[0].speed > 0 ? cores[0].speed : null,
    timer: 'host',
    properties: {
      architecture: process.arch,
      logicalProcessors: cores.length,
      availableProcessors: available,
      lastLevelCacheBytes: cache ?? ASSUMED_CACHE_BYTES,
      lastLevelCacheFrom: cache === null ? 'assumed' : 'system',
      totalMemoryBytes: totalmem(),
      freeMemoryBytes: freemem(),
      ...(hugePages === null ? {} : { transparentHugePages: hugePages }),
      // Node cannot pin threads to cores, so the system may move them during a case.
      threadPinning: 'none',
      kernels: 'WebAssembly, 128-bit vectors',
      triadBytesPerElement: 24,
      startedAt: new Date().toISOString(),
    },
  };
}
