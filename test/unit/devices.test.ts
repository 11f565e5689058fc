import { globSync, readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { isSameDevice } from '../../src-main/services/measuring/device.ts';
import { isEstimate, type CpuDevice, type GpuDevice } from '../../src-workers/domain/device.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { DEVICE_METRICS, deviceComparison } from '../../src-workers/models/occupancy/device-metrics.ts';
import { validateDevice } from '../../src-workers/parse/device.ts';
import { dataText } from '../data.ts';

const entries = globSync('db/devices/*.json').flatMap((file) => JSON.parse(readFileSync(file, 'utf8')) as unknown[]);
const devices = entries.map((entry) => unwrap(validateDevice(entry)));
const gpus = devices.filter((device): device is GpuDevice => device.kind === 'gpu');
const gpu = (id: string) => gpus.find((device) => device.id === id)!;
const cpus = devices.filter((device): device is CpuDevice => device.kind === 'cpu');

describe('catalogue', () => {
  it('has at least 110 GPUs, the 10 CPUs of the contention study, and unique ids and names', () => {
    expect(gpus.length).toBeGreaterThanOrEqual(110);
    expect(cpus).toHaveLength(10);
    expect(new Set(devices.map(({ id }) => id)).size).toBe(entries.length);
    expect(new Set(devices.map((device) => `${device.vendor} ${device.name}`)).size).toBe(entries.length);
  });

  it.each([
    ['NVIDIA H100 80GB HBM3', 'nvidia-h100-sxm5-80gb', 132],
    ['NVIDIA_H100_80GB_HBM3', 'nvidia-h100-sxm5-80gb'],
    ['NVIDIA H100 PCIe', 'nvidia-h100-pcie-80gb', 114],
    ['NVIDIA A100-SXM4-40GB', 'nvidia-a100-sxm4-40gb', 108],
    ['NVIDIA H100 NVL', 'nvidia-h100-nvl-94gb'],
    ['NVIDIA H200', 'nvidia-h200-sxm'],
    ['NVIDIA H200 NVL', undefined],
    ['NVIDIA GH200 480GB', 'nvidia-gh200-96gb'],
    ['NVIDIA B200', 'nvidia-b200-sxm'],
    ['NVIDIA A100-SXM4-80GB', 'nvidia-a100-sxm4-80gb'],
    ['Tesla V100-SXM2-16GB', 'nvidia-v100-sxm2-16gb'],
    ['Tesla P100-PCIE-16GB', 'nvidia-p100-pcie-16gb'],
    ['Tesla T4', 'nvidia-t4'],
    ['NVIDIA GeForce RTX 4060', 'nvidia-rtx-4060'],
    ['NVIDIA GeForce RTX 4060 Ti', 'nvidia-rtx-4060-ti'],
    ['AMD Instinct MI250X', 'amd-mi250x-gcd'],
    ['AMD Instinct MI250', 'amd-mi250-gcd'],
    ['Intel(R) Data Center GPU Max 1550', 'intel-max-1550-stack'],
    ['NVIDIA GeForce RTX 4090', 'nvidia-rtx-4090', 128],
    ['NVIDIA GeForce RTX 4090 Laptop GPU', undefined, 76],
    ['NVIDIA GeForce RTX 3080 Ti', undefined, 80],
    ['SwiftShader Device (LLVM 16.0.0)', 'software-swiftshader'],
    ['AMD EPYC 7763 64-Core Processor', 'amd-epyc-7763'],
    ['Intel(R) Xeon(R) Platinum 8168 CPU @ 2.70GHz', 'intel-xeon-platinum-8168'],
    ['', undefined],
  ] as const)('a runtime name identifies one device: %s', (name, id, multiprocessors: number | null = null) => {
    const same = devices.filter((device) => isSameDevice(device, { name, multiprocessors }));
    expect(same.map((device) => device.id)).toEqual(id === undefined ? [] : [id]);
  });

  it('has a source for every field of every device, and none for a field that does not exist', () => {
    const identity = new Set(['kind', 'id', 'name', 'vendor', 'sources']);
    const unsourced = devices.flatMap((device) =>
      Object.keys(device)
        .filter((field) => !identity.has(field) && !device.sources[field] && !device.sources['*'])
        .map((field) => `${device.id}.${field}`),
    );
    expect(unsourced).toEqual([]);
    const strange = devices.flatMap((device) =>
      Object.entries(device.sources)
        .filter(([field, source]) => (field !== '*' && !(field in device)) || source.length < 10)
        .map(([field]) => `${device.id}.${field}`),
    );
    expect(strange).toEqual([]);
  });

  it('cites a source for each latency, because no data sheet states them, and marks estimates', () => {
    for (const { id, vendor, sources } of gpus)
      for (const latency of ['dependentIssueLatencyCycles', 'memoryLatencyCycles'])
        if (vendor !== 'software') expect(sources[latency], id).toBeTruthy();
    // Every memory latency is an estimate that is not of one load at a random address.
    const measured = gpus.filter((device) => !isEstimate(device, 'memoryLatencyCycles'));
    expect(measured.length).toBeGreaterThan(15);
    for (const { sources } of measured)
      expect(sources['memoryLatencyCycles']).toMatch(/random addresses|markdewing\/AI_kernels|arXiv:2507\.10789/);
  });

  it.each(gpus.map((device) => [device.id, device] as const))('%s is in a sane range', (_id, device) => {
    expect(device.clockMhz).toBeWithin(500, 3200);
    expect(device.memoryBandwidthGbS).toBeLessThanOrEqual(8000);
    expect(device.memoryLatencyCycles).toBeWithin(200, 1000);
    // Software devices run on a CPU, one group after another, so no group hides another's latency.
    expect(device.dependentIssueLatencyCycles).toBeWithin(device.vendor === 'software' ? 1 : 4, 24);
    expect(device.year).toBeLessThanOrEqual(2026);
  });

  const printed = parse<Record<string, string>>(dataText('devices/printed.csv'), { columns: true });
  const having = (column: string) =>
    printed.filter((row) => row[column] !== '').map((row) => [row['device'], row] as const);

  it.each(having('fp32_tflops'))('%s has the printed FP32 peak', (id, { fp32_tflops: tflops, divide_by: share }) => {
    const peak = deviceComparison(DEVICE_METRICS, [gpu(id)]).find((row) => row.id === 'peakInstructions')!.values[0];
    // Half a unit in the last printed digit is at most 1 %. Data sheets also round clocks.
    expect(Math.abs((2 * peak) / 1000 / (Number(tflops) / Number(share)) - 1)).toBeLessThan(0.01);
  });

  it.each(having('bus_bits'))('%s has the bandwidth of its bus', (id, { bus_bits: bits, gbit_per_bit: gigabits }) => {
    // Half a unit in the last printed digit is at most 0.5 % (MI300X).
    expect(Math.abs(gpu(id).memoryBandwidthGbS / ((Number(bits) * Number(gigabits)) / 8) - 1)).toBeLessThan(0.005);
  });

  it('has a checked bandwidth for every GPU, except those whose maker rounds it down by more', () => {
    const rounded = ['amd-mi325x', 'amd-mi350x', 'amd-mi355x'];
    const hardware = gpus.filter((device) => device.vendor !== 'software').map((device) => device.id);
    expect([...having('bus_bits').map(([id]) => id), ...rounded].sort()).toEqual(hardware.sort());
  });
});

describe('validateDevice', () => {
  const a100 = gpu('nvidia-a100-sxm4-40gb');
  const epyc = cpus[0];
  const swift = gpu('software-swiftshader');

  const withLimits = (limits: Partial<GpuDevice['limits']>, device = a100) => {
    return { ...device, limits: { ...device.limits, ...limits } };
  };

  it('returns the device as it is', () => {
    expect(unwrap(validateDevice(structuredClone(a100)))).toEqual(a100);
    expect(unwrap(validateDevice({ ...epyc, sources: {} }))).toEqual({ ...epyc, sources: {} });
    // The limit of 256 registers per thread of version 0.1 becomes the 255 of the compiler.
    expect(unwrap(validateDevice(withLimits({ maxRegistersPerThread: 256 })))).toEqual(a100);
  });

  const { clockMhz: _clock, ...clockless } = a100;
  const cell = { ...a100, occupancy: { family: 'cell' } };
  const unknown = { ...a100, occupancy: { family: 'nvidia', computeCapability: '8.5' } };
  it.each(
    Object.entries<unknown>({
      'device: must be a device of kind gpu or cpu, not null': null,
      'kind: must be a device of kind gpu or cpu, not nothing': [a100],
      'kind: must be a device of kind gpu or cpu, not "fpga"': { ...a100, kind: 'fpga' },
      'clockMhz: is missing': clockless,
      'warpSize: there is no such field': { ...a100, warpSize: 32 },
      'clokMhz: there is no such field. Did you mean clockMhz?': { ...clockless, clokMhz: 1410 },
      'clockMhz: must be a number of MHz from 100 to 10,000, not "1410"': { ...a100, clockMhz: '1410' },
      'clockMhz: must be a number of MHz from 100 to 10,000, not 1.41': { ...a100, clockMhz: 1.41 },
      'clockMhz: must be a number of MHz from 100 to 10,000, not NaN': { ...a100, clockMhz: NaN },
      'memoryBandwidthGbS: must be a number of GB/s from 10 to 100,000': { ...a100, memoryBandwidthGbS: 1.555 },
      'memoryGib: must be a number of GiB from 0.1 to 2,000, not Infinity': { ...a100, memoryGib: Infinity },
      'l2Bytes: must be a whole number of bytes, 0 or from 65,536 to 10,000,000,000, not 40': { ...a100, l2Bytes: 40 },
      'multiprocessors: must be a whole number from 1 to 65536, not 1.5': { ...a100, multiprocessors: 1.5 },
      'id: must be a lower-case slug such as nvidia-a100-sxm4-40gb, not "../A100"': { ...a100, id: '../A100' },
      'name: must be text of 1 to 200 characters, not ""': { ...a100, name: '' },
      'name: must be text that is not only spaces, not "  "': { ...a100, name: '  ' },
      'vendor: must be one of nvidia, amd, intel, apple, software, other, not "acme"': { ...a100, vendor: 'acme' },
      'occupancy.family: must be occupancy rules of family nvidia, amd, intel, apple or generic, not "cell"': cell,
      'occupancy: Compute capability 8.5 is not known. Use one of 1.3, 2.0, 2.1, 3.0, 3.5, 3.7, 5.0, 5.2, 5': unknown,
      'threadGroupWidth: must be 32 by its occupancy rules, not 64': { ...a100, threadGroupWidth: 64 },
      'limits.maxRegistersPerThread: ': withLimits({ maxRegistersPerThread: 257 }),
      'limits.maxBlocksPerMultiprocessor: must be 32 by its occupancy rules, not 16': withLimits({
        maxBlocksPerMultiprocessor: 16,
      }),
      'limits.sharedMemoryBytesPerMultiprocessor: must be a whole number ≥ 0, not -1': withLimits(
        { sharedMemoryBytesPerMultiprocessor: -1 },
        swift,
      ),
      'limits.maxThreadsPerBlock: must be at most the 128 threads that a multiprocessor holds, not 256': withLimits(
        { maxThreadGroupsPerMultiprocessor: 32 },
        swift,
      ),
      'limits.maxSharedMemoryBytesPerBlock: must be at most limits.sharedMemoryBytesPerMultiprocessor, 32768, not 65536':
        withLimits({ maxSharedMemoryBytesPerBlock: 65536 }, swift),
      'sources.year: must be a map from field names to sources of at most 500 characters, not 2020': {
        ...a100,
        sources: { year: 2020 },
      },
      'kneeCores: must be at most cores, 16, not 99': { ...epyc, kneeCores: 99 },
      'fullBandwidthGbS: must be at least 22.83 (singleCoreBandwidthGbS), not 1': { ...epyc, fullBandwidthGbS: 1 },
    }),
  )('refuses a device: %s', (message, json) => {
    const error = { code: 'bad-input', message: expect.stringContaining(message) as string };
    expect(validateDevice(json)).toMatchObject({ ok: false, error });
  });

  it('keeps prototype keys of a hostile file out', () => {
    const hostile: unknown = JSON.parse(JSON.stringify(a100).replace('"kind"', '"__proto__":{"polluted":1},"kind"'));
    const result = validateDevice(hostile);
    expect(result.ok ? Object.getPrototypeOf(result.value) : Object.prototype).toBe(Object.prototype);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

it('deviceComparison has one row per metric, and marks the best device', () => {
  const rows = deviceComparison(DEVICE_METRICS, [gpu('nvidia-k20'), gpu('nvidia-h100-sxm5-80gb'), gpu('amd-mi300x')]);
  expect(rows.map((row) => row.id)).toEqual(DEVICE_METRICS.map((metric) => metric.id));
  const row = (id: string) => rows.find((candidate) => candidate.id === id)!;
  expect(row('memoryBandwidthGbS')).toMatchObject({ unit: 'GB/s', values: [208, 3352, 5300], best: [2] });
  const best = ['dependentIssueLatencyCycles', 'threadGroupWidth', 'maxThreadsPerBlock'].map((id) => row(id).best);
  expect(best).toEqual([[1, 2], [], []]);
  // 2,048 threads share 65,536 registers.
  expect(row('registersPerResidentThread').values[1]).toBe(32);
  expect(deviceComparison(DEVICE_METRICS, gpus).filter((each) => !each.values.every(Number.isFinite))).toEqual([]);
});
