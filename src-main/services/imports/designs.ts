import type { CaseResult } from '../../../src-workers/domain/benchmark.ts';
import { reasonText, type Design } from '../../../src-workers/domain/design.ts';
import type { Device } from '../../../src-workers/domain/device.ts';
import { ok, type Result, conflict } from '../../../src-workers/domain/result.ts';
import { median } from '../../../src-workers/numeric/statistics.ts';
import {
  DESIGN_FIELDS,
  axisName,
  DESIGN_NAMES,
  type DesignField,
  type FixedParameters,
  type NamedParameters,
} from '../../../src-workers/domain/design-names.ts';
import { Slice } from '../../../src-workers/parse/slice.ts';
import { DECIMAL, shown } from '../../../src-workers/parse/source.ts';
import {
  AXIS,
  axisCounts,
  decodeInto,
  encode,
  productOf,
  rowPosition,
  type SpaceAxes,
  type Launch,
} from '../../../src-workers/domain/space.ts';
import { describeDesign } from '../../../src-workers/predict/designs.ts';
import { timeOf } from '../../../src-workers/sweep/ranking.ts';
import { counted } from '../export/text.ts';
import { number } from '../export/tuner-format.ts';
import { isSameDevice } from '../measuring/device.ts';
import { checkDesign } from '../ranking/rows.ts';
import type { RunView } from '../runs/run-view.ts';
import { SWEEP_PARAMETER, withNames } from './numbered.ts';

/** Finds the configurations of another program among the designs of a sweep, by the exported names of the axes. */

/** Fields with names that no other program uses for its parameters. */
const OWN: readonly DesignField[] = ['designIndex', 'threadsPerUnit', 'unitsPerThread', 'balancing', 'registerCap'];

export type Value = number | string | boolean;
type Configuration = Readonly<Record<string, Value>>;
interface Given {
  readonly name: string;
  readonly value: Value;
}
type Wanted = Partial<Readonly<Record<DesignField, Given>>>;

export function wantedOf(configuration: Configuration, named: NamedParameters): Wanted {
  const wanted: Partial<Record<DesignField, Given>> = {};
  for (const field of DESIGN_FIELDS) {
    // A name that the user has mapped has priority over the usual names.
    const own = Object.keys(named).filter((name) => named[name] === field);
    const names: readonly string[] = DESIGN_NAMES[field];
    const name = [...own, ...names].find(
      (each) => Object.hasOwn(configuration, each) && (Object.hasOwn(named, each) ? named[each] : field) === field,
    );
    if (name !== undefined) wanted[field] = { name, value: plain(configuration[name]) };
  }
  return wanted;
}

function plain(value: Value): Value {
  return typeof value === 'string' && DECIMAL.test(value.trim()) ? Number(value) : value;
}

function wantedDesign({ case: one }: CaseResult, deviceId: string | null, named: NamedParameters): Wanted | null {
  if (one.benchmark === 'external') {
    const wanted = wantedOf(one.parameters.configuration, named);
    return Object.keys(wanted).length === 0 ? null : wanted;
  }
  if (one.benchmark !== 'unit-loop') return null;
  const { registerCap, classes: _, ...design } = one.parameters.design;
  const own = { ...design, registerCap: registerCap ?? 0, ...(deviceId === null ? {} : { device: deviceId }) };
  return wantedOf(own, {});
}

function namedCase(one: CaseResult, axes: SpaceAxes, units: number, isDeviceKnown: boolean): CaseResult | string {
  if (one.case.benchmark !== 'external') return one;
  const configuration = withNames(one.case.parameters.configuration, axes, units, isDeviceKnown);
  if (typeof configuration === 'string') return configuration;
  return { ...one, case: { ...one.case, parameters: { ...one.case.parameters, configuration } } };
}

export async function hasDesignParameters(cases: readonly CaseResult[], named: NamedParameters): Promise<boolean> {
  const telling = [...OWN, ...Object.values(named).filter((field) => field !== null)];
  const slice = new Slice();
  for (const one of cases) {
    if (slice.isOver) await slice.next();
    const wanted = wantedDesign(one, null, named);
    if (telling.some((field) => wanted?.[field] !== undefined)) return true;
  }
  return false;
}

export interface LinkedDesigns {
  readonly cases: readonly CaseResult[];
  readonly device: Device;
  readonly designs: number;
  /** Whether each of these cases states its device as a parameter. */
  readonly namesDevice: boolean;
  readonly warnings: readonly string[];
}

const NO_PARAMETERS =
  'it has none of the parameters of a design, such as threads_per_unit. Map a parameter to an axis (import --map NAME=AXIS)';

/**
 * Links cases to the designs of a sweep. A case without a design stays unchanged. Several cases of one design differ in
 * parameters that designs lack; only the fastest is linked. A time that equals the sweep's prediction, as an export
 * writes it, was not measured, so its case is left out. Fails if no case is a measured design.
 * @param deviceIds the device of each case, if the file states devices outside the configurations
 * @param named the device of the sweep by id or name, if the file or the user names it
 * @param parameters fields of a design by the file's own names
 * @param fixed values of fields that no case states
 * @param exported whether this sweep's export made the file; a time that is not the prediction was then measured
 */
export async function linkDesigns(
  view: RunView,
  cases: readonly CaseResult[],
  deviceIds: readonly (string | null)[] | null,
  named: string | null,
  exported: boolean,
  parameters: NamedParameters,
  fixed: FixedParameters,
): Promise<Result<LinkedDesigns>> {
  const { found, linked } = await findCases(view, cases, deviceIds, named, exported, parameters, fixed);
  if (linked.every((one) => one === null))
    return conflict(
      `of ${counted(cases.length, 'configuration')}, none is a design of run ${view.run.id}; for ${caseWords(cases[0])}: ${String(found[0])}`,
    );
  const tally = new Map<Device, number>();
  for (const one of linked) if (one && !one.predicted) tally.set(one.device, (tally.get(one.device) ?? 0) + 1);
  const isThat = (device: Device): number => Number(isNamed(device, named));
  const [most] = [...tally].sort((a, b) => isThat(b[0]) - isThat(a[0]) || b[1] - a[1]);
  if (!most) return conflict(`All times are unchanged predictions of run ${view.run.id}. Import measured times.`);
  const [chosen] = most;

  const best = await fastestCases(linked, chosen);
  const kept: CaseResult[] = [];
  const [elsewhere, unknown]: [number[], number[]] = [[], []];
  let [unchanged, slower] = [0, 0];
  let namesDevice = true;
  for (const [at, one] of linked.entries()) {
    if (one?.predicted) {
      unchanged += 1;
      continue;
    }
    const isLinked = one?.device === chosen && best.get(one.index) === at;
    if (!one) unknown.push(at);
    else if (one.device !== chosen) elsewhere.push(at);
    else if (!isLinked) slower += 1;
    if (isLinked) namesDevice &&= one.namesDevice;
    kept.push(isLinked ? one.result : cases[at]);
  }

  const warnings: string[] = [];
  const runId = view.run.id;
  if (unknown.length > 0)
    warnings.push(
      `${counted(unknown.length, 'configuration')} of ${cases.length} ${isAre(unknown.length)} no design of run ${runId} and ${isAre(unknown.length)} not linked. For ${caseWords(cases[unknown[0]])}: ${String(found[unknown[0]]).replace(/\.$/, '')}.`,
    );
  if (elsewhere.length > 0)
    warnings.push(
      `${counted(elsewhere.length, 'configuration')} ${isAre(elsewhere.length)} of another device than ${chosen.id}, for example ${caseWords(cases[elsewhere[0]])} of ${linked[elsewhere[0]]!.device.id}. Import the file again with that device to link ${elsewhere.length === 1 ? 'it' : 'them'}.`,
    );
  if (unchanged > 0)
    warnings.push(
      `${counted(unchanged, 'configuration')} ${unchanged === 1 ? 'has' : 'have'} the predicted time of run ${runId} instead of a measured time, and ${isAre(unchanged)} left out.`,
    );
  if (slower > 0)
    warnings.push(
      `${counted(slower, 'configuration')} ${slower === 1 ? 'maps' : 'map'} to a design for which a faster configuration was measured. Only the fastest one is compared with the prediction.`,
    );
  const unit = unitWarning(view, linked, best);
  if (unit !== null) warnings.push(unit);
  return ok({ cases: kept, device: chosen, designs: best.size, namesDevice, warnings });
}

/** Predictions err by less than this factor. Times in a wrong unit differ by 1000 or more. */
const WRONG_UNIT = 50;

function unitWarning(
  view: RunView,
  linked: readonly (LinkedCase | null)[],
  best: ReadonlyMap<number, number>,
): string | null {
  const ratios = Array.from(best, ([index, at]) => measuredMs(linked[at]!.result) / timeOf(view.ranking, index));
  const known = ratios.filter((ratio) => ratio > 0 && ratio < Infinity);
  if (known.length === 0) return null;
  const ratio = median(Float64Array.from(known));
  if (ratio < WRONG_UNIT && ratio > 1 / WRONG_UNIT) return null;
  const factor = Number(Math.max(ratio, 1 / ratio).toPrecision(2)).toLocaleString('en');
  return `The measured times are ${factor} times as ${ratio > 1 ? 'long' : 'short'} as the predictions (median). Check the unit of the times in the file, and import it again if the unit is wrong.`;
}

async function findCases(
  view: RunView,
  cases: readonly CaseResult[],
  deviceIds: readonly (string | null)[] | null,
  named: string | null,
  exported: boolean,
  parameters: NamedParameters,
  fixed: FixedParameters,
): Promise<{ readonly found: readonly (number | string)[]; readonly linked: readonly (LinkedCase | null)[] }> {
  const finder = designFinder(view, named);
  const always = wantedOf(fixed, {});
  const { axes, units } = view.predictor.plan;
  // If the configurations name several devices, each belongs to the device that it names, not to the requested device.
  const isDeviceKnown = countMarks(cases) <= 1 && view.devices.some((device) => isNamed(device, named));
  const found: (number | string)[] = [];
  const linked: (LinkedCase | null)[] = [];
  const slice = new Slice();
  for (const [at, given] of cases.entries()) {
    if (slice.isOver) await slice.next();
    const one = namedCase(given, axes, units, isDeviceKnown);
    const wanted =
      typeof one === 'string' ? one : (wantedDesign(one, deviceIds?.[at] ?? null, parameters) ?? NO_PARAMETERS);
    const index = typeof wanted === 'string' ? wanted : finder({ ...always, ...wanted });
    found.push(index);
    const namesDevice = typeof wanted !== 'string' && wanted.device !== undefined;
    linked.push(typeof index === 'number' ? { ...linkedCase(view, given, index, exported), namesDevice } : null);
  }
  return { found, linked };
}

const measuredMs = ({ timesMs, correct }: CaseResult): number =>
  timesMs.length > 0 && correct !== false ? median(Float64Array.from(timesMs)) : Infinity;

async function fastestCases(
  linked: readonly (LinkedCase | null)[],
  device: Device,
): Promise<ReadonlyMap<number, number>> {
  const best = new Map<number, number>();
  const slice = new Slice();
  for (const [at, one] of linked.entries()) {
    if (slice.isOver) await slice.next();
    if (!one || one.predicted || one.device !== device) continue;
    const other = best.get(one.index);
    if (other === undefined || measuredMs(one.result) < measuredMs(linked[other]!.result)) best.set(one.index, at);
  }
  return best;
}

/** Counts the values of `SWEEP_PARAMETER`. All cases without this parameter count as one value. */
function countMarks(cases: readonly CaseResult[]): number {
  const marks = cases.map(({ case: one }) =>
    one.benchmark === 'external' ? one.parameters.configuration[SWEEP_PARAMETER] : undefined,
  );
  return new Set(marks).size;
}

const isAre = (count: number): string => (count === 1 ? 'is' : 'are');

function caseWords({ case: one }: CaseResult): string {
  const parameters: Readonly<Record<string, unknown>> =
    one.benchmark === 'external'
      ? one.parameters.configuration
      : one.benchmark === 'unit-loop'
        ? { ...one.parameters.design }
        : {};
  const words = Object.entries(parameters).map(([name, value]) => `${name}=${String(value)}`);
  return words.length === 0 ? `the case ${one.id}` : words.slice(0, 8).join(' ');
}

interface LinkedCase {
  readonly index: number;
  readonly device: Device;
  readonly result: CaseResult;
  readonly predicted: boolean;
  readonly namesDevice: boolean;
}

function linkedCase(view: RunView, one: CaseResult, index: number, exported: boolean): Omit<LinkedCase, 'namesDevice'> {
  const { device, design } = describeDesign(view.predictor, index);
  const predictedMs = timeOf(view.ranking, index);
  const simulatedMs = view.simulated.times.get(index)?.meanMs ?? predictedMs;
  // Scripts for tuners have predictions with fewer digits.
  const predictions = [predictedMs, simulatedMs, Number(number(predictedMs))];
  const isPrediction = (time: number): boolean => predictions.includes(time);
  const { case: own } = one;
  const link = { design, designIndex: index, predictedMs };
  if (own.benchmark === 'unit-loop') {
    // The time in an exported file is the prediction, or a measured time that has replaced it.
    const time = own.parameters.predictedMs;
    const predicted = time === null || !exported || isPrediction(time);
    const parameters = { ...own.parameters, ...link };
    return {
      index,
      device,
      predicted,
      result: { ...one, case: { ...own, parameters }, timesMs: predicted ? [] : [time] },
    };
  }
  if (own.benchmark !== 'external') throw new TypeError(`a case of ${own.benchmark} has no configuration`);
  return {
    index,
    device,
    predicted: one.timesMs.length > 0 && one.timesMs.every(isPrediction),
    result: { ...one, case: { ...own, parameters: { ...own.parameters, linked: link } } },
  };
}

const MAX_CANDIDATES = 20_000;

const places = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at);

function designFinder(view: RunView, named: string | null): (wanted: Wanted) => number | string {
  const { axes } = view.ranking;
  const counts = axisCounts(axes);
  const runId = view.run.id;
  const all = places(axes.devices.length);
  const ofName = all.filter((at) => isNamed(axes.devices[at], named));
  return (wanted) => {
    if (wanted.designIndex) {
      const { name, value } = wanted.designIndex;
      const isIndex = typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
      if (!isIndex) return `${name} must be the number of a design, not ${shown(String(value))}`;
      const known = checkDesign(view, value);
      if (!known.ok) return known.error.message;
      const { device, invalid } = describeDesign(view.predictor, value);
      const asked = wanted.device;
      if (asked && !isNamed(device, String(asked.value)))
        return `${asked.name}=${String(asked.value)} is not the device of design ${value}, which is ${device.id}`;
      return invalid === null ? value : `design ${value} is not valid: ${reasonText(invalid)}`;
    }
    const pick = <T>(field: DesignField, values: readonly T[], same: (value: T, asked: Value) => boolean) => {
      const asked = wanted[field];
      const every = places(values.length);
      if (!asked) return every;
      const { name, value } = asked;
      const at = every.filter((place) => same(values[place], value));
      return at.length > 0 ? at : `${name}=${String(value)} is not one of ${values.map(String).join(', ')}`;
    };
    const equal = (value: unknown, asked: Value): boolean => value === asked;
    const capped = axes.registerCap.map((cap) => cap ?? 0);
    const devices = wanted.device
      ? pick('device', axes.devices.map(({ id }) => id), (id, asked) => isNamed(view.devices.find((each) => each.id === id)!, String(asked)))
      : ofName.length > 0 ? ofName : all; // prettier-ignore
    const units = pick('threadsPerUnit', axes.threadsPerUnit, equal);
    const loops = pick('loop', axes.loop, equal);
    const orders = pick('balancing', axes.balancing, equal);
    const caps = pick('registerCap', capped, (cap, asked) => cap === asked || (cap === 0 && NO_CAP.has(String(asked))));
    const blocks = pick('blockThreads', axes.blockThreads, equal);
    const implementations = axes.implementations
      ? pick(
          'implementation',
          axes.implementations.map(({ name }) => name),
          equal,
        )
      : [0];
    const widths =
      axes.blockWidth && wanted.blockWidth ? pick('blockWidth', axes.blockWidth, equal) : [rowPosition(axes)];
    const launches = places(counts[AXIS.launch]);
    const byUnits = axes.launch.some(({ kind }) => kind === 'units-per-thread');
    for (const one of [devices, implementations, widths, units, loops, orders, caps])
      if (typeof one === 'string') return one;

    const hits = new Map<string, number>();
    let reason: string | null = null;
    let looked = 0;
    for (const device of devices as number[]) {
      // A CPU runs one thread per core, so the block sizes of GPUs do not matter.
      const ofDevice = axes.devices[device].kind === 'cpu' ? [0] : blocks;
      if (typeof ofDevice === 'string') {
        reason ??= ofDevice;
        continue;
      }
      // If several combinations are the same design, the first one counts. Launches vary fastest in this order.
      const lists = [implementations, widths, units, loops, orders, caps, ofDevice, launches] as (readonly number[])[];
      const sizes = lists.map((list) => list.length);
      const candidates = productOf(sizes);
      looked += candidates;
      if (looked > MAX_CANDIDATES) return tooLittle(wanted, null, view, named);
      const positions = new Int32Array(lists.length);
      for (let candidate = 0; candidate < candidates; candidate += 1) {
        decodeInto(positions, sizes, candidate);
        const [implementation, width, unit, loop, order, cap, block, launch] = lists.map(
          (list, axis) => list[positions[axis]],
        );
        const index = encode(counts, [device, implementation, width, unit, loop, order, launch, cap, block]);
        const { design, invalid } = describeDesign(view.predictor, index);
        if (invalid === 'not-on-device') continue;
        if (invalid !== null && design.gridBlocks === 0) reason ??= `not valid: ${reasonText(invalid)}`;
        if (!isLaunch(design, wanted)) continue;
        if (!isKind(axes.launch[launch].kind, wanted, byUnits)) continue;
        if (invalid !== null) reason = `not valid: ${reasonText(invalid)}`;
        else {
          const key = JSON.stringify([device, design]);
          if (!hits.has(key)) hits.set(key, index);
        }
      }
    }
    if (hits.size > 1) return tooLittle(wanted, [...hits.keys()], view, named);
    const [index] = hits.values();
    return index ?? reason ?? `no launch of run ${runId} has ${launchWords(wanted)}`;
  };
}

export const NO_CAP: ReadonlySet<string> = new Set(['', 'none', 'null', '–']);

const LAUNCH = ['blockThreads', 'gridBlocks', 'unitsPerThread'] as const;

function isLaunch(design: Design, wanted: Wanted): boolean {
  // In files for tuners, the blocks or the units per thread are 0 and follow from the other number.
  return LAUNCH.every((field) => !wanted[field] || wanted[field].value === 0 || wanted[field].value === design[field]);
}

/**
 * Returns whether a launch fixes what a tuner's file fixes: the units per thread or the blocks. A file with units per
 * thread but no blocks, or 0 blocks, fixes the units per thread. A file with blocks but 0 units per thread fixes the
 * blocks.
 * @param byUnits whether the sweep has launches with fixed units per thread
 */
function isKind(kind: Launch['kind'], { gridBlocks, unitsPerThread }: Wanted, byUnits: boolean): boolean {
  const isWithoutBlocks = gridBlocks ? gridBlocks.value === 0 : byUnits;
  if (isWithoutBlocks && Number(unitsPerThread?.value ?? 0) > 0) return kind === 'units-per-thread';
  if (unitsPerThread?.value === 0 && Number(gridBlocks?.value ?? 0) > 0) return kind !== 'units-per-thread';
  return true;
}

function launchWords(wanted: Wanted): string {
  return LAUNCH.flatMap((field) => {
    const given = wanted[field];
    return given ? [`${given.name}=${String(given.value)}`] : [];
  }).join(' ');
}

/** @param hits `[position of the device, design]` of each matching design, as JSON; null if there are too many */
function tooLittle(
  wanted: Wanted,
  hits: readonly string[] | null,
  { run, ranking, devices }: RunView,
  named: string | null,
): string {
  const found = (hits ?? []).map((hit) => JSON.parse(hit) as readonly [device: number, Record<string, unknown>]);
  const isOneDevice = hits !== null && new Set(found.map(([device]) => device)).size === 1;
  const isOneDesign = hits !== null && new Set(found.map(([, design]) => JSON.stringify(design))).size === 1;
  const differs = (field: DesignField): boolean => new Set(found.map(([, design]) => design[field])).size > 1;
  const missing = DESIGN_FIELDS.filter(
    (field) =>
      (hits === null || differs(field)) &&
      !['designIndex', 'device'].includes(field) &&
      (field !== 'implementation' || ranking.axes.implementations) &&
      (field !== 'blockWidth' || ranking.axes.blockWidth) &&
      !wanted[field],
  );
  const advice: string[] = [];
  if (!wanted.device && !isOneDevice) {
    const none = named === null ? '' : `; ${shown(named)} is not one of them`;
    advice.push(
      `Specify the device of the measurements, one of ${devices.map(({ id }) => id).join(', ')}${none} (import --device ID)`,
    );
  }
  if (!isOneDesign)
    advice.push(
      missing.length === 0
        ? 'Add the number of the design'
        : `Map parameters to ${missing.map(axisName).join(', ')} (import --map NAME=AXIS), or add their values to the file (import --fixed ${axisName(missing[0])}=VALUE if all have the same)`,
    );
  const count = hits === null ? `more than ${MAX_CANDIDATES}` : String(hits.length);
  return `it matches ${count} designs of run ${run.id}. ${advice.join('. ')}`;
}

function isNamed(device: Device, name: string | null): boolean {
  if (name === null) return false;
  return device.id === name || device.name === name || isSameDevice(device, { name, multiprocessors: null });
}
