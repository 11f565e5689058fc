import { createReadStream } from 'node:fs';
import { createGunzip } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { lossMoments } from '../../src-workers/models/imbalance/closed-form.ts';
import { lossComparison } from '../../src-workers/models/imbalance/loss-comparison.ts';
import { geometricLaw, uniformLaw } from '../../src-workers/models/workload/laws.ts';
import { parseSmiteGroups } from '../../src-workers/parse/smite.ts';

const HEADER = 'group,simulated_simt_iterations,simulated_mimd_iterations,measured_simt_cycles,measured_mimd_cycles';

async function* chunks(text: string): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7);
}
const read = (text: string) => parseSmiteGroups(chunks(text), 'groups.csv');
const file = (name: string) =>
  createReadStream(new URL(`../data/smite/measured-${name}-n32-first4096.csv.gz`, import.meta.url)).pipe(
    createGunzip(),
  );

describe('groups of the SMITE repository', () => {
  it('gives the loss of each group and of all together', async () => {
    const groups = unwrap(await read(`${HEADER}\n0,8,4,30,20\n1,6,6,70,50\n2,0,0,5,5\n`));
    expect(groups.groups).toBe(3);
    expect([...groups.simulated.loss]).toEqual([2, 1, 1]);
    expect(groups.simulated.aggregateLoss).toBe(14 / 10);
    expect([...groups.measured.loss]).toEqual([1.5, 1.4, 1]);
    expect(groups.measured.meanLoss).toBeCloseTo(1.3, 12);
    expect(groups.measured.aggregateLoss).toBe(105 / 75);
  });

  it('finds its columns by name', async () => {
    const swapped =
      'measured_mimd_cycles,measured_simt_cycles,simulated_mimd_iterations,simulated_simt_iterations\n2,3,4,8\n';
    expect(unwrap(await read(swapped)).simulated.loss[0]).toBe(2);
  });

  it.each([
    ['a,b\n1,2\n', 'groups.csv, line 1: the header "a,b" has no column simulated_simt_iterations'],
    [`${HEADER}\n0,8,4,x,20\n`, 'groups.csv, line 2, column 4: "x" is not a number ≥ 0'],
    [`${HEADER}\n0,8,4,30\n`, 'groups.csv, line 2, column 5: "" is not a number ≥ 0'],
    [`${HEADER}\n0,8,-4,30,20\n`, 'groups.csv, line 2, column 3: "-4" is not a number ≥ 0'],
    [
      `${HEADER}\n0,8,0,30,20\n`,
      'groups.csv, line 2: the cost is 8 in lockstep and 0 without. A cost without lockstep must be above 0',
    ],
    [`${HEADER}\n`, 'groups.csv, line 2: the file has no groups'],
  ])('refuses %j', async (text, message) => {
    const result = await read(text);
    expect(result.ok ? '' : result.error.message).toContain(message);
  });

  it.each([
    ['geo_005', () => geometricLaw(0.05)],
    ['uniform_20_40', () => uniformLaw(20, 40)],
  ] as const)('agrees with the model: %s', async (name, law) => {
    const { groups, simulated, measured } = unwrap(await parseSmiteGroups(file(name), name));
    expect(groups).toBe(4096);
    const [expected] = lossMoments(unwrap(law()), [32]);
    // Four standard errors of 4,096 draws.
    const spread = (4 * expected.standardDeviationLoss) / Math.sqrt(groups);
    expect(Math.abs(simulated.meanLoss - expected.meanLoss)).toBeLessThan(spread);
    // The paper's measurement stays within 2 % of the model, this run's within 3 %.
    expect(Math.abs(measured.meanLoss / expected.meanLoss - 1)).toBeLessThan(0.03);

    const bins = 30;
    const { edges, modelled, observed } = lossComparison(unwrap(law()), 32, [simulated.loss, measured.loss], bins);
    expect(edges).toHaveLength(bins + 1);
    for (const parts of [modelled, ...observed]) {
      expect(Math.abs(parts.reduce((sum, part) => sum + part, 0) - 1)).toBeLessThan(1e-9);
    }
    // Every bin of the simulation within five binomial standard errors of the model.
    observed[0].forEach((part, bin) => {
      const p = modelled[bin];
      expect(Math.abs(part - p), `bin ${bin}`).toBeLessThan(5 * Math.sqrt((p * (1 - p)) / groups) + 1 / groups);
    });
  });
});
