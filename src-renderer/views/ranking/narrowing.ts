import { reasonText } from '../../../src-workers/domain/design.ts';
import { NBSP, count, counted, plain, timeText } from '../../format/numbers.ts';
import type { Narrowing } from './address.ts';

interface Range {
  readonly from: number;
  readonly to: number;
}

/** Stands for a missing limit, because ranges need two finite ends. */
export const UNBOUNDED = 1e15;

interface Listed {
  /** `bestOf` is the size of the space if a run keeps only its best designs. */
  readonly total: number;
  readonly valid: number;
  readonly bestOf: number | null;
  readonly devices: number;
}

export function passingText(
  matching: number,
  validity: Narrowing['validity'],
  { total, valid, bestOf, devices }: Listed,
): string {
  const from = devices > 1 ? ` of ${devices} devices` : '';
  if (bestOf !== null) return `${count(matching)} of the best ${count(total)} of ${counted(bestOf, 'design')}${from}`;
  if (validity === undefined || validity === 'valid')
    return `${count(matching)} of ${counted(valid, 'valid design')}${from}`;
  return `${count(matching)} of ${counted(total, 'design')}${from}; ${count(total - valid)} of all designs cannot run`;
}

function range({ from, to }: Range, unit: string, write: (value: number) => string): string {
  const end = unit && `${NBSP}${unit}`;
  if (from <= 0) return `≤ ${write(to)}${end}`;
  if (to >= UNBOUNDED) return `≥ ${write(from)}${end}`;
  return from === to ? `${write(from)}${end}` : `${write(from)} to ${write(to)}${end}`;
}

export function filterChips(filter: Narrowing, words: { readonly block: string; readonly thread: string }) {
  const { launch, blockThreads, gridBlocks, timeMs, occupancyFraction, invalidReason, validity } = filter;
  const parts: readonly (readonly [key: keyof Narrowing, label: string, value: string | false | undefined])[] = [
    ['implementation', 'implementation', filter.implementation?.join(', ')],
    ['threadsPerUnit', `${words.thread}s per unit`, filter.threadsPerUnit?.join(', ')],
    ['loop', 'loop', filter.loop?.join(', ')],
    ['balancing', 'balancing', filter.balancing?.join(', ')],
    ['launch', 'launch', launch && (launch.length > 4 ? `${launch.length} values` : launch.join(', '))],
    ['registerCap', 'cap', filter.registerCap?.map((cap) => cap ?? 'none').join(', ')],
    ['blockWidth', `${words.block} width`, filter.blockWidth?.map((width) => width ?? 'row').join(', ')],
    ['blockThreads', `${words.block} size`, blockThreads && range(blockThreads, '', count)],
    ['gridBlocks', 'grid', gridBlocks && range(gridBlocks, '', count)],
    ['timeMs', 'time', timeMs && range(timeMs, '', timeText)],
    ['occupancyFraction', 'occupancy', occupancyFraction && range(occupancyFraction, '%', (part) => plain(part * 100))],
    ['invalidReason', 'invalid', invalidReason && reasonText(invalidReason)],
    ['validity', 'designs', !invalidReason && validity === 'all' && 'valid and invalid'],
    ['validity', 'designs', !invalidReason && validity === 'invalid' && 'invalid only'],
  ];
  return parts.flatMap(([key, label, value]) =>
    value === undefined || value === false ? [] : [{ key, label, value }],
  );
}

export function rangeOf(from: number | null, to: number | null, scale = 1): Range | null {
  if (from === null && to === null) return null;
  return { from: (from ?? 0) * scale, to: to === null ? UNBOUNDED : to * scale };
}

/** Switches a value on or off. Returns undefined if all values or none are on, because such a list filters nothing. */
export function toggled<T>(chosen: readonly T[] | undefined, all: readonly T[], value: T): T[] | undefined {
  const now = new Set(chosen ?? []);
  if (now.has(value)) now.delete(value);
  else now.add(value);
  return now.size === 0 || now.size === all.length ? undefined : all.filter((entry) => now.has(entry));
}
