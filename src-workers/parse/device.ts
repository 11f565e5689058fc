import * as v from 'valibot';
import type { CpuDevice, Device, DeviceLimits, GpuDevice } from '../domain/device.ts';
import { meantName } from '../domain/nearest.ts';
import { badInput, ok, type Result } from '../domain/result.ts';
import { limitsByRules } from '../models/occupancy/resident.ts';

// A schema's message completes "must be …". The field and its value are added in one place, `describe`.
const SLUG = 'a lower-case slug such as nvidia-a100-sxm4-40gb';
const slug = v.pipe(v.string(SLUG), v.regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, SLUG), v.maxLength(80, SLUG));
const text = v.pipe(
  v.string('text of 1 to 200 characters'),
  v.nonEmpty('text of 1 to 200 characters'),
  v.maxLength(200, 'text of 1 to 200 characters'),
  v.regex(/\S/, 'text that is not only spaces'),
);

function whole(min: number, max: number = Number.MAX_SAFE_INTEGER) {
  const expected = max === Number.MAX_SAFE_INTEGER ? `a whole number ≥ ${min}` : `a whole number from ${min} to ${max}`;
  return v.pipe(v.number(expected), v.safeInteger(expected), v.minValue(min, expected), v.maxValue(max, expected));
}

/** A value beyond these limits was probably given in another unit. */
function amount(unit: string, min: number, max: number) {
  const expected = `a number of ${unit} from ${min.toLocaleString('en')} to ${max.toLocaleString('en')}`;
  return v.pipe(v.number(expected), v.finite(expected), v.minValue(min, expected), v.maxValue(max, expected));
}

const L2 = 'a whole number of bytes, 0 or from 65,536 to 10,000,000,000';
const l2Bytes = v.pipe(
  v.number(L2),
  v.safeInteger(L2),
  v.check((bytes) => bytes === 0 || (bytes >= 65_536 && bytes <= 1e10), L2),
);

function positive(max: number) {
  const expected = `a number above 0, at most ${max}`;
  return v.pipe(v.number(expected), v.finite(expected), v.gtValue(0, expected), v.maxValue(max, expected));
}

const SOURCES = 'a map from field names to sources of at most 500 characters';
const sources = v.pipe(
  v.record(v.string(), v.pipe(v.string(SOURCES), v.maxLength(500, SOURCES)), SOURCES),
  v.check((map) => Object.keys(map).length <= 40, 'at most 40 sources'),
);

const limits = v.strictObject({
  maxThreadsPerBlock: whole(1, 65536),
  maxGridBlocks: whole(1),
  maxBlocksPerMultiprocessor: whole(1, 65536),
  maxThreadGroupsPerMultiprocessor: whole(1, 65536),
  registersPerMultiprocessor: whole(1),
  maxRegistersPerBlock: whole(1),
  maxRegistersPerThread: whole(1, 65536),
  sharedMemoryBytesPerMultiprocessor: whole(0),
  maxSharedMemoryBytesPerBlock: whole(0),
});

const RULES = 'occupancy rules of family nvidia, amd, intel, apple or generic';
const occupancy = v.variant(
  'family',
  [
    v.strictObject({ family: v.literal('nvidia'), computeCapability: v.string('text such as 8.0') }),
    v.strictObject({
      family: v.literal('amd'),
      isa: v.string('text such as gfx90a'),
      waveSize: v.picklist([32, 64], '32 or 64'),
    }),
    v.strictObject({
      family: v.literal('intel'),
      architecture: v.string('text such as xe-hpg'),
      simdWidth: v.picklist([8, 16, 32], '8, 16 or 32'),
    }),
    v.strictObject({ family: v.literal('apple'), gpuFamily: whole(1, 99) }),
    v.strictObject({ family: v.literal('generic') }),
  ],
  RULES,
);

const gpu = v.strictObject({
  kind: v.literal('gpu'),
  id: slug,
  name: text,
  vendor: v.picklist(
    ['nvidia', 'amd', 'intel', 'apple', 'software', 'other'],
    'one of nvidia, amd, intel, apple, software, other',
  ),
  architecture: text,
  occupancy,
  year: whole(2006, 2100),
  multiprocessors: whole(1, 65536),
  clockMhz: amount('MHz', 100, 10_000),
  threadGroupWidth: whole(1, 1024),
  schedulersPerMultiprocessor: whole(1, 64),
  fp32LanesPerMultiprocessor: whole(1, 4096),
  dependentIssueLatencyCycles: positive(1000),
  memoryLatencyCycles: positive(100000),
  memoryBandwidthGbS: amount('GB/s', 10, 100_000),
  memoryGib: amount('GiB', 0.1, 2000),
  l2Bytes,
  achievedBandwidthFraction: v.optional(positive(1)),
  launchMicroseconds: v.optional(positive(1e6)),
  fillMicroseconds: v.optional(positive(1e6)),
  blockStartNanoseconds: v.optional(positive(1e6)),
  randomSectorsGbS: v.optional(positive(1e6)),
  cachedSectorsGbS: v.optional(positive(1e6)),
  limits,
  sources,
});

const cpu = v.strictObject({
  kind: v.literal('cpu'),
  id: slug,
  name: text,
  vendor: text,
  cores: whole(1, 65536),
  singleCoreBandwidthGbS: amount('GB/s', 0.5, 1000),
  fullBandwidthGbS: amount('GB/s', 0.5, 10_000),
  kneeCores: whole(1, 65536),
  sources,
});

const device = v.variant('kind', [gpu, cpu], 'a device of kind gpu or cpu');

const isUnknown = ({ type, expected }: v.BaseIssue<unknown>): boolean =>
  type === 'strict_object' && expected === 'never';

const keyOf = ({ path }: v.BaseIssue<unknown>): string => String(path?.at(-1)?.key ?? '');

/** A misspelled field is reported twice: as an unknown field, which says more, and as a missing one. */
const mostTelling = ([first, ...others]: readonly v.BaseIssue<unknown>[]): v.BaseIssue<unknown> =>
  others.find((issue) => isUnknown(issue) && meantName(keyOf(issue), [keyOf(first)]) !== null) ?? first;

function describe(issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue);
  const place = path ?? 'device';
  if (isUnknown(issue)) {
    const meant = meantName(keyOf(issue), Object.keys({ ...gpu.entries, ...cpu.entries, ...limits.entries }));
    return `${place}: there is no such field${meant === null ? '' : `. Did you mean ${meant}?`}`;
  }
  if (issue.type === 'strict_object' && issue.expected !== 'Object') return `${place}: is missing`;
  const expected = issue.type === 'strict_object' ? 'an object' : issue.message;
  // If a text has the wrong length, the message shows the text and not its length.
  const got =
    typeof issue.input === 'string'
      ? JSON.stringify(issue.input.slice(0, 80))
      : issue.received.replace(/^undefined$/, 'nothing');
  return `${place}: must be ${expected}, not ${got}`;
}

/** Lowers a limit that files of version 0.1 state: 256 registers per thread. Compilers use at most 255 of them. */
function withCompilerLimit(candidate: GpuDevice): GpuDevice {
  const { limits, occupancy } = candidate;
  return occupancy.family === 'nvidia' && limits.maxRegistersPerThread === 256
    ? { ...candidate, limits: { ...limits, maxRegistersPerThread: 255 } }
    : candidate;
}

function contradiction(candidate: GpuDevice): { field: string; message: string } | null {
  const found = limitsByRules(candidate.occupancy);
  if (!found.ok) return { field: 'occupancy', message: found.error.message };
  if (found.value) {
    const { limits: expected, width } = found.value;
    if (candidate.threadGroupWidth !== width)
      return {
        field: 'threadGroupWidth',
        message: `must be ${width} by its occupancy rules, not ${candidate.threadGroupWidth}`,
      };
    for (const key of Object.keys(expected) as (keyof DeviceLimits)[]) {
      if (candidate.limits[key] !== expected[key]) {
        const message = `must be ${expected[key]} by its occupancy rules, not ${candidate.limits[key]}`;
        return { field: `limits.${key}`, message };
      }
    }
  }
  const own = candidate.limits;
  const pairs = [
    ['maxRegistersPerBlock', 'registersPerMultiprocessor'],
    ['maxSharedMemoryBytesPerBlock', 'sharedMemoryBytesPerMultiprocessor'],
  ] as const;
  for (const [part, whole] of pairs) {
    if (own[part] > own[whole])
      return { field: `limits.${part}`, message: `must be at most limits.${whole}, ${own[whole]}, not ${own[part]}` };
  }
  const slots = own.maxThreadGroupsPerMultiprocessor * candidate.threadGroupWidth;
  if (own.maxThreadsPerBlock > slots)
    return {
      field: 'limits.maxThreadsPerBlock',
      message: `must be at most the ${slots} threads that a multiprocessor holds, not ${own.maxThreadsPerBlock}`,
    };
  return null;
}

function cpuContradiction(candidate: CpuDevice): { field: string; message: string } | null {
  if (candidate.fullBandwidthGbS < candidate.singleCoreBandwidthGbS) {
    const message = `must be at least ${candidate.singleCoreBandwidthGbS} (singleCoreBandwidthGbS), not ${candidate.fullBandwidthGbS}`;
    return { field: 'fullBandwidthGbS', message };
  }
  if (candidate.kneeCores > candidate.cores)
    return { field: 'kneeCores', message: `must be at most cores, ${candidate.cores}, not ${candidate.kneeCores}` };
  return null;
}

/** Checks a device against its occupancy rules. A failure names a wrong field, its value and the limits. */
export function validateDevice(json: unknown): Result<Device> {
  const parsed = v.safeParse(device, json);
  if (!parsed.success) {
    const issue = mostTelling(parsed.issues);
    return badInput(describe(issue), { field: v.getDotPath(issue) ?? '' });
  }
  const checked = parsed.output.kind === 'gpu' ? withCompilerLimit(parsed.output) : parsed.output;
  const found = checked.kind === 'gpu' ? contradiction(checked) : cpuContradiction(checked);
  if (!found) return ok(checked);
  return badInput(`${found.field}: ${found.message}`, { field: found.field });
}
