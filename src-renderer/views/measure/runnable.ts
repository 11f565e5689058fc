import type { MeasuringTarget } from '../../../src-main/contract/measuring.ts';
import type { RankFilter } from '../../../src-main/contract/procedures.ts';
import { fail, ok, type Result } from '../../../src-workers/domain/result.ts';
import { mersenneTwister } from '../../../src-workers/numeric/random.ts';
import type { Api } from '../../api/engine.svelte.ts';
import { count } from '../../format/numbers.ts';
import type { Choice } from './setup.ts';

/** What a target can run at all; designs were predicted for another device, which may be wider. */
export interface Ability {
  readonly threadGroupWidth: number | null;
  readonly maxBlockThreads: number | null;
  /** Whether the compiler can be held to a number of registers. */
  readonly registerCaps: boolean;
}

const BLOCK_LIMITS = ['maxComputeInvocationsPerWorkgroup', 'maxThreadsPerBlock'] as const;

export function abilityOf({ backend, device }: MeasuringTarget): Ability {
  const limit = BLOCK_LIMITS.map((name) => device?.properties[name]).find((value) => typeof value === 'number');
  return {
    threadGroupWidth: device?.threadGroupWidth ?? null,
    maxBlockThreads: limit ?? null,
    registerCaps: backend !== 'webgpu',
  };
}

type Axes = readonly { readonly id: string; readonly values: readonly string[]; readonly texts: readonly string[] }[];

export interface Restriction {
  readonly filter: RankFilter;
  /** `up to 4 threads per unit, no register cap`. */
  readonly words: readonly string[];
}

/**
 * The part of a space that a target can run; null where that is all of it.
 * @param axes as `landscape.axes` gives them
 */
export function restriction(
  { threadGroupWidth, maxBlockThreads, registerCaps }: Ability,
  axes: Axes,
  terms: { readonly threads: string; readonly block: string },
): Restriction | null {
  const numbers = (id: string) => axes.find((axis) => axis.id === id)?.texts.map(Number) ?? [];
  const filter: { -readonly [Key in keyof RankFilter]: RankFilter[Key] } = {};
  const words: string[] = [];
  const shared = numbers('threadsPerUnit');
  if (threadGroupWidth !== null && shared.some((value) => value > threadGroupWidth)) {
    filter.threadsPerUnit = shared.filter((value) => value <= threadGroupWidth);
    words.push(`up to ${count(threadGroupWidth)} ${terms.threads} per unit`);
  }
  if (maxBlockThreads !== null && numbers('blockThreads').some((value) => value > maxBlockThreads)) {
    filter.blockThreads = { from: 0, to: maxBlockThreads };
    words.push(`${terms.block}s of up to ${count(maxBlockThreads)}`);
  }
  const caps = numbers('registerCap');
  // A cap that is no number is no cap.
  if (!registerCaps && caps.some((value) => Number.isFinite(value))) {
    filter.registerCap = [null];
    words.push('no register cap');
  }
  return words.length === 0 ? null : { filter, words };
}

const MOST_ROWS = 1000;

/** Designs that a target can run, chosen as the engine would choose among all: best, spread from best to worst, or drawn. */
export async function runnableDesigns(
  engine: Pick<Api, 'call'>,
  runId: number,
  filter: RankFilter,
  { choose, count: wanted }: { readonly choose: Exclude<Choice, 'named'>; readonly count: number },
  seed: number,
): Promise<Result<readonly number[]>> {
  const page = (offset: number, limit: number) => engine.call('ranking.page', { runId, filter, offset, limit });
  const first = await page(0, Math.min(wanted, MOST_ROWS));
  if (!first.ok) return first;
  const { matching } = first.value;
  const number = Math.min(wanted, matching);
  if (number === 0)
    return fail('not-found', 'no design of this run can run on the target; choose another target or widen the space');
  const places = placesOf(choose, number, matching, seed);
  const designs: number[] = [];
  let known = first.value;
  for (const place of places) {
    if (place < known.offset || place >= known.offset + known.rows.length) {
      const next = await page(place, choose === 'best' ? MOST_ROWS : 1);
      if (!next.ok) return next;
      known = next.value;
    }
    const row = known.rows[place - known.offset];
    if (row) designs.push(row.designIndex);
  }
  return ok(designs);
}

/** Places in a list of `matching`, from 0, ascending but for draws. */
export function placesOf(
  choose: Exclude<Choice, 'named'>,
  number: number,
  matching: number,
  seed: number,
): readonly number[] {
  switch (choose) {
    case 'best':
      return Array.from({ length: number }, (_, i) => i);
    case 'spread': {
      const step = number > 1 ? (matching - 1) / (number - 1) : 0;
      return Array.from({ length: number }, (_, i) => Math.round(i * step));
    }
    case 'random': {
      const uniform = mersenneTwister(seed);
      const drawn = new Set<number>();
      // Sparse, or else all but few: either way most draws are new.
      if (number > matching / 2) {
        const all = Array.from({ length: matching }, (_, i) => i);
        for (let i = 0; i < number; i += 1) {
          const j = i + Math.floor(uniform() * (matching - i));
          [all[i], all[j]] = [all[j]!, all[i]!];
        }
        return all.slice(0, number);
      }
      while (drawn.size < number) drawn.add(Math.floor(uniform() * matching));
      return [...drawn];
    }
  }
}
