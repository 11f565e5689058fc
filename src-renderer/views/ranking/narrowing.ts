import { INVALID_REASONS } from '../../../src-workers/domain/design.ts';
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

/** Example: `1,204 of 110,295 valid designs of 5 devices`. Designs that cannot run count if the filter shows them. */
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

export interface Chip {
  readonly key: keyof Narrowing;
  readonly label: string;
  readonly value: string;
}

function range({ from, to }: Range, unit: string, write: (value: number) => string): string {
  const end = unit && `${NBSP}${unit}`;
  if (from <= 0) return `≤ ${write(to)}${end}`;
  if (to >= UNBOUNDED) return `≥ ${write(from)}${end}`;
  return from === to ? `${write(from)}${end}` : `${write(from)} to ${write(to)}${end}`;
}

export function filterChips(
  filter: Narrowing,
  words: { readonly block: string; readonly thread: string },
): readonly Chip[] {
  const chips: Chip[] = [];
  const add = (key: keyof Narrowing, label: string, value: string) => chips.push({ key, label, value });
  if (filter.implementation) add('implementation', 'implementation', filter.implementation.join(', '));
  if (filter.threadsPerUnit) add('threadsPerUnit', `${words.thread}s per unit`, filter.threadsPerUnit.join(', '));
  if (filter.loop) add('loop', 'loop', filter.loop.join(', '));
  if (filter.balancing) add('balancing', 'balancing', filter.balancing.join(', '));
  if (filter.launch)
    add(
      'launch',
      'launch',
      filter.launch.length > 4 ? `${filter.launch.length} of the launches` : filter.launch.join(', '),
    );
  if (filter.registerCap) add('registerCap', 'cap', filter.registerCap.map((cap) => cap ?? 'none').join(', '));
  if (filter.blockWidth)
    add('blockWidth', `${words.block} width`, filter.blockWidth.map((width) => width ?? 'row').join(', '));
  if (filter.blockThreads) add('blockThreads', `${words.block} size`, range(filter.blockThreads, '', count));
  if (filter.gridBlocks) add('gridBlocks', 'grid', range(filter.gridBlocks, '', count));
  if (filter.timeMs) add('timeMs', 'time', range(filter.timeMs, '', timeText));
  if (filter.occupancyFraction)
    add(
      'occupancyFraction',
      'occupancy',
      range(filter.occupancyFraction, '%', (value) => plain(value * 100)),
    );
  if (filter.invalidReason) {
    const reason = INVALID_REASONS.find(({ code }) => code === filter.invalidReason);
    add('invalidReason', 'invalid', reason?.text ?? filter.invalidReason);
  } else if (filter.validity && filter.validity !== 'valid')
    add('validity', 'designs', filter.validity === 'all' ? 'valid and invalid' : 'invalid only');
  return chips;
}

/** Returns a range from one or two limits; null without limits. */
export function rangeOf(from: number | null, to: number | null, scale = 1): Range | null {
  if (from === null && to === null) return null;
  return { from: (from ?? 0) * scale, to: to === null ? UNBOUNDED : to * scale };
}

/**
 * Switches a value of a list on or off. Returns undefined if all or none are on, because such a list filters nothing.
 */
export function toggled<T>(chosen: readonly T[] | undefined, all: readonly T[], value: T): T[] | undefined {
  const now = new Set(chosen ?? []);
  if (now.has(value)) now.delete(value);
  else now.add(value);
  return now.size === 0 || now.size === all.length ? undefined : all.filter((entry) => now.has(entry));
}
