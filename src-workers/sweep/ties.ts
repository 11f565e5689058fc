import type { Device } from '../domain/device.ts';
import { implementationKind, type ImplementationKind } from '../domain/evidence.ts';
import { AXIS, axisCounts, type SpaceAxes, productOf } from '../domain/space.ts';
import { firstIndex } from '../numeric/search.ts';
import { timeOf, type Ranking } from './ranking.ts';

/**
 * The tie band is never narrower than this, because the model cannot distinguish closer designs: among the best designs
 * of a study, predictions differ from the event simulator by a median of 0.3 to 1.5 %.
 */
export const AGREEMENT_FRACTION = 0.015;

/** The properties of a design that decide how far the error of its prediction differs from another design's. */
export interface TiePlace {
  readonly device: Device;
  readonly implementation: number;
  readonly kind: ImplementationKind;
}

/** The largest differences at which two designs of a space are tied; plain data, for workers. */
export interface TieTable {
  /** Number of designs in a family: consecutive ones that differ only in launch, register cap and block size. */
  readonly perFamily: number;
  readonly placeOf: Uint16Array;
  /** For each `TiePlace`, the position of its device and the kind of its implementation. */
  readonly kinds: readonly { readonly device: number; readonly kind: ImplementationKind }[];
  /** Entry [best · `places` + other]: the fraction by which a tie at place `other` may be slower than `best`. */
  readonly fractions: Float64Array;
  readonly places: number;
}

/** @param fraction returns by which fraction the time at `other` may exceed that at `best` if the two are tied */
export function tieTable(axes: SpaceAxes, fraction: (best: TiePlace, other: TiePlace) => number): TieTable {
  const counts = axisCounts(axes);
  const families = productOf(counts.slice(0, AXIS.launch));
  const perFamily = productOf(counts.slice(AXIS.launch));
  const places: TiePlace[] = [];
  const kinds: TieTable['kinds'][number][] = [];
  const known = new Map<string, number>();
  const placeOf = new Uint16Array(families);
  const loops = counts[AXIS.loop];
  for (let family = 0; family < families; family += 1) {
    let rest = family;
    const next = (count: number): number => {
      const position = rest % count;
      rest = Math.floor(rest / count);
      return position;
    };
    const balancing = axes.balancing[next(counts[AXIS.balancing])];
    next(loops);
    const threadsPerUnit = axes.threadsPerUnit[next(counts[AXIS.threadsPerUnit])];
    next(counts[AXIS.blockWidth]);
    const implementation = next(counts[AXIS.implementation]);
    const kind = implementationKind(axes.devices[rest], threadsPerUnit, balancing);
    const key = `${rest} ${implementation} ${kind}`;
    let place = known.get(key);
    if (place === undefined) {
      place = places.push({ device: axes.devices[rest], implementation, kind }) - 1;
      kinds.push({ device: rest, kind });
      known.set(key, place);
    }
    placeOf[family] = place;
  }
  const fractions = Float64Array.from(places.flatMap((best) => places.map((other) => fraction(best, other))));
  return { perFamily, placeOf, kinds, fractions, places: places.length };
}

export function timedKinds(
  { perFamily, placeOf, kinds }: TieTable,
  { axes, designs, columns: { timeMs } }: Ranking,
): readonly ReadonlySet<ImplementationKind>[] {
  const found = axes.devices.map(() => new Set<ImplementationKind>());
  if (designs) {
    for (const design of designs) {
      const { device, kind } = kinds[placeOf[Math.floor(design / perFamily)]];
      found[device].add(kind);
    }
    return found;
  }
  for (const [family, place] of placeOf.entries()) {
    const { device, kind } = kinds[place];
    if (found[device].has(kind)) continue;
    const end = (family + 1) * perFamily;
    for (let design = family * perFamily; design < end; design += 1)
      if (!Number.isNaN(timeMs[design])) {
        found[device].add(kind);
        break;
      }
  }
  return found;
}

function placeOfDesign({ perFamily, placeOf }: TieTable, design: number): number {
  return placeOf[Math.floor(design / perFamily)];
}

export function tieFraction(table: TieTable, best: number, other: number): number {
  return table.fractions[placeOfDesign(table, best) * table.places + placeOfDesign(table, other)];
}

export interface Ties {
  readonly count: number;
  /** Whether a design with a predicted time is tied, even if the list does not contain it. */
  isTied(design: number): boolean;
}

const NO_TIES: Ties = { count: 0, isTied: () => false };
const found = new WeakMap<Uint32Array, Ties>();

/** Tied designs need not come first in the list, because tie bands depend on `TiePlace`. Cached by list. */
export function tiesOf(ranking: Ranking, table: TieTable, byTimeList: Uint32Array): Ties {
  if (byTimeList.length === 0) return NO_TIES;
  const known = found.get(byTimeList);
  if (known) return known;
  const best = byTimeList[0];
  const bestMs = timeOf(ranking, best);
  const isTied = (design: number): boolean =>
    timeOf(ranking, design) <= bestMs * (1 + tieFraction(table, best, design));
  const widest = bestMs * (1 + widestFraction(table));
  const end = firstIndex(0, byTimeList.length, (i) => !(timeOf(ranking, byTimeList[i]) <= widest));
  let count = 0;
  for (let at = 0; at < end; at += 1) if (isTied(byTimeList[at])) count += 1;
  const ties = { count, isTied };
  found.set(byTimeList, ties);
  return ties;
}

export function widestFraction({ fractions }: TieTable): number {
  return fractions.reduce((widest, fraction) => Math.max(widest, fraction), 0);
}
