import type { FieldChange } from '../../src-main/contract/api.ts';
import type { Constraint } from '../../src-main/contract/study.ts';
import type { Device } from '../../src-workers/domain/device.ts';
import type { MemoryAccess } from '../../src-workers/domain/kernel.ts';
import { accessesText } from '../../src-workers/domain/provenance.ts';
import type { Failure } from '../../src-workers/domain/result.ts';
import type { Term } from '../../src-workers/domain/terms.ts';
import { shortened } from '../../src-workers/domain/text.ts';
import { PARAMETER_WORDS } from '../views/measure/calibration.ts';
import { printAxis, printCaps } from '../views/study/axis-text.ts';
import { printConstraint } from '../views/study/constraint-text.ts';
import { kernelFields } from '../views/study/kernel-fields.ts';
import { quantityLabel } from './axes.ts';
import { deviceOf, shortDeviceName } from './devices.ts';
import { memorySize, plain } from './numbers.ts';

export interface FieldWords {
  readonly say: Term;
  readonly devices: readonly Device[];
}

const parameterLabel = (key: string): string | undefined =>
  Object.hasOwn(PARAMETER_WORDS, key) ? PARAMETER_WORDS[key as keyof typeof PARAMETER_WORDS].label : undefined;

const PHASE: Readonly<Record<string, string>> = {
  instructions: 'Instructions',
  integerShare: 'Integer instructions',
  fp64Share: 'FP64 instructions',
  specialShare: 'Special functions',
  chainInstructions: 'Longest chain',
  dependentExchanges: 'Exchanges',
  dependentLoads: 'Dependent loads',
  bytes: 'Bytes',
};

/** Returns a message that starts with the path of a field, with the field's label instead. */
export function failureText({ message, context }: Failure, words: FieldWords): string {
  const field = context?.field;
  if (typeof field !== 'string' || field === '' || !message.startsWith(`${field} `)) return message;
  return `${fieldLabel(field, words)}${message.slice(field.length)}`;
}

/** Returns the label of a study's field: `kernel.serialFraction` → `Serial fraction σ`. */
export function fieldLabel(path: string, { say, devices }: FieldWords): string {
  const own = /^implementations\[(\d+)\]\.(.+)$/.exec(path);
  if (own)
    return `Implementation ${Number(own[1]) + 1}: ${own[2] === 'name' ? 'name' : fieldLabel(own[2], { say, devices })}`;
  const [first, ...rest] = path.split('.');
  const last = rest.at(-1) ?? first;
  const others: Readonly<Record<string, string>> = {
    'workload.lengths': 'Lengths',
    'workload.units': 'Units',
    'workload.width': 'Units per row',
    'workload.truncation': 'Probability cut',
    'kernel.name': 'Kernel name',
    'kernel.accesses': 'Memory accesses',
    'kernel.sharing': 'Sharing of a unit',
    'kernel.lengthsKnownBeforeLaunch': 'Lengths known before launch',
    devices: 'Devices',
    constraints: 'Constraints',
    implementations: 'Implementations',
    pipeline: 'Calibration',
    seed: 'Seed',
    name: 'Name of the study',
    description: 'About',
  };
  if (Object.hasOwn(others, path)) return others[path];
  if (first === 'kernel') {
    const field = kernelFields(say).find(({ id }) => id === rest[0]);
    if (!field) return path;
    if (rest.length > 1) return `${field.label}, ${(PHASE[last] ?? last).toLowerCase()}`;
    return `${field.label}${field.symbol ? ` ${field.symbol}` : ''}`;
  }
  if (first === 'axes') return rest.length === 1 ? quantityLabel(last, say) : path;
  if (first === 'pipeline') {
    // Ids of devices contain dots (`nvidia-h100-1.5`), so the last part may belong to the id.
    const figure = parameterLabel(last);
    const id = (figure === undefined ? rest : rest.slice(0, -1)).join('.');
    const device = deviceOf(devices, id);
    return `${figure ?? 'Calibration'} of ${device ? shortDeviceName(device.name) : id}`;
  }
  return path;
}

const STORED = /^stored:[0-9a-f]{64}:/;
const MAX_CHARACTERS = 60;

export function fieldValue(path: string, json: string, words: FieldWords): string {
  if (json === '') return '–';
  return shortened(valueText(path, JSON.parse(json), words), MAX_CHARACTERS);
}

function valueText(path: string, value: unknown, words: FieldWords): string {
  if (value === null) return 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number')
    return path.endsWith('kernel.sharedMemoryBytesPerBlock') ? memorySize(value) : plain(value, 4);
  if (typeof value === 'string') return value.replace(STORED, '');
  if (path === 'devices' && Array.isArray(value))
    return value
      .map((id) => deviceOf(words.devices, String(id))?.name ?? String(id))
      .map(shortDeviceName)
      .join(', ');
  if (path === 'constraints' && Array.isArray(value))
    return value.length === 0
      ? 'none'
      : value.map((constraint) => printConstraint(constraint as Constraint, words.say)).join('; ');
  if (path === 'implementations' && Array.isArray(value))
    return value.map(({ name }: { readonly name: string }) => name).join(', ');
  if (path.endsWith('kernel.accesses')) return accessesText(value as MemoryAccess[]);
  if (path.endsWith('axes.blockWidth') && Array.isArray(value)) return printCaps(value as (number | null)[], 'row');
  if (path.endsWith('axes.registerCap') && Array.isArray(value)) return printCaps(value as (number | null)[]);
  if (Array.isArray(value))
    return value.every((each) => typeof each === 'number') ? printAxis(value) : value.map(String).join(', ');
  if (typeof value === 'object' && 'from' in value) return printAxis(value as { from: number; to: number });
  return Object.entries(value as object)
    .map(
      ([key, each]) =>
        `${(parameterLabel(key) ?? PHASE[key] ?? key).toLowerCase()} ${typeof each === 'number' ? plain(each, 4) : String(each)}`,
    )
    .join(', ');
}

export function changesText(fields: readonly FieldChange[], words: FieldWords): string {
  const text = ({ field, was, is }: FieldChange) =>
    `${fieldLabel(field, words)} ${fieldValue(field, was, words)} → ${fieldValue(field, is, words)}`;
  return fields.map(text).join('; ');
}

export function changeText({ field, was, is }: FieldChange, words: FieldWords): string {
  return `${fieldLabel(field, words)} was ${fieldValue(field, was, words)} and is now ${fieldValue(field, is, words)}`;
}
