import { NOTHING_MEASURED, type CaseResult } from '../domain/benchmark.ts';
import type { Design } from '../domain/design.ts';
import { isObject } from '../domain/json.ts';
import { badInput, ok, unwrap, type Result } from '../domain/result.ts';
import { parseBalancing } from '../domain/balancing.ts';
import { countedText, shortened } from '../domain/text.ts';
import { eachJsonMember, type JsonMember } from './json-members.ts';
import { Slice } from './slice.ts';
import { caught, MAX_SHOWN, refuse as refuseIn, shown, type Refuse } from './source.ts';

export interface KernelTunerFile {
  readonly format: 'cache' | 't4' | 'stored';
  readonly kernel: string | null;
  readonly deviceName: string | null;
  readonly head: Readonly<Record<string, string | number | readonly (string | number)[]>>;
  readonly cases: readonly CaseResult[];
  /** In files that Lockstep wrote, the catalogue id of each case's device. */
  readonly devices: readonly string[] | null;
  readonly sweep: FileSweep | null;
  readonly warnings: readonly string[];
}

export interface FileSweep {
  readonly runId: number;
  readonly study: string;
  readonly seed: number | null;
}

const MAX_CONFIGURATIONS = 2 ** 20;
/** Maximum number of measured times in all configurations together; they take 64 MB. */
const MAX_TIMES = 2 ** 23;
const MAX_PARAMETERS = 200;
const MAX_TEXT = 4000;
/** The time that stands for an invalid configuration in old files, which have no error names. */
const INVALID_TIME = 1e20;

const ERRORS: ReadonlyMap<string, string> = new Map([
  ['InvalidConfig', 'refused by a restriction, or more than the device allows'],
  ['CompilationFailedConfig', 'did not compile'],
  ['RuntimeFailedConfig', 'failed when it ran'],
]);

const INVALIDITY: ReadonlyMap<string, string> = new Map([
  ['timeout', 'took too long'],
  ['compile', 'did not compile'],
  ['runtime', 'failed when it ran'],
  ['correctness', 'gave a wrong result'],
  ['constraints', 'refused by a constraint'],
]);

const UNITS = [
  { ms: 1, spelling: /^(ms|mill?iseconds?)?$/ },
  { ms: 1000, spelling: /^s(ec(onds?)?)?$/ },
  { ms: 1e-3, spelling: /^([uµ]s|microseconds?)$/ },
  { ms: 1e-6, spelling: /^(ns|nanoseconds?)$/ },
];

type Fields = Readonly<Record<string, unknown>>;
type Configuration = Record<string, number | string | boolean>;

const FORBIDDEN_NAMES: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

const field = (fields: Fields, name: string): unknown => (Object.hasOwn(fields, name) ? fields[name] : undefined);
const isTime = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value < INVALID_TIME;
function got(value: unknown): string {
  if (typeof value === 'string') return shown(value);
  return value === undefined ? 'missing' : shortened(JSON.stringify(value), MAX_SHOWN);
}

const FORMATS: Readonly<Record<string, KernelTunerFile['format']>> = { cache: 'cache', results: 't4', data: 'stored' };

/**
 * Reads a cache file, a T4 results file (schema 1.0.0) or a file of `store_results` of
 * github.com/KernelTuner/kernel_tuner. A cache may end after any entry, because runs are stopped. Times are
 * milliseconds unless the file names another unit.
 * A T4 file or cache from Lockstep holds predictions. A configuration without run times becomes a design with a
 * predicted time. A configuration with run times, or with a reason for having none, was measured later.
 * @param kernelName name of the kernel if the file gives none
 */
export function parseKernelTuner(
  bytes: Uint8Array,
  label: string,
  kernelName: string,
): Promise<Result<KernelTunerFile>> {
  return caught<KernelTunerFile>(async () => {
    const head: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    const raw: RawCase[] = [];
    const seen = new Set<string>();
    const stored: Readonly<Record<(typeof STORED_PLACES)[number], Set<string>>> = {
      device_name: new Set(),
      problem_size: new Set(),
    };
    let format: KernelTunerFile['format'] | undefined;
    let parameterNames: ReadonlySet<string> | undefined;
    let times = 0;
    const refuseAt =
      (place: { readonly line: number }): Refuse =>
      (problem) =>
        refuseIn(label, place, problem);
    const { whole } = await eachJsonMember(bytes, label, Object.keys(FORMATS), (member) => {
      const refuse: Refuse = refuseAt(member);
      if (member.container === null) {
        head[member.key] = member.value;
        return;
      }
      if (raw.length === 0) format = FORMATS[member.container];
      if (format !== FORMATS[member.container])
        refuse(`the file has several of "cache", "results" and "data". It must have only one of them`);
      if (raw.length === MAX_CONFIGURATIONS)
        refuse(`the file has more configurations than the limit of ${MAX_CONFIGURATIONS}`);
      if (format === 'cache') parameterNames ??= listNames(head, refuse);
      const read = parameterNames
        ? cacheCase(member, parameterNames, refuse)
        : format === 'stored'
          ? storedCase(member, head, stored, refuse)
          : t4Case(member, refuse);
      seen.add(format === 'cache' ? member.key : JSON.stringify(read.configuration));
      times += read.times.length;
      if (times > MAX_TIMES) refuse(`the file has more measured times than the limit of ${MAX_TIMES}`);
      raw.push(read);
    });
    const refuseFile: Refuse = refuseAt({ line: 1 });
    if (!format) {
      const keys = Object.keys(head).slice(0, 8).map(shown).join(', ') || 'none';
      refuseFile(
        `the file has no configurations (its members: ${keys}). It needs a "cache", "results" or "data" of Kernel Tuner with at least one configuration`,
      );
    }

    const warnings: string[] = [];
    if (!whole)
      warnings.push(
        format === 'cache'
          ? `The file lacks its closing brackets, as the cache of a stopped run does. It has ${countedText(raw.length, 'configuration')}.`
          : `The file is cut off after ${countedText(raw.length, 'configuration')}.`,
      );
    const metadata = isObject(head.metadata) ? head.metadata : {};
    const predicted = /^Lockstep .*predicted/.test(String(field(metadata, 'source') ?? ''));
    const fileUnitMs = unitMs(field(metadata, 'timeunit') ?? '', 'metadata.timeunit', refuseFile);
    const kernel = text(head.kernel_name);
    // A property with the same value in all configurations is not a parameter.
    for (const name of STORED_PLACES)
      if (stored[name].size === 1) for (const one of raw) delete one.configuration[name];
    const [storedDevice = null] = stored.device_name.size === 1 ? stored.device_name : [];
    const cases: CaseResult[] = [];
    const devices: string[] = [];
    const slice = new Slice();
    for (const entry of raw) {
      const position = cases.length;
      const design = predicted ? lockstepCase(entry, position, label) : null;
      if (design) devices.push(design.device);
      cases.push(
        design && !entry.ran && entry.failure === null
          ? design.result
          : measuredCase(entry, position, kernel ?? kernelName, fileUnitMs),
      );
      if (slice.isOver) await slice.next();
    }
    const single = cases.filter((one) => one.timesMs.length === 1).length;
    if (single > 0) warnings.push(`Configurations with a single time instead of repeats: ${single}.`);
    const repeated = cases.length - seen.size;
    if (repeated > 0) warnings.push(`Configurations that repeat an earlier configuration: ${repeated}.`);
    return ok({
      format,
      kernel,
      deviceName: text(head.device_name) ?? text(field(metadata, 'device_name')) ?? storedDevice,
      head: plainHead(head),
      cases,
      devices: predicted ? devices : null,
      sweep: readSweep(metadata),
      warnings,
    });
  });
}

interface RawCase {
  readonly configuration: Configuration;
  readonly times: readonly number[];
  /** Whether `times` holds the repeats, and not the single time of the result. */
  readonly ran: boolean;
  /** Milliseconds per unit of `times`, if the entry gives the unit. */
  readonly unitMs: number | null;
  readonly failure: string | null;
  readonly correct: boolean | null;
  readonly values: Readonly<Record<string, number>>;
}

function measuredCase(raw: RawCase, position: number, kernel: string, fileUnitMs: number): CaseResult {
  const scale = raw.unitMs ?? fileUnitMs;
  return {
    ...NOTHING_MEASURED,
    case: { id: `c${position}`, benchmark: 'external', parameters: { kernel, configuration: raw.configuration } },
    timesMs: scale === 1 ? raw.times : raw.times.map((time) => time * scale),
    failure: raw.failure,
    correct: raw.correct,
    values: raw.values,
  };
}

function lockstepCase(
  { configuration, times, unitMs: scale }: RawCase,
  position: number,
  label: string,
): { readonly device: string; readonly result: CaseResult } {
  const read = <T>(name: string, expected: string, take: (value: unknown) => T | null): T => {
    const value = take(field(configuration, name));
    if (value !== null) return value;
    const found = got(field(configuration, name));
    return unwrap(badInput(`${label}, result ${position}: ${name} is ${found}; it must be ${expected}`));
  };
  const whole = (least: number) => (value: unknown) =>
    typeof value === 'number' && Number.isSafeInteger(value) && value >= least ? value : null;
  const registerCap = read('register_cap', 'a whole number, 0 for none', whole(0));
  const implementation = text(field(configuration, 'implementation'));
  const design: Design = {
    ...(implementation !== null && { implementation }),
    threadsPerUnit: read('threads_per_unit', 'a whole number ≥ 1', whole(1)),
    unitsPerThread: read('units_per_thread', 'a number ≥ 0', (value) =>
      typeof value === 'number' && value >= 0 ? value : null,
    ),
    loop: read('loop', 'nested or flattened', (value) => (value === 'nested' || value === 'flattened' ? value : null)),
    balancing: read('balancing', 'a balancing such as none or window-sort(4096)', (value) =>
      typeof value === 'string' && parseBalancing(value).ok ? value : null,
    ),
    blockThreads: read('block_size_x', 'a whole number ≥ 1', whole(1)),
    gridBlocks: read('grid_size_x', 'a whole number ≥ 1', whole(1)),
    registerCap: registerCap === 0 ? null : registerCap,
  };
  const predictedMs = times.length > 0 ? times[0] * (scale ?? 1) : null;
  return {
    device: read('device', 'the id of a device', text),
    result: {
      ...NOTHING_MEASURED,
      case: {
        id: `c${position}`,
        benchmark: 'unit-loop',
        parameters: { design, designIndex: null, predictedMs, residentBlocks: null },
      },
    },
  };
}

export function readSweep(metadata: unknown): FileSweep | null {
  if (!isObject(metadata)) return null;
  const [runId, seed] = [field(metadata, 'run'), field(metadata, 'seed')];
  const study = text(field(metadata, 'study'));
  if (study === null || typeof runId !== 'number' || !Number.isSafeInteger(runId) || runId < 1) return null;
  return { runId, study, seed: typeof seed === 'number' ? seed : null };
}

function listNames(head: Fields, refuse: Refuse): ReadonlySet<string> {
  const { tune_params_keys: keys, tune_params: parameters } = head;
  const names = Array.isArray(keys) ? keys : isObject(parameters) ? Object.keys(parameters) : null;
  if (!names) return refuse('an entry precedes "tune_params_keys". The names of the parameters must come first');
  if (names.length > MAX_PARAMETERS || !names.every((name) => typeof name === 'string'))
    return refuse(`tune_params_keys is ${got(keys)}, not a list of at most ${MAX_PARAMETERS} names`);
  return new Set(names);
}

const NOT_VALUES: ReadonlySet<string> = new Set(['times', 'timestamp', '__error__']);

function cacheCase({ key, value }: JsonMember, names: ReadonlySet<string>, refuse: Refuse): RawCase {
  if (!isObject(value)) return refuse(`entry ${shown(key)} is ${got(value)}, not an object`);
  // A prediction of Lockstep contains its design twice: as an object, and as the numbers that encode it.
  const own = field(value, 'lockstep');
  const configuration = isObject(own)
    ? readConfiguration(own, Object.keys(own), refuse)
    : readConfiguration(value, [...names], refuse);
  const values: [string, number][] = [];
  for (const [name, item] of Object.entries(value)) {
    if (typeof item === 'number' && !names.has(name) && !NOT_VALUES.has(name) && !FORBIDDEN_NAMES.has(name)) {
      if (name !== 'time' || isTime(item)) values.push([name, item]);
    }
  }
  const time = field(value, 'time');
  const error = findError(value) ?? findError(time) ?? (typeof time === 'string' ? time : null);
  const repeats = readTimes(field(value, 'times'), time, error, refuse);
  return { configuration, ...repeats, unitMs: null, correct: null, values: Object.fromEntries(values) };
}

/** Properties of an entry of `store_results` that are parameters only if they vary between the entries. */
const STORED_PLACES = ['device_name', 'problem_size'] as const;

function storedCase(
  { position, value }: JsonMember,
  head: Fields,
  stored: Readonly<Record<(typeof STORED_PLACES)[number], Set<string>>>,
  refuse: Refuse,
): RawCase {
  const chosen = isObject(value) ? field(value, 'tunable_parameters') : undefined;
  if (!isObject(value) || !isObject(chosen))
    return refuse(`the tunable_parameters of entry ${position} are ${got(chosen)}, not an object`);
  if (field(value, 'time') === undefined)
    refuse(`the objective of the results is ${got(head.objective)}, not time. Store them with objective="time"`);
  const configuration = readConfiguration(chosen, Object.keys(chosen), refuse);
  for (const name of STORED_PLACES) {
    const said = text(field(value, name));
    if (said === null) continue;
    stored[name].add(said);
    configuration[name] = said;
  }
  const single = readTimes(undefined, field(value, 'time'), null, refuse);
  return { configuration, ...single, unitMs: null, correct: null, values: {} };
}

function t4Case({ position, value }: JsonMember, refuse: Refuse): RawCase {
  if (!isObject(value)) return refuse(`result ${position} is ${got(value)}, not an object`);
  const chosen = field(value, 'configuration');
  if (!isObject(chosen)) return refuse(`the configuration of result ${position} is ${got(chosen)}, not an object`);
  const configuration = readConfiguration(chosen, Object.keys(chosen), refuse);
  const timings = field(value, 'times');
  if (timings !== undefined && !isObject(timings))
    return refuse(`the times of result ${position} are ${got(timings)}, not an object`);
  const values: [string, number][] = [];
  for (const [name, item] of Object.entries(timings ?? {})) {
    if (typeof item === 'number' && !FORBIDDEN_NAMES.has(name)) {
      // Published files use the name `compilation`; the schema's name is `compilation_time`.
      values.push([name === 'compilation' ? 'compilation_time' : name, item]);
    }
  }
  let time: unknown;
  let scale: number | null = null;
  const measurements = field(value, 'measurements');
  for (const item of Array.isArray(measurements) ? measurements : []) {
    if (!isObject(item)) continue;
    const name = field(item, 'name');
    const measured = field(item, 'value');
    if (name === 'time') {
      time = measured;
      const unit = field(item, 'unit');
      if (unit !== undefined && unit !== '') scale = unitMs(unit, 'unit of time', refuse);
    }
    if (typeof name !== 'string' || FORBIDDEN_NAMES.has(name) || name.length > MAX_TEXT) continue;
    if (typeof measured === 'number' && (name !== 'time' || isTime(measured))) values.push([name, measured]);
  }
  const invalidity = text(field(value, 'invalidity')) ?? 'correct';
  const named = typeof time === 'string' ? time : findError(time);
  const wrong = invalidity === 'correct' ? null : (INVALIDITY.get(invalidity) ?? invalidity);
  const error = wrong === null ? named : named === null ? wrong : `${named}: ${wrong}`;
  return {
    configuration,
    ...readTimes(timings && field(timings, 'runtimes'), time, error, refuse),
    unitMs: scale,
    // Kernel Tuner writes 1 for every result with a time, even if it was not checked.
    correct: invalidity === 'correctness' ? false : null,
    values: Object.fromEntries(values),
  };
}

function readTimes(
  repeats: unknown,
  time: unknown,
  error: string | null,
  refuse: Refuse,
): Pick<RawCase, 'times' | 'failure' | 'ran'> {
  const failed = (failure: string) => ({ times: [], failure: failure.slice(0, MAX_TEXT), ran: false });
  if (error !== null) {
    const words = ERRORS.get(error);
    return failed(words ? `${error}: ${words}` : error);
  }
  if (time === INVALID_TIME) return failed('invalid: its time is written as 1e20');
  if (repeats !== undefined && repeats !== null && !Array.isArray(repeats))
    return refuse(`the repeats are ${got(repeats)}, not a list of times`);
  const ran = repeats ? repeats.length > 0 : false;
  const list: readonly unknown[] = ran ? (repeats as readonly unknown[]) : time === undefined ? [] : [time];
  if (list.length === 0) return failed('the file gives no time for this case');
  const wrong = list.find((item) => !isTime(item));
  if (wrong !== undefined) return failed(`a time is ${got(wrong)}, not a number ≥ 0`);
  return { times: list as readonly number[], failure: null, ran };
}

/** Returns the error in `{"__error__": "RuntimeFailedConfig"}`, the form in newer versions. */
function findError(value: unknown): string | null {
  if (!isObject(value)) return null;
  const error = field(value, '__error__');
  return error === undefined || error === null ? null : (text(error) ?? got(error));
}

function readConfiguration(fields: Fields, names: readonly string[], refuse: Refuse): Configuration {
  if (names.length > MAX_PARAMETERS) refuse(`${names.length} parameters exceed the limit of ${MAX_PARAMETERS}`);
  return Object.fromEntries(
    names.map((name) => {
      const value = field(fields, name);
      if (FORBIDDEN_NAMES.has(name)) refuse(`a parameter may not be called ${shown(name)}`);
      const plain = typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string';
      if (name.length > MAX_TEXT) refuse(`the name of parameter ${shown(name)} exceeds ${MAX_TEXT} characters`);
      if (!plain || (typeof value === 'string' && value.length > MAX_TEXT))
        refuse(
          `parameter ${shown(name)} is ${got(value)}. It must be a number, true, false or text up to ${MAX_TEXT} characters`,
        );
      return [name, value];
    }),
  );
}

function unitMs(unit: unknown, what: string, refuse: Refuse): number {
  const word = typeof unit === 'string' ? unit.toLowerCase().trim() : null;
  const found = word === null ? undefined : UNITS.find(({ spelling }) => spelling.test(word));
  return found?.ms ?? refuse(`the ${what} is ${got(unit)}, not one of ms, s, us, ns`);
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.slice(0, MAX_TEXT) : null;
}

const isScalar = (value: unknown): value is string | number =>
  typeof value === 'number' || (typeof value === 'string' && value.length <= MAX_TEXT);

function plainHead(head: Fields): KernelTunerFile['head'] {
  const plain = Object.entries(head).filter(
    ([key, value]) =>
      !FORBIDDEN_NAMES.has(key) &&
      key !== 'tune_params_keys' &&
      (isScalar(value) || (Array.isArray(value) && value.length <= MAX_PARAMETERS && value.every(isScalar))),
  );
  return Object.fromEntries(plain.slice(0, MAX_PARAMETERS)) as KernelTunerFile['head'];
}
