import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deviceEvidence, tieBand, tieBandOfDevices, tieTableOf } from '../../src-main/services/evidence/tie-band.ts';
import { expectedTimes, timeRange } from '../../src-main/services/evidence/time-errors.ts';
import { allocateChunk } from '../../src-workers/domain/columns.ts';
import * as evidence from '../../src-workers/domain/evidence.ts';
import { AXIS, axisCounts, decodeInto, type SpaceAxes, spaceSize } from '../../src-workers/domain/space.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import type { KeptBands } from '../../src-workers/evidence/bands.ts';
import { intervalsOf, measuredBands, sweptLaunches } from '../bench/tie-bands.ts';
import { loadEvidence } from '../../src-workers/evidence/load.ts';
import { sortedQuantile } from '../../src-workers/numeric/statistics.ts';
import { createRanking, rankedDesigns } from '../../src-workers/sweep/ranking.ts';
import { tieFraction, tiesOf } from '../../src-workers/sweep/ties.ts';
import { GPUS as devices, cpu, gpu } from '../catalogue.ts';
import { forAll, real } from '../for-all.ts';

const { evidenceGaps, evidenceText, implementationKind, isMeasured } = evidence;
const db = join(import.meta.dirname, '..', '..', 'db');
const kept = JSON.parse(readFileSync(join(db, 'evidence', 'tie-bands.json'), 'utf8')) as KeptBands;

const A100 = gpu('nvidia-a100-sxm4-80gb');
const V100 = gpu('nvidia-v100-sxm2-16gb');
const H100 = gpu('nvidia-h100-sxm5-80gb');
/** This GPU has no measurements. */
const ADA = gpu('nvidia-rtx-4090');

describe('the tie bands', () => {
  it('follow from the measurements in the repository', async () => {
    const now = await measuredBands(join(db, 'evidence'), devices);
    expect(now.bands).toHaveLength(kept.bands.length);
    // The saved values have four digits.
    for (const [at, { devices: of, kinds, count, fraction }] of kept.bands.entries()) {
      expect(now.bands[at]).toMatchObject({ devices: of, kinds, count });
      expect(now.bands[at].fraction).toBeNear(fraction, 5e-4);
    }
    const rounded = (value: number) => Number(value.toPrecision(4));
    const chips = now.chips.map((chip) => ({ ...chip, memoryBandwidthGbS: rounded(chip.memoryBandwidthGbS) }));
    expect(chips).toEqual(kept.chips);
    for (const end of ['low', 'high'] as const) expect(now.unmeasured[end]).toBeNear(kept.unmeasured[end], 5e-4);
    for (const [at, { medianError, kinds }] of kept.devices.entries()) {
      expect(now.devices[at].medianError).toBeNear(medianError, 5e-4);
      expect(now.devices[at].kinds).toEqual(kinds);
    }
  });

  it('apply to every board of a measured chip, and to no other', () => {
    const { fraction, source, count } = tieBand(A100);
    const known = kept.bands.find((band) => band.dataset === 'convolution' && band.devices[0].includes('a100'));
    expect(fraction).toBe(known!.fraction);
    expect(source).toContain('A100 PCIe 40 GB');
    expect(count).toBeGreaterThan(1000);
    for (const device of [ADA, cpu('amd-epyc-7413'), { ...A100, multiprocessors: 54 }])
      expect(deviceEvidence(device)).toBeNull();
    // These GPUs have the chip of the V100, and another memory.
    const sourceOf = (device: typeof V100) => tieBandOfDevices(device, gpu('nvidia-a100-pcie-40gb')).source;
    for (const id of ['nvidia-v100-pcie-16gb', 'nvidia-v100-sxm2-32gb']) {
      expect(sourceOf(gpu(id))).toBe(sourceOf(V100));
      expect(deviceEvidence(gpu(id))?.device).toBe(V100.name);
    }
    expect(deviceEvidence(V100)).toMatchObject({ device: V100.name, agreement: [{ dataset: 'ginkgo' }] });
  });

  it('are wider between ways to take the work than between shapes, if not measured', () => {
    expect(tieBand(V100, 'padded', 'even-share')).toEqual(tieBand(V100, 'even-share', 'padded'));
    expect(tieBand(V100, 'padded', 'even-share').source).not.toBeNull();
    const pairs = { 'dynamic-fetch': 'padded', 'group-per-unit': 'thread-per-unit', mixed: 'mixed' } as const;
    for (const [one, other] of Object.entries(pairs) as [evidence.ImplementationKind, evidence.ImplementationKind][])
      for (const device of [V100, A100, H100]) {
        const band = tieBand(device, one, other);
        expect(band.source).toBe(band.fraction === tieBand(device).fraction ? tieBand(device).source : null);
        expect(band.fraction).toBeGreaterThanOrEqual(tieBand(device).fraction);
      }
  });

  it('are the upper quartile of the measured ones for an unmeasured device', () => {
    const shapes = kept.bands.filter(({ devices: of, kinds }) => of.length === 1 && kinds.length === 0);
    const known = (of: readonly { readonly fraction: number }[]): readonly number[] =>
      of.map(({ fraction }) => fraction).sort((a, b) => a - b);
    const upperQuartile = (sorted: readonly number[]): number => sortedQuantile(sorted, 0.75);
    for (const device of [ADA, H100, V100, cpu('amd-epyc-7413')]) {
      const band = tieBand(device);
      expect(band).toMatchObject({ source: null, count: 0 });
      expect(band.takenFrom).toContain('4 other devices');
      expect(band.fraction).toBeCloseTo(upperQuartile(known(shapes)), 12);
      expect(band.fraction).toBeGreaterThan(tieBand(A100).fraction);
    }
    const pairs = known(kept.bands.filter(({ devices: of }) => of.length === 2));
    expect(tieBandOfDevices(H100, cpu('amd-epyc-7413')).fraction).toBeCloseTo(upperQuartile(pairs), 12);
    const same = known(kept.bands.filter(({ kinds }) => kinds.join() === 'even-share,padded'));
    const atLeast = Math.max(upperQuartile(same), tieBand(H100).fraction);
    expect(tieBand(H100, 'padded', 'even-share').fraction).toBeCloseTo(atLeast, 12);
  });
});

describe('the expected times', () => {
  const { intervals } = kept.devices.find((one) => one.device === V100.id && one.dataset === 'ginkgo')!;
  const intervalOf = (kind: string | null) => intervals.find((one) => one.kind === kind)!;

  it('follow from measurements of the kind on the chip, else of the chip, else of other GPUs', () => {
    const errorOf = ({ low, high }: { readonly low: number; readonly high: number }) => [Math.log(low), Math.log(high)];
    const padded = expectedTimes(V100, 'padded');
    const own = intervalOf('padded');
    expect(padded.error).toEqual(errorOf(own));
    expect(padded.startMs).toBeCloseTo(own.startMicroseconds * 1e-3, 12);
    expect(expectedTimes({ ...V100, launchMicroseconds: 3 }, 'padded').startMs).toBe(0);
    expect(padded.text).toContain(`ginkgo, ${own.count.toLocaleString('en')} measured, padded units`);
    const fetched = expectedTimes(V100, 'dynamic-fetch');
    expect(fetched.error).toEqual(errorOf(intervalOf(null)));
    expect(fetched.text).toContain('none with dynamic fetch');
    for (const device of [H100, cpu('amd-epyc-7413'), gpu('nvidia-k20')])
      expect(expectedTimes(device, 'padded').error).toEqual(errorOf(kept.unmeasured));
    const ours = /^Only our own launches on H100 .* not held out\. On three/;
    expect(expectedTimes(H100, 'thread-per-unit').text).toMatch(ours);
    expect(expectedTimes(ADA, 'padded').text).toMatch(/^No public measurements/);
    // Hasan's times are predicted with measured cycles, so they are no evidence for a time.
    expect(expectedTimes(gpu('nvidia-k20'), 'thread-per-unit').text).toContain(
      'were predicted, but not from its data sheet',
    );
  });

  it('are never below the minimum time of a launch, unless the prediction is', () => {
    const half = [Math.log(0.5), Math.log(2)] as const;
    expect(timeRange(0.01, 0, [half])).toEqual({ lowMs: 0.005, highMs: 0.02 });
    expect(timeRange(0.003, 0.01, [half]).lowMs).toBe(0.0025);
    expect(timeRange(0.001, 0, [half]).lowMs).toBe(0.001);
  });

  it('contain 85 to 95 % of held-out times: each half of the matrices by the other half', async () => {
    const [judged] = unwrap(await loadEvidence(join(db, 'evidence'), devices, { dataset: 'ginkgo' }));
    const half = judged.measured.matrices.map(({ name }) => createHash('sha256').update(name).digest()[0] % 2);
    const parts = [0, 1].map((which) => {
      const own = (times: Float64Array) => times.map((time, i) => (half[i] === which ? time : NaN));
      const times = new Map([...judged.measured.times].map(([column, all]) => [column, own(all)]));
      return { ...judged, measured: { ...judged.measured, times } };
    });
    let cells = 0;
    for (const one of [...judged.dataset.gpus, ...judged.dataset.unseen]) {
      const device = devices.find(({ id }) => id === one.device)!;
      const halves = parts.map((part) => sweptLaunches(part, one, device, 'catalogue'));
      const made = halves.map((launches) => intervalsOf(launches));
      for (const { kind, count } of intervalsOf(sweptLaunches(judged, one, device, 'catalogue'))) {
        // With fewer launches (97 and 108 on the A100s), the fraction inside is not known to 5 %.
        if (count < 200) continue;
        const held = halves.map(({ kinds, measured, predicted }, which) => {
          const { low, high } = made[1 - which].find((interval) => interval.kind === kind)!;
          return [...kinds.keys()].filter((i) => {
            const ratio = measured[i] / predicted[i];
            return (kind === null || kinds[i] === kind) && ratio >= low && ratio <= high;
          }).length;
        });
        expect((held[0] + held[1]) / count, `${one.column} ${kind}`).toBeBetween(0.85, 0.95);
        cells += 1;
      }
    }
    expect(cells).toBe(29);
  });
});

it('missing evidence is reported for a device, and for a kind of implementation on a measured one', () => {
  const [v100, h100] = [deviceEvidence(V100), deviceEvidence(H100)];
  // SpMV was also measured on an A100, but on another board than the convolution.
  const known = [v100, deviceEvidence(A100), null].map((of) => isMeasured(of, 'padded'));
  expect(known).toEqual([true, true, false]);
  expect([isMeasured(v100, 'mixed'), isMeasured(h100, 'group-per-unit')]).toEqual([false, true]);
  expect(evidenceText(deviceEvidence(ADA), ['padded'])).toMatch(/^No public measurements of this device/);
  expect(evidenceText(v100, ['padded'])).not.toMatch(/Not measured|our own/);
  expect(evidenceText(v100, ['padded', 'mixed'])).toContain('Not measured there: classes of units.');
  // Our own launches do not judge the model alone, and no band or interval follows from them.
  expect(h100!.agreement.map(({ dataset }) => dataset)).toEqual(['h100-loops', 'h100-products']);
  expect(h100!.agreement.flatMap(({ intervals }) => intervals)).toEqual([]);
  expect(kept.bands.filter(({ devices: of }) => of.includes(H100.id))).toEqual([]);
  expect(evidenceText(h100, ['padded'])).toMatch(
    /^Measured on H100 SXM5 80 GB: h100-loops \(420 times, half within 3\.1 %\), h100-products \(288 times, half within 17 %\)\. h100-loops and h100-products: our own measurements, not public ones, and not held out, because .* taken from other devices\. Not measured there: padded units\.$/,
  );
});

it('missing evidence is reported once for a list of times', () => {
  const ada = { name: 'RTX 4090', evidence: null, kinds: ['padded'] as const };
  const known = { name: 'V100', evidence: deviceEvidence(V100) };
  const v100 = (...kinds: readonly evidence.ImplementationKind[]) => ({ ...known, kinds });
  expect(evidenceGaps([v100('padded')])).toBeNull();
  const [fetched, mixed] = [v100('padded', 'dynamic-fetch'), v100('mixed', 'dynamic-fetch')];
  const marks = [ada, fetched, mixed].map((one) => evidenceGaps([one]));
  const expected = ['no evidence', 'no evidence: dynamic fetch', 'no evidence: 2 of 2 mappings'];
  expect(marks.map((gaps) => gaps?.mark)).toEqual(expected);
  const text = /measurements are known of RTX 4090, or of designs with dynamic fetch on V100\./;
  expect(evidenceGaps([ada, fetched])).toMatchObject({ mark: 'no evidence: 1 of 2 devices', text });
});

it.each([
  [1, 'none', 'thread-per-unit'],
  [8, 'none', 'group-per-unit'],
  [8, 'padded-slice(64)', 'padded'],
  [1, 'merge-path', 'even-share'],
  [1, 'nonzero-split', 'even-share'],
  [2, 'dynamic-fetch(group)', 'dynamic-fetch'],
  [1, 'window-sort(64)', 'reordered'],
  [4, 'shuffle', 'reordered'],
  [32, 'none', 'group-per-unit'],
  [64, 'none', 'block-per-unit'],
  [1, 'mixed(2)', 'mixed'],
] as const)('kinds of implementations %i threads per unit, %s: %s', (threadsPerUnit, balancing, kind) =>
  expect(implementationKind(V100, threadsPerUnit, balancing)).toBe(kind),
);

const AXES: SpaceAxes = {
  devices: [V100, H100],
  threadsPerUnit: [1, 4],
  loop: ['nested', 'flattened'],
  balancing: ['none', 'padded', 'merge-path'],
  launch: [{ kind: 'units-per-thread', value: 1 }],
  registerCap: [null],
  blockThreads: [64, 128],
};

it('ties are designs within the band of their own comparison with the fastest, at any place in the list', () => {
  const table = tieTableOf(AXES);
  const size = spaceSize(AXES);
  const counts = axisCounts(AXES);
  const kinds = Array.from({ length: size }, (_, design) => {
    const at = new Int32Array(counts.length);
    decodeInto(at, counts, design);
    const [threads, balancing] = [AXES.threadsPerUnit[at[AXIS.threadsPerUnit]], AXES.balancing[at[AXIS.balancing]]];
    return { device: at[AXIS.device], kind: implementationKind(V100, threads, balancing) };
  });
  forAll(fc.array(real(1, 1.4), { minLength: size, maxLength: size }), (times) => {
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
          ? tieBandOfDevices(own, AXES.devices[b.device]).fraction
          : (a.kind === b.kind ? tieBand(own) : tieBand(own, a.kind, b.kind)).fraction;
      expect(tieFraction(table, best, design)).toBe(band);
      return time <= times[best] * (1 + band);
    });
    const ties = tiesOf(ranking, table, list);
    expect(times.map((_, design) => ties.isTied(design))).toEqual(expected);
    expect(ties.count).toBe(expected.filter(Boolean).length);
  });
});
