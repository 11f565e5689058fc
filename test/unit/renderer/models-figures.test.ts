import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { PUBLISHED_STACK } from '../../../src-workers/models/divergence/emulator.ts';
import { runLoops } from '../../../src-workers/models/divergence/figures.ts';
import { lossComparison } from '../../../src-workers/models/imbalance/loss-comparison.ts';
import { parseSmiteGroups } from '../../../src-workers/parse/smite.ts';
import { lawOf } from '../../../src-renderer/views/models/laws.ts';
import { FIGURES, LOSS_BINS } from '../../../src-renderer/views/models/figures.ts';
import { PUBLISHED_GROUPS } from '../../../src-renderer/views/models/published-groups.ts';
import { inMemoryBySteps, nextEvent, stackAt } from '../../../src-renderer/views/models/stack-replay.ts';

const FILES: Readonly<Record<string, string>> = { geometric: 'geo_005', uniform: 'uniform_20_40' };

describe('published work groups', () => {
  it.each(PUBLISHED_GROUPS)('of $law are the counts of the published rows', async ({ law, n, simulated, measured }) => {
    const name = `measured-${FILES[law]}-n${n}-first4096.csv.gz`;
    const bytes = gunzipSync(readFileSync(join(import.meta.dirname, '../../data/smite', name)));
    const source = (async function* () {
      yield bytes;
    })();
    const rows = unwrap(await parseSmiteGroups(source, name));
    const { observed } = lossComparison(lawOf(law), n, [rows.simulated.loss, rows.measured.loss], LOSS_BINS);
    const counts = observed.map((parts) => Array.from(parts, (part) => Math.round(part * rows.groups)));
    expect(counts).toEqual([simulated, measured]);
  });
});

describe('the drawn distribution', () => {
  it('agrees with its simulation within sampling error', () => {
    const { modelled, observed, groups, modelledMean, simulatedMean } = FIGURES.lossDistribution({
      law: 'uniform',
      n: 8,
      seed: 3,
    });
    expect(modelled.reduce((a, b) => a + b)).toBeCloseTo(1, 12);
    // Five standard errors of a bin's share; one bin in a million would leave it.
    modelled.forEach((p, i) =>
      expect(Math.abs(observed[0][i] - p)).toBeLessThan(5 * Math.sqrt((p * (1 - p) + 1e-4) / groups)),
    );
    expect(Math.abs(simulatedMean - modelledMean)).toBeLessThan(0.005);
  });
});

describe('the stack, replayed', () => {
  it.each([
    ['single', 0],
    ['single', 20],
    ['double', 31],
  ] as const)('has the depths and spills of the %s loop with %i divergent lanes', (kernel, lanes) => {
    const run = runLoops(kernel, lanes);
    const inMemory = inMemoryBySteps(run);
    let up = 0;
    let down = 0;
    inMemory.forEach((now, step) => {
      const moved = now - (inMemory[step - 1] ?? 0);
      if (moved > 0) up += moved;
      else down -= moved;
    });
    expect([up, down]).toEqual([run.spills * PUBLISHED_STACK.chunkEntries, run.loads * PUBLISHED_STACK.chunkEntries]);
    for (let step = 0; step < run.executed; step += 37) {
      const state = stackAt(run, step);
      expect(state.tokens).toHaveLength(run.depths[step]);
      expect(state.inMemory).toBe(inMemory[step]);
      expect(state.tokens.length - state.inMemory).toBeLessThanOrEqual(PUBLISHED_STACK.fastEntries);
    }
  });

  it('is stepped from one push or pop to the next, and back', () => {
    const run = runLoops('single', 5);
    const visited = [nextEvent(run, -1, 1)];
    while (nextEvent(run, visited.at(-1)!, 1) !== visited.at(-1)) visited.push(nextEvent(run, visited.at(-1)!, 1));
    expect(visited).toEqual([...new Set(run.events.map(({ step }) => step))]);
    expect(nextEvent(run, visited.at(-1)!, -1)).toBe(visited.at(-2));
    expect(nextEvent(run, 0, -1)).toBe(0);
  });
});
