import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deviceEvidence, tieBand, tieTableOf } from '../../src-main/services/evidence/tie-band.ts';
import { allocateChunk } from '../../src-workers/domain/columns.ts';
import type { GpuDevice } from '../../src-workers/domain/device.ts';
import type { SpaceAxes } from '../../src-workers/domain/space.ts';
import { measuredBands, type KeptBands } from '../../src-workers/evidence/bands.ts';
import { axisCounts, encode, spaceSize } from '../../src-workers/space/axes.ts';
import { createRanking, rankedDesigns } from '../../src-workers/sweep/ranking.ts';
import { AGREEMENT_FRACTION, implementationKind, tieFraction, tiesOf } from '../../src-workers/sweep/ties.ts';
import { cpu, gpu } from './sweep-plans.ts';

const db = join(import.meta.dirname, '..', '..', 'db');
const kept = JSON.parse(readFileSync(join(db, 'evidence', 'tie-bands.json'), 'utf8')) as KeptBands;
const devices = ['nvidia', 'amd', 'software'].flatMap(
  (file) => JSON.parse(readFileSync(join(db, 'devices', `${file}.json`), 'utf8')) as GpuDevice[],
);

const A100 = gpu('nvidia-a100-sxm4-80gb');
const V100 = gpu('nvidia-v100-sxm2-16gb');
const H100 = gpu('nvidia-h100-sxm5-80gb');

describe('the tie bands', () => {
  it('are those of the measurements that are shipped', { timeout: 60_000 }, async () => {
    const now = await measuredBands(join(db, 'evidence'), devices);
    expect(now.bands.map(({ devices: of, kinds, count }) => [of, kinds, count])).toEqual(
      kept.bands.map(({ devices: of, kinds, count }) => [of, kinds, count]),
    );
    // Kept with four digits.
    for (const [at, { fraction }] of kept.bands.entries())
      expect(Math.abs(now.bands[at].fraction / fraction - 1)).toBeLessThan(5e-4);
    expect(now.chips).toEqual(kept.chips);
    for (const [at, { medianError }] of kept.devices.entries())
      expect(Math.abs(now.devices[at].medianError / medianError - 1)).toBeLessThan(5e-4);
  });

  it('hold for every board of a measured chip, and for no other', () => {
    const { fraction, source, count } = tieBand(A100);
    expect(fraction).toBe(
      kept.bands.find((band) => band.dataset === 'convolution' && band.devices[0].includes('a100'))!.fraction,
    );
    expect(source).toContain('A100 PCIe 40 GB');
    expect(count).toBeGreaterThan(1000);
    for (const device of [H100, cpu('amd-epyc-7413'), { ...A100, multiprocessors: 54 }]) {
      expect(tieBand(device, 'padded', 'even-share')).toEqual({ fraction: AGREEMENT_FRACTION, source: null, count: 0 });
      expect(deviceEvidence(device)).toBeNull();
    }
    expect(deviceEvidence(V100)).toMatchObject({ device: V100.name, agreement: [{ dataset: 'ginkgo' }] });
  });

  it('are wider between ways to take the work than between shapes, where both were measured or the shapes were not', () => {
    expect(tieBand(V100, 'padded', 'even-share')).toEqual(tieBand(V100, 'even-share', 'padded'));
    expect(tieBand(V100, 'padded', 'even-share').fraction).toBeGreaterThan(10 * tieBand(V100).fraction);
    // Nobody measured a fetching kernel there: the band of shapes stands for it.
    expect(tieBand(V100, 'dynamic-fetch', 'padded')).toEqual(tieBand(V100));
  });
});

describe('kinds of implementations', () => {
  it.each([
    [1, 'none', 'thread-per-unit'],
    [8, 'none', 'group-per-unit'],
    [8, 'padded-slice(64)', 'padded'],
    [1, 'merge-path', 'even-share'],
    [1, 'nonzero-split', 'even-share'],
    [2, 'dynamic-fetch(group)', 'dynamic-fetch'],
    [1, 'window-sort(64)', 'reordered'],
    [4, 'shuffle', 'reordered'],
  ] as const)('%i threads per unit, %s: %s', (threadsPerUnit, balancing, kind) => {
    expect(implementationKind(threadsPerUnit, balancing)).toBe(kind);
  });
});

const AXES: SpaceAxes = {
  devices: [V100, H100],
  threadsPerUnit: [1, 4],
  loop: ['nested', 'flattened'],
  balancing: ['none', 'padded', 'merge-path'],
  launch: [{ kind: 'units-per-thread', value: 1 }],
  registerCap: [null],
  blockThreads: [64, 128],
};

describe('ties', () => {
  it('are the designs within the band of their own comparison with the fastest, wherever they stand in the list', () => {
    const table = tieTableOf(AXES);
    const size = spaceSize(AXES);
    const counts = axisCounts(AXES);
    const kinds = Array.from({ length: size }, (_, design) => {
      const [block, , , balancing, , threads, , device] = [...counts]
        .reverse()
        .reduce<[number, number[]]>(
          ([rest, positions], count) => [Math.floor(rest / count), [...positions, rest % count]],
          [design, []],
        )[1];
      return { block, device, kind: implementationKind(AXES.threadsPerUnit[threads], AXES.balancing[balancing]) };
    });
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 1, max: 1.4, noNaN: true }), { minLength: size, maxLength: size }),
        (times) => {
          const columns = allocateChunk(0, size);
          columns.timeMs.set(times);
          const ranking = createRanking(AXES, columns);
          const list = rankedDesigns(ranking, { positions: {}, ranges: [], validity: 'valid' }, 'timeMs');
          const best = list[0];
          const expected = times.map((time, design) => {
            const [a, b] = [kinds[best], kinds[design]];
            const own = AXES.devices[a.device];
            const band =
              a.device !== b.device
                ? AGREEMENT_FRACTION
                : (a.kind === b.kind ? tieBand(own) : tieBand(own, a.kind, b.kind)).fraction;
            expect(tieFraction(table, best, design)).toBe(band);
            return time <= times[best] * (1 + band);
          });
          const ties = tiesOf(ranking, table, list);
          expect(times.map((_, design) => ties.isTied(design))).toEqual(expected);
          expect(ties.count).toBe(expected.filter(Boolean).length);
        },
      ),
    );
    expect(encode(counts, [0, 0, 0, 0, 0, 0, 0, 1])).toBe(1);
  });
});
