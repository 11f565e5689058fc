import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { BenchCase, MeasuringDevice } from '../../src-workers/domain/benchmark.ts';
import type { GpuDevice } from '../../src-workers/domain/device.ts';
import { lockstep } from '../command-line.ts';
import { gpu } from '../catalogue.ts';
import { dataText, encode } from '../data.ts';
import { benchPlan, planLine } from '../measuring.ts';
import { testFolder, useBench } from '../workplace.ts';

// The suite of probes measures fields of a device. The recorded results are from an H100.

const H100 = 'nvidia-h100-sxm5-80gb';
const bench = useBench();
const folder = testFolder();

interface Recorded {
  readonly device: MeasuringDevice;
  readonly cases: readonly {
    readonly case: { readonly probe: string };
    readonly values: Readonly<Record<string, number>>;
  }[];
}
const [recorded] = JSON.parse(dataText('measured/h100-suites.json')) as readonly Recorded[];

/** Makes a results file of the recorded probes, with a changed device if one is given. */
function resultsOf(change: Partial<MeasuringDevice> = {}, kept: (probe: string) => boolean = () => true): string {
  const device = { ...recorded.device, ...change };
  const cases = recorded.cases.filter((one) => kept(one.case.probe));
  const planned = cases.map(({ case: parameters }) => ({ id: parameters.probe, benchmark: 'probe', parameters }));
  const plan = benchPlan(planned as BenchCase[], { backend: device.backend as 'cuda' });
  const records = cases.flatMap(({ case: { probe }, values }) => [
    { type: 'values', case: probe, values },
    { type: 'check', case: probe, correct: true, message: '' },
  ]);
  const lines = [planLine(plan), device, ...records, { type: 'done', elapsedMs: 20 }];
  return lines.map((line) => JSON.stringify(line)).join('\n');
}

const importText = async (fileName: string, text: string) =>
  (await bench.call('import.file', { fileName, bytes: encode(text) })).runId;
const imported = (...of: Parameters<typeof resultsOf>) => importText('probes.jsonl', resultsOf(...of));
const failureOf = (id: number, device?: object) =>
  bench.engine.call('bench.measuredDevice', { id, ...(device && { device }) });

it('the device that probes measured gets the measured fields with their sources, and keeps all others', async () => {
  const { randomSectorsGbS: _none, ...before } = gpu(H100);
  const id = await imported();
  const known = { ...before, achievedBandwidthFraction: 0.7 };
  const { device, changes, measuredOn } = await bench.call('bench.measuredDevice', { id, device: known });
  expect(measuredOn).toBe('NVIDIA H100 80GB HBM3');
  // The fraction is 2,932.4 of 3,352 GB/s.
  expect(changes.map(({ field, before, after }) => [field, before, after])).toEqual([
    ['achievedBandwidthFraction', 0.7, 0.8748],
    ['randomSectorsGbS', null, 1068],
    ['cachedSectorsGbS', 4218, 4218],
  ]);
  const { sources, ...fields } = device;
  const measured = { achievedBandwidthFraction: 0.8748, randomSectorsGbS: 1068 };
  expect(fields).toEqual({ ...before, sources: undefined, ...measured });
  const source =
    /^measured by the probe bandwidth \(2932 of 3352 GB\/s\) on NVIDIA H100 80GB HBM3, driver [\d.]+, imported \d{4}-\d\d-\d\d$/;
  expect(sources.achievedBandwidthFraction).toMatch(source);
  const ofProbes = Object.fromEntries(changes.map(({ field, source }) => [field, source]));
  expect(sources).toEqual({ ...before.sources, ...ofProbes });
  // If no device is named, the catalogue's device is the starting point.
  expect((await bench.call('bench.measuredDevice', { id })).device.id).toBe(H100);
});

it('the device that probes measured gets only the fields whose probes have a result', async () => {
  const id = await imported({}, (probe) => probe !== 'random-sectors');
  const { changes } = await bench.call('bench.measuredDevice', { id });
  expect(changes).toMatchObject([{ field: 'achievedBandwidthFraction' }]);
  const none = await failureOf(await imported({}, (probe) => probe === 'limits'));
  expect(none).toFail('unsupported', /has no valid result of the probes bandwidth and random-sectors\. Measure them/);
});

it('the device that probes measured is not another device, and not a CPU that emulates one', async () => {
  const id = await imported();
  const other = /measured NVIDIA H100 80GB HBM3 with 132 multiprocessors, which is not H100 PCIe 80 GB with 114\./;
  expect(await failureOf(id, gpu('nvidia-h100-pcie-80gb'))).toFail('conflict', other);
  const software = { name: 'SwiftShader', backend: 'webgpu', properties: { software: 1 } } as const;
  expect(await failureOf(await imported(software), gpu(H100))).toFail('unsupported', /SwiftShader.*, which is a CPU/);
  const unknown = await failureOf(await imported({ name: 'NVIDIA X1' }));
  expect(unknown).toFail('not-found', /NVIDIA X1\. Add the device first/);
  const ofCpu = await failureOf(await importText('cpu.jsonl', dataText('measured/cpu-xeon-2-cores.jsonl')));
  expect(ofCpu).toFail('unsupported', /measured the suite contention\. Specify a run of the suite probes/);
});

it('devices calibrate writes them into the devices here, or into a file', async () => {
  const [results, mine] = [join(folder, 'probes.jsonl'), join(folder, 'mine.json')];
  const db = ['--db', join(folder, 'calibrate.db')];
  writeFileSync(results, resultsOf());
  const { runId } = JSON.parse((await lockstep('import', results, '--json', ...db)).out) as { runId: number };
  const run = String(runId);
  const { cachedSectorsGbS: _none, ...known } = gpu(H100);
  const own = { ...known, id: 'mine', randomSectorsGbS: 900 };
  writeFileSync(mine, JSON.stringify(own));
  const written = await lockstep('devices', 'calibrate', run, '--into', mine, ...db);
  expect(written.out).toBe(`H100 SXM5 80 GB, by the probes of run ${run} on NVIDIA H100 80GB HBM3:
field                      before  measured   change
achievedBandwidthFraction   0.875    0.8748    0.0 %
randomSectorsGbS              900      1068  +18.7 %
cachedSectorsGbS                –      4218        –
Changed ${mine}. To use the device, run lockstep devices add ${mine}.
`);
  const after = JSON.parse(readFileSync(mine, 'utf8')) as GpuDevice;
  expect(after).toMatchObject({ ...own, randomSectorsGbS: 1068, achievedBandwidthFraction: 0.8748, sources: {} });
  expect((await lockstep('devices', 'calibrate', run, ...db)).out).toContain(`Saved ${H100} among your devices`);
  expect((await lockstep('devices', 'calibrate', run, ...db)).out).toContain(`Changed your device ${H100}.`);
  const shown = JSON.parse((await lockstep('devices', 'show', H100, ...db)).out) as object;
  expect(shown).toMatchObject({ own: true, achievedBandwidthFraction: 0.8748 });
  writeFileSync(mine, JSON.stringify({ ...own, name: 'A100' }));
  const refused = /mine\.json: Run \d+ measured NVIDIA H100 .* which is not A100/;
  expect(await lockstep('devices', 'calibrate', run, '--into', mine, ...db)).toMatchObject({ status: 1, err: refused });
});
