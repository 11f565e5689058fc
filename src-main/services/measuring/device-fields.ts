import { deviceTitle, isSoftware } from '../../../src-workers/domain/benchmark.ts';
import type { Device, GpuDevice } from '../../../src-workers/domain/device.ts';
import { conflict, fail, notFound, ok, type Result, unsupported, unwrap } from '../../../src-workers/domain/result.ts';
import { median } from '../../../src-workers/numeric/statistics.ts';
import { validateDevice } from '../../../src-workers/parse/device.ts';
import type { MeasuredDevice, MeasuringDetail } from '../../contract/measuring.ts';
import type { Context } from '../context.ts';
import { isSameDevice, namedDevice } from './device.ts';
import { measuringDetail } from './measured.ts';

/** The fields that a device of the catalogue may lack, each with the value of a probe from which it follows. */
const FIELDS = [
  { field: 'achievedBandwidthFraction', probe: 'bandwidth', value: 'bandwidthGbS' },
  { field: 'randomSectorsGbS', probe: 'random-sectors', value: 'memoryGbS' },
  { field: 'cachedSectorsGbS', probe: 'random-sectors', value: 'cachedGbS' },
] as const;

const DIGITS = 4;

/**
 * Returns a device with the fields that a run of probes measured on it.
 * @param given the device; the default is the device of the catalogue with the name that the driver reported
 */
export async function measuredDevice(context: Context, id: number, given?: unknown): Promise<Result<MeasuredDevice>> {
  const run = await context.store.getRun(id);
  if (!run.ok) return run;
  const detail = await measuringDetail(context.store, run.value);
  if (!detail.ok) return detail;
  const { request, device: measuring } = detail.value;
  if (request.suite !== 'probes')
    return unsupported(`Run ${id} measured the suite ${request.suite}. Specify a run of the suite probes.`);
  if (!measuring) return unsupported(`Run ${id} has no results yet.`);
  if (isSoftware(measuring) || request.backend === 'cpu')
    return unsupported(`Run ${id} measured ${deviceTitle(measuring)}, which is a CPU. Specify a run on a GPU.`);
  const chosen = given === undefined ? await catalogueDevice(context, detail.value) : validateDevice(given);
  if (!chosen.ok) return chosen;
  const device = chosen.value;
  if (device.kind !== 'gpu' || !isSameDevice(device, measuring)) {
    const cores = measuring.multiprocessors === null ? '' : ` with ${measuring.multiprocessors} multiprocessors`;
    const other = device.kind === 'gpu' ? ` with ${device.multiprocessors}` : '';
    return conflict(
      `Run ${id} measured ${measuring.name}${cores}, which is not ${device.name}${other}. Specify the measured device.`,
    );
  }
  // The file of an imported run does not say when the measurement was made, so the date of the import is used.
  const dated = `${run.value.kind === 'import' ? 'imported ' : ''}${run.value.startedAt.slice(0, 10)}`;
  return withMeasured(device, detail.value, dated);
}

async function catalogueDevice({ catalogue }: Context, { device }: MeasuringDetail): Promise<Result<Device>> {
  const named = await namedDevice(catalogue, device!);
  if (named.ok) return ok(unwrap(await catalogue.devices([named.value]))[0]);
  return named.error.code === 'not-found'
    ? notFound(`The catalogue has no device ${device!.name}. Add the device first (lockstep devices add --help).`)
    : named;
}

function withMeasured(
  device: GpuDevice,
  { runId, device: measuring, cases }: MeasuringDetail,
  dated: string,
): Result<MeasuredDevice> {
  const found = FIELDS.flatMap(({ field, probe, value: name }) => {
    const values = cases.find((one) => one.case.benchmark === 'probe' && one.case.parameters.probe === probe);
    const raw = values?.failure === null ? values.values[name] : undefined;
    const value = typeof raw === 'object' ? median(Float64Array.from(raw)) : raw;
    if (value === undefined || !(value > 0)) return [];
    const isFraction = field === 'achievedBandwidthFraction';
    const after = Number((isFraction ? value / device.memoryBandwidthGbS : value).toPrecision(DIGITS));
    const of = isFraction ? ` (${Math.round(value)} of ${device.memoryBandwidthGbS} GB/s)` : '';
    const by = `measured by the probe ${probe}${of} on ${measuring!.name}, driver ${measuring!.driver}`;
    return [{ field, before: device[field] ?? null, after, source: `${by}, ${dated}` }];
  });
  if (found.length === 0)
    return unsupported(
      `Run ${runId} has no valid result of the probes ${[...new Set(FIELDS.map(({ probe }) => probe))].join(' and ')}. Measure them again.`,
    );
  const pick = <T>(value: (one: (typeof found)[number]) => T) =>
    Object.fromEntries(found.map((one) => [one.field, value(one)]));
  const changed = validateDevice({
    ...device,
    ...pick(({ after }) => after),
    sources: { ...device.sources, ...pick(({ source }) => source) },
  });
  if (!changed.ok) return fail(changed.error.code, `Run ${runId}, ${device.name}: ${changed.error.message}`);
  return ok({ runId, measuredOn: measuring!.name, device: changed.value as GpuDevice, changes: found });
}
