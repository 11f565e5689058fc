import type { LandscapeAxis } from '../../../src-main/contract/api.ts';

/** Returns the position of a design on every axis. The positions are the digits of its number, first axis first. */
export function positionsOf(axes: readonly LandscapeAxis[], design: number): number[] {
  const out = new Array<number>(axes.length).fill(0);
  let rest = design;
  for (let at = axes.length - 1; at >= 0; at -= 1) {
    const count = axes[at].values.length;
    out[at] = rest % count;
    rest = Math.floor(rest / count);
  }
  return out;
}

export function designAt(axes: readonly LandscapeAxis[], positions: readonly number[]): number {
  return axes.reduce((sum, axis, at) => sum * axis.values.length + positions[at], 0);
}

export function movedAlong(axes: readonly LandscapeAxis[], design: number, id: string, position: number): number {
  const at = axes.findIndex((axis) => axis.id === id);
  return designAt(
    axes,
    positionsOf(axes, design).map((old, i) => (i === at ? position : old)),
  );
}

export interface Roles {
  readonly x: string | null;
  readonly y: string | null;
  readonly facet: string | null;
}

export function chooseRoles(axes: readonly LandscapeAxis[], asked: Roles, isCpu = false): Roles {
  const open = axes.filter(({ values }) => values.length > 1).map(({ id }) => id);
  const taken = new Set<string>();
  const pick = (wanted: string | null, custom: readonly string[]): string | null => {
    const bySize = [...open].sort(
      (a, b) => axes.find(({ id }) => id === b)!.values.length - axes.find(({ id }) => id === a)!.values.length,
    );
    const found =
      [wanted, ...custom, ...bySize].find((id) => id !== null && open.includes(id) && !taken.has(id)) ?? null;
    if (found) taken.add(found);
    return found;
  };
  const x = pick(asked.x, [isCpu ? 'balancing' : 'blockThreads']);
  const y = pick(asked.y, ['launch']);
  if (asked.facet === '-' || (isCpu && asked.facet === null)) return { x, y, facet: null };
  return {
    x,
    y,
    facet: pick(asked.facet, ['implementation', 'blockWidth', 'threadsPerUnit', 'registerCap', 'balancing']),
  };
}
