import type { Curve } from '../../charts/curves.ts';
import type { RunState, RunSummary } from '../../../src-main/contract/api.ts';

export const RUN_STATES = ['complete', 'running', 'cancelled', 'interrupted', 'failed'] as const;

export function filterRuns(
  runs: readonly RunSummary[],
  { find, state, tag }: { readonly find: string; readonly state: RunState | 'any'; readonly tag: string },
): readonly RunSummary[] {
  const words = find.toLowerCase().split(/\s+/).filter(Boolean);
  return runs.filter((run) => {
    if (state !== 'any' && run.state !== state) return false;
    if (tag !== '' && !run.tags.includes(tag)) return false;
    const text =
      `#${run.id} ${run.name} ${run.note} ${run.tags.join(' ')} ${run.bestDesign ?? ''} ${run.kind} ${run.state}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

export function tagsInUse(runs: readonly RunSummary[]): readonly { readonly tag: string; readonly count: number }[] {
  const counts = new Map<string, number>();
  for (const run of runs) for (const tag of run.tags) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  return [...counts]
    .map(([tag, count]) => ({ tag, count }))
    .sort((a, b) => b.count - a.count || a.tag.localeCompare(b.tag));
}

export function parseTags(text: string): readonly string[] {
  const tags = text.split(',').map((tag) => tag.trim());
  return [...new Set(tags)].filter(Boolean);
}

/** Formats the start of a run: `14:05`, `yesterday 14:05`, `3 Nov 14:05`, `3 Nov 2025`. */
export function when(iso: string, now: Date): string {
  const then = new Date(iso);
  const time = then.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  const day = (date: Date): number => Math.floor((date.getTime() - date.getTimezoneOffset() * 60_000) / 86_400_000);
  const ago = day(now) - day(then);
  if (ago === 0) return time;
  if (ago === 1) return `yesterday ${time}`;
  const date = then.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
  return then.getFullYear() === now.getFullYear() ? `${date} ${time}` : `${date} ${then.getFullYear()}`;
}

/** Returns the study's last prediction before a run, otherwise the first one after it; `null` if there is none. */
export function comparedRun(run: RunSummary, runs: readonly RunSummary[]): RunSummary | null {
  if (run.kind !== 'sweep') return null;
  const others = runs.filter(
    ({ id, kind, state, studyId }) =>
      id !== run.id && kind === 'sweep' && state === 'complete' && studyId === run.studyId,
  );
  const before = others.filter(({ id }) => id < run.id).sort((a, b) => b.id - a.id);
  const after = others.filter(({ id }) => id > run.id).sort((a, b) => a.id - b.id);
  return before[0] ?? after[0] ?? null;
}

const BEST_CURVES = [
  { kind: 'sweep', name: 'predicted', series: 1 },
  { kind: 'simulate', name: 'simulated', series: 2 },
  { kind: 'bench', name: 'measured', series: 3 },
] as const;

/** Returns the best times over the run number. The runs have the same work, kernel and devices. */
export function bestOverTime(
  run: RunSummary,
  all: readonly RunSummary[],
  problems: ReadonlyMap<number, number>,
): readonly Curve[] {
  const problemOf = ({ id, sourceRunId }: RunSummary): number => problems.get(sourceRunId ?? id) ?? sourceRunId ?? id;
  const runs = all.filter((other) => problemOf(other) === problemOf(run));
  return BEST_CURVES.map(({ kind, name, series }) => ({
    name,
    series,
    dots: kind !== 'sweep',
    points: runs
      .filter((run) => run.kind === kind && run.state === 'complete' && run.bestTimeMs !== null)
      .map((run) => [run.id, run.bestTimeMs!] as const)
      .sort(([a], [b]) => a - b),
  })).filter(({ points }) => points.length > 0);
}
