/**
 * `npm run bench -- --against REV [--rounds N]`: runs the short benchmark alternately in this tree and in a temporary
 * checkout of REV, so that other load affects both. For each case, it prints the ratio of the two median times and its
 * interval. The name `last` means the last release, or the previous commit if there is no release. Slower cases are
 * listed but do not fail the build, because the machine may be busy.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mersenneTwister, type UniformSource } from '../../src-workers/numeric/random.ts';
import { median, sortedQuantile } from '../../src-workers/numeric/statistics.ts';
import { say } from './report.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const BENCH = 'test/bench/short.ts';
const RESAMPLES = 2000;
/** A case is listed as slower if its time grows by more than this factor. */
const SLOWER = 1.2;

export interface Ratio {
  /** Median time of the later revision over the median time of the earlier revision. */
  readonly ratio: number;
  /** Bounds of the interval that contains 95 % of the resampled ratios. */
  readonly low: number;
  readonly high: number;
  readonly isSlower: boolean;
}

/**
 * Computes the ratio of two series of times, with a percentile interval over resampled rounds. The two times of a round
 * are resampled together (Efron, Ann. Statist. 7 (1979), doi:10.1214/aos/1176344552).
 * @param earlier,later one time per round
 */
export function compareTimes(earlier: Float64Array, later: Float64Array, uniform: UniformSource): Ratio {
  const ratio = median(later) / median(earlier);
  const ratios = Float64Array.from({ length: RESAMPLES }, () => {
    const rounds = Uint32Array.from(earlier, () => Math.floor(uniform() * earlier.length));
    const drawn = (times: Float64Array) => median(Float64Array.from(rounds, (round) => times[round]));
    return drawn(later) / drawn(earlier);
  }).sort();
  const [low, high] = [0.025, 0.975].map((fraction) => sortedQuantile(ratios, fraction));
  return { ratio, low, high, isSlower: ratio > SLOWER && low > 1 };
}

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();

function findRevision(name: string): { readonly commit: string } | { readonly missing: string } {
  const names = name === 'last' ? ['v*', 'HEAD~1'] : [name];
  for (const one of names) {
    try {
      const revision = one === 'v*' ? git('describe', '--tags', '--match', 'v*', '--abbrev=0', 'HEAD~1') : one;
      return { commit: git('rev-parse', '--verify', '--quiet', `${revision}^{commit}`) };
    } catch {
      // There is no tag or commit of this name.
    }
  }
  const shallow = git('rev-parse', '--is-shallow-repository') === 'true';
  const unknown = `"${name}" is not a commit of this repository. Specify a commit, a tag, or "last".`;
  const nothing = 'Nothing to compare with: this clone is shallow. Fetch its history (git fetch --unshallow).';
  return { missing: shallow ? nothing : unknown };
}

function timesIn(folder: string): ReadonlyMap<string, number> {
  const said = execFileSync(process.execPath, [BENCH], { cwd: folder, encoding: 'utf8' });
  const lines = said.trim().split('\n').map((line) => JSON.parse(line) as { name: string; ms: number }); // prettier-ignore
  return new Map(lines.map(({ name, ms }) => [name, ms]));
}

/** @returns the exit code: 2 if the revision is unknown, or if the benchmark does not run there */
export function benchAgainst(name: string, rounds: number): number {
  const found = findRevision(name);
  if ('missing' in found) {
    say(found.missing);
    return 2;
  }
  const folder = mkdtempSync(join(tmpdir(), 'lockstep-against-'));
  const tree = join(folder, 'tree');
  try {
    git('worktree', 'add', '--detach', tree, found.commit);
    symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
    copyFileSync(join(ROOT, BENCH), join(tree, BENCH));
    const times = new Map<string, { earlier: number[]; later: number[] }>();
    for (let round = 0; round < rounds; round++) {
      for (const side of ['earlier', 'later'] as const)
        for (const [what, ms] of timesIn(side === 'earlier' ? tree : ROOT)) {
          if (!times.has(what)) times.set(what, { earlier: [], later: [] });
          times.get(what)![side].push(ms);
        }
    }
    say(`this tree against ${found.commit.slice(0, 10)}, ${rounds} rounds`);
    say(`${'case'.padEnd(38)} ${'before, ms'.padStart(12)} ${'now, ms'.padStart(12)}    ratio  95 % of resamples`);
    const uniform = mersenneTwister(1);
    for (const [what, { earlier, later }] of times) {
      const [before, now] = [Float64Array.from(earlier), Float64Array.from(later)];
      const { ratio, low, high, isSlower } = compareTimes(before, now, uniform);
      const cells = [median(before), median(now)].map((ms) => ms.toPrecision(4).padStart(12)).join(' ');
      const interval = `${ratio.toFixed(2).padStart(8)}  ${low.toFixed(2)} to ${high.toFixed(2)}`;
      say(`${what.padEnd(38)} ${cells} ${interval}${isSlower ? '  SLOWER' : ''}`);
    }
    return 0;
  } catch (error) {
    say(
      `The benchmark does not run in ${found.commit.slice(0, 10)}: ${error instanceof Error ? error.message : String(error)}`,
    );
    return 2;
  } finally {
    rmSync(folder, { recursive: true, force: true });
    git('worktree', 'prune');
  }
}
