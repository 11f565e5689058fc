import { formatBalancing, parseBalancing } from '../../../src-workers/domain/balancing.ts';
import { reasonText } from '../../../src-workers/domain/design.ts';
import { DESIGN_NAMES, type DesignField, type NamedParameters } from '../../../src-workers/domain/design-names.ts';
import { ok, type Result, badInput } from '../../../src-workers/domain/result.ts';
import {
  AXIS,
  decodeInto,
  axisCounts,
  encode,
  type Launch,
  rowPosition,
  type SpaceAxes,
  spaceSize,
} from '../../../src-workers/domain/space.ts';
import { describeDesign } from '../../../src-workers/predict/designs.ts';
import { explainDesign } from '../../../src-workers/predict/explain.ts';
import type { Predictor } from '../../../src-workers/predict/tables.ts';
import { createPredictor, preparePipeline } from '../../../src-workers/predict/predictor.ts';
import { Slice } from '../../../src-workers/parse/slice.ts';
import type { AskedTimes, LaunchWork } from '../../contract/advice.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import type { Context } from '../context.ts';
import { NO_CAP, wantedOf, type Value } from '../imports/designs.ts';
import { LOOPS, withNames } from '../imports/numbered.ts';
import { sha256 } from '../studies/workloads.ts';
import { advisedDevices, type AdvisedDevice, type AdvisedStudy } from './prepare.ts';
import { listedTimes } from './uncertainty.ts';

const MAX_SPACE = 2 ** 32;
const MAX_COUNT = 2 ** 31 - 1;

const MAX_WORK_DESIGNS = 64;

type Row = Readonly<Record<string, unknown>>;
type Place = Result<readonly number[] | string>;

/**
 * A number, loop or order that the study's axis lacks is added for this call. A missing parameter gets the only value
 * of its axis; if there are several, the call fails. (Without a block width, though, a block is one row.)
 */
export async function predictAsked(
  { pool }: Context,
  study: AdvisedStudy,
  {
    deviceId,
    designs,
    parameters,
    work,
  }: Pick<ProcedureArguments<'advice.predict'>, 'deviceId' | 'designs' | 'parameters' | 'work'>,
  turn: AbortSignal,
): Promise<Result<AskedTimes>> {
  const found = advisedDevices(study, deviceId);
  if (!found.ok) return found;
  if (found.value.length > 1) {
    const ids = found.value.map(({ device }) => device.id).join(', ');
    return badInput(`The study has several devices. Specify one of ${ids}.`, { field: 'deviceId' });
  }
  const [device] = found.value;
  const { axes, place } = extending(device.plan.axes, device.plan.units);
  const slice = new Slice();
  const places: (readonly number[] | string)[] = [];
  for (const [at, row] of designs.entries()) {
    if (slice.isOver) await slice.next();
    const one = place(row, parameters);
    if (!one.ok) return badInput(`designs[${at}]: ${one.error.message}`, { field: `designs[${at}]` });
    places.push(one.value);
  }
  if (spaceSize(axes) > MAX_SPACE)
    return badInput(
      `These designs span a space of ${spaceSize(axes)} designs, which is too large. Request fewer designs at once.`,
    );

  const extended = spaceSize(axes) === device.size ? device : extendedDevice(device, axes);
  const counts = axisCounts(axes);
  const indices = places.map((one) => (typeof one === 'string' ? -1 : encode(counts, one)));
  // Equal designs are predicted once. They are sorted, because neighbours share laws.
  const unique = Uint32Array.from(new Set(indices.filter((index) => index >= 0))).sort();
  const times = await listedTimes(pool, extended, unique, turn);
  const timeOf = new Map(Array.from(unique, (index, at) => [index, times[at]]));
  const predictor = extended.predictor();
  const timesMs: (number | null)[] = [];
  const reasons: (string | null)[] = [];
  for (const [at, one] of places.entries()) {
    if (slice.isOver) await slice.next();
    const ms = timeOf.get(indices[at]) ?? NaN;
    timesMs.push(Number.isNaN(ms) ? null : ms);
    if (typeof one === 'string') reasons.push(one);
    else if (!Number.isNaN(ms)) reasons.push(null);
    else {
      const { invalid } = describeDesign(predictor, indices[at]);
      reasons.push(invalid && reasonText(invalid));
    }
  }
  const named = { device: { id: device.device.id, name: device.device.name }, timesMs, reasons };
  if (!work) return ok(named);
  if (indices.length > MAX_WORK_DESIGNS)
    return badInput(`Request the work of at most ${MAX_WORK_DESIGNS} designs at once, not of ${indices.length}.`);
  return ok({
    ...named,
    work: indices.map((index, at) => (timesMs[at] === null ? null : computeWork(predictor, index))),
  });
}

/** Computes the work of a launch: its time multiplied by its shares of the device's peak rates. */
function computeWork(predictor: Predictor, index: number): LaunchWork | null {
  const { plan, counts } = predictor;
  const { implementations, devices } = plan.axes;
  const [device] = devices;
  const explained = explainDesign(predictor, index);
  if (device.kind === 'cpu' || explained === null) return null;
  const { timeMs, achieved } = explained;
  const at = new Int32Array(counts.length);
  decodeInto(at, counts, index);
  const kernel = implementations?.[at[AXIS.implementation]].kernel ?? plan.kernel;
  // The classes of instructions take different numbers of cycles. Instructions outside the loop count with the mean
  // cycles of the loop's instructions.
  const cycles = preparePipeline({ ...plan, kernel }, device, null, 0).issueCycles / kernel.instructionsPerIteration;
  const cyclesPerMs = device.multiprocessors * device.clockMhz * 1e3;
  return {
    instructions:
      kernel.instructionsPerIteration > 0 ? (achieved.issueFraction! * timeMs * cyclesPerMs) / cycles : null,
    bytes: achieved.bandwidthGbS === null ? null : achieved.bandwidthGbS * 1e6 * timeMs,
  };
}

function extendedDevice(device: AdvisedDevice, axes: SpaceAxes): AdvisedDevice {
  const { plan } = device;
  const own = { ...plan, id: `${plan.id}-${sha256(JSON.stringify({ ...axes, devices: [] }))}`, axes };
  return { ...device, plan: own, predictor: () => createPredictor(own) };
}

interface Growing<T> {
  readonly values: T[];
  readonly places: Map<string, number>;
  readonly own: number;
}

function growing<T>(values: readonly T[]): Growing<T> {
  return {
    values: [...values],
    places: new Map(values.map((value, at) => [JSON.stringify(value), at])),
    own: values.length,
  };
}

function placeIn<T>({ values, places }: Growing<T>, value: T): number {
  const text = JSON.stringify(value);
  const known = places.get(text);
  if (known !== undefined) return known;
  places.set(text, values.length);
  return values.push(value) - 1;
}

/** Returns `place`, which finds the values of a row of parameters on the axes, and adds values that the axes lack. */
function extending(
  { devices, ...own }: SpaceAxes,
  units: number,
): { readonly axes: SpaceAxes; readonly place: (row: Row, parameters: NamedParameters) => Place } {
  const [device] = devices;
  const threads = growing(own.threadsPerUnit);
  const loops = growing(own.loop);
  const orders = growing(own.balancing);
  const caps = growing(own.registerCap);
  const blocks = growing(own.blockThreads);
  const launches = growing<Launch>(own.launch);
  const implementations = growing(own.implementations?.map(({ name }) => name) ?? ['']);
  const widths = growing(own.blockWidth ?? [null]);
  const axes: SpaceAxes = {
    ...own,
    devices,
    threadsPerUnit: threads.values,
    loop: loops.values,
    balancing: orders.values,
    launch: launches.values,
    registerCap: caps.values,
    blockThreads: blocks.values,
  };

  const place = (row: Row, parameters: NamedParameters): Place => {
    const configuration: Record<string, Value> = {};
    for (const [name, value] of Object.entries(row))
      if (value === null) configuration[name] = 'none';
      else if (typeof value !== 'object') configuration[name] = value as Value;
    const named = withNames(configuration, { devices, ...own }, units, true);
    if (typeof named === 'string') return badInput(`${named}.`);
    const wanted = wantedOf(named, parameters);
    let lacking: string | null = null;
    let reason: string | null = null;
    const lack = (name: string, values: readonly unknown[]): number => {
      lacking ??= `${name} is missing, and the study has several values for it: ${values.map(String).join(', ')}. Add ${name}, or map a parameter to it.`;
      return 0;
    };
    const at = <T>(field: DesignField, axis: Growing<T>, expected: string, read: (value: Value) => T | undefined) => {
      const given = wanted[field];
      if (!given) return axis.own === 1 ? 0 : lack(DESIGN_NAMES[field][0], axis.values.slice(0, axis.own));
      const value = read(given.value);
      if (value !== undefined) return placeIn(axis, value);
      reason ??= `${given.name}=${String(given.value)} is not ${expected}`;
      return 0;
    };
    const count = (value: Value): number | undefined => (isCount(value) ? value : undefined);
    const among = <T>(values: readonly T[], value: T): T | undefined => (values.includes(value) ? value : undefined);
    const isNone = (value: Value): boolean => value === 0 || NO_CAP.has(String(value));
    const numberOf = (field: 'unitsPerThread' | 'gridBlocks'): number => {
      const { name, value } = wanted[field] ?? { name: field, value: 0 };
      if (!isCount(value) && !isNone(value)) reason ??= `${name}=${String(value)} is not a whole number`;
      return isCount(value) ? value : 0;
    };

    const unitThreads = at('threadsPerUnit', threads, 'a power of two', (value) =>
      isCount(value) && Number.isInteger(Math.log2(value)) ? value : undefined,
    );
    const loop = at('loop', loops, LOOPS.join(' or '), (value) => LOOPS.find((one) => one === value));
    const order = at('balancing', orders, 'the name of a balancing', (value) => {
      const parsed = parseBalancing(String(value));
      return parsed.ok ? formatBalancing(parsed.value) : undefined;
    });
    const cap = at('registerCap', caps, 'a whole number', (value) => (isNone(value) ? null : count(value)));
    const block = device.kind === 'cpu' ? 0 : at('blockThreads', blocks, 'a whole number above 0', count);
    const implementation = own.implementations
      ? at('implementation', implementations, implementations.values.join(' or '), (value) =>
          among(implementations.values, String(value)),
        )
      : 0;
    const width =
      own.blockWidth && wanted.blockWidth
        ? at('blockWidth', widths, widths.values.map(String).join(' or '), (value) =>
            among(widths.values, isNone(value) ? null : Number(value)),
          )
        : rowPosition(axes);

    const launchOf = (): number => {
      const [rounds, grid] = [numberOf('unitsPerThread'), numberOf('gridBlocks')];
      if (device.kind === 'cpu' && grid > 0) return placeIn(launches, { kind: 'cores', value: grid });
      // An exported design has units per thread and blocks; a mixed design has the blocks of all its launches.
      const slots = blocks.values[block] / threads.values[unitThreads];
      const isMixed = orders.values[order].startsWith('mixed');
      if (
        device.kind === 'gpu' &&
        rounds > 0 &&
        (grid === 0 || grid === Math.ceil(units / (slots * rounds)) || isMixed)
      )
        return placeIn(launches, { kind: 'units-per-thread', value: rounds });
      if (rounds > 0 && grid > 0 && rounds !== Math.ceil(units / (slots * grid)))
        reason ??= `${rounds} units per thread and ${grid} blocks contradict each other: set one of the two numbers to 0`;
      if (device.kind === 'gpu' && grid > 0) return placeIn(launches, { kind: 'grid', value: grid });
      if (wanted.unitsPerThread || wanted.gridBlocks)
        reason ??= 'it has neither units per thread nor blocks, but one of the two must be above 0';
      if (reason !== null) return 0;
      const usual = own.launch.filter(({ kind }) => (kind === 'cores') === (device.kind === 'cpu'));
      if (usual.length === 1) return launches.values.indexOf(usual[0]);
      return lack(`${DESIGN_NAMES.unitsPerThread[0]} or ${DESIGN_NAMES.gridBlocks[0]}`, ['several launches']);
    };
    const launch = launchOf();
    if (lacking !== null) return badInput(lacking);
    return ok(reason ?? [0, implementation, width, unitThreads, loop, order, launch, cap, block]);
  };
  return { axes, place };
}

const isCount = (value: Value): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= MAX_COUNT;
