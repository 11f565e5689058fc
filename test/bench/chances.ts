/**
 * Checks whether stated chances are true: of all designs called "p % sure to be within 3 % of the best", p % should be.
 * The code of the advice draws the errors of predictions; public measurements show the truth. `npm run bench --
 * chances` prints a table for SpMV times (which kernel to write, by matrix) and one for block sizes of measured spaces.
 */
import { join } from 'node:path';
import { tieBand } from '../../src-main/services/evidence/tie-band.ts';
import { errorParts, withErrors } from '../../src-workers/advise/separation.ts';
import { GOOD_FRACTION, computeRegrets } from '../../src-workers/advise/uncertainty.ts';
import type { GpuDevice } from '../../src-workers/domain/device.ts';
import type { ImplementationKind } from '../../src-workers/domain/evidence.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { loadEvidence } from '../../src-workers/evidence/load.ts';
import { readLaunches } from '../../src-workers/evidence/shapes.ts';
import { LAUNCH_DATASETS } from '../../src-workers/models/launches/datasets.ts';
import { percent, say } from './report.ts';
import { MEASURED, measuredRows, tiledTimes } from './spaces.ts';
import { kindOf, sweptTimes } from './tie-bands.ts';
import { GPUS as devices, gpu as catalogueGpu } from '../catalogue.ts';

const SAMPLES = 256;
const FOLDER = join(import.meta.dirname, '../../db/evidence');

/** Competing designs, and the properties that determine the errors of their predictions. */
interface Contest {
  readonly device: GpuDevice;
  readonly designs: readonly {
    /** Designs with the same `place` differ only in `block`, and share a part of their errors. */
    readonly place: string;
    readonly kind: ImplementationKind;
    readonly block: string;
    readonly predicted: number;
    readonly measured: number;
  }[];
}

interface Statement {
  readonly chance: number;
  readonly held: boolean;
  /** Whether this design is predicted to be the fastest. */
  readonly chosen: boolean;
}

function statements({ device, designs }: Contest): readonly Statement[] {
  const places = [...new Map(designs.map(({ place, kind }) => [place, kind]))];
  const fractions = Float64Array.from(
    places.flatMap(([one, kind]) =>
      places.map(([other, otherKind]) => tieBand(device, ...(one === other ? [] : [kind, otherKind])).fraction),
    ),
  );
  const at = new Map(places.map(([place], i) => [place, i]));
  const placed = designs.map(({ place, block }, design) => ({ place: at.get(place)!, block, design }));
  const parts = errorParts(placed, { fractions, places: places.length });
  const predicted = Float64Array.from(designs, (one) => one.predicted);
  const regrets = computeRegrets(withErrors([predicted], parts, SAMPLES / 2));
  const least = Math.min(...designs.map(({ measured }) => measured));
  const first = predicted.indexOf(Math.min(...predicted));
  return designs.map(({ measured }, design) => ({
    chance: regrets[design]!.chance,
    held: measured <= least * (1 + GOOD_FRACTION),
    chosen: design === first,
  }));
}

const EDGES = [0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0001];
/** Returns two texts: the mean chance stated for some designs, and the part of them within 3 % of the best. */
function stated(list: readonly Statement[]): readonly string[] {
  const mean = (of: (one: Statement) => number): number => list.reduce((sum, one) => sum + of(one), 0) / list.length;
  return [mean((one) => one.chance), mean((one) => Number(one.held))].map((value) => percent(value, 0));
}

function report(label: string, contests: readonly Contest[]): void {
  const all = contests.filter(({ designs }) => designs.length > 1).flatMap(statements);
  if (all.length === 0) return;
  say(`\n${label}: ${contests.length} choices`);
  for (const [title, some] of [
    ['all designs', all],
    ['the choice', all.filter(({ chosen }) => chosen)],
  ] as const) {
    const cells = EDGES.slice(1).flatMap((edge, i) => {
      const own = some.filter(({ chance }) => chance >= EDGES[i] && chance < edge);
      return own.length === 0 ? [] : [`${stated(own).join(' → ')} (${own.length})`];
    });
    const [chance, held] = stated(some);
    say(`  ${title}: stated ${chance}, held ${held}; ${cells.join(', ')}`);
  }
}

const byId = new Map(devices.map((device) => [device.id, device]));

const spmv: Contest[] = [];
const large: Contest[] = [];
for (const judged of unwrap(await loadEvidence(FOLDER, devices, {}))) {
  const { dataset, measured } = judged;
  if (dataset.unnamed) continue;
  for (const gpu of [...dataset.gpus, ...dataset.unseen]) {
    const device = byId.get(gpu.device)!;
    const own: Contest[] = [];
    for (const [i, matrix] of measured.matrices.entries()) {
      const contest: Contest = {
        device,
        designs: gpu.implementations.flatMap(({ column, implementation }) => {
          const time = measured.times.get(column)![i];
          const kind = kindOf(implementation, device, matrix);
          const ms = sweptTimes(judged, column, 'catalogue')[i];
          return time > 0 && kind && ms
            ? [{ place: implementation, kind, block: implementation, predicted: ms, measured: time }]
            : [];
        }),
      };
      own.push(contest);
      if (matrix.nonzeros >= 1e6) large.push(contest);
    }
    spmv.push(...own);
    report(`SpMV on ${device.name}`, own);
  }
}
report('SpMV, all GPUs', spmv);
report('SpMV, from a million non-zeros', large);

const shapes: Contest[] = [];
for (const dataset of LAUNCH_DATASETS) {
  // Terms of the model were found with these launches, so the launches cannot judge its chances.
  if (!dataset.decides || dataset.caveat !== undefined) continue;
  for (const { device: id, families } of await readLaunches(dataset, FOLDER, byId)) {
    const own = families.map(({ kinds, threads, labels, predicted, measured }): Contest => ({
      device: byId.get(id)!,
      designs: labels.map((label, i) => ({
        place: kinds[i],
        kind: kinds[i],
        block: kinds.every((kind) => kind === kinds[0]) ? `${threads[i]}` : label,
        predicted: predicted[i],
        measured: measured[i],
      })),
    }));
    shapes.push(...own);
    report(`${dataset.id} on ${byId.get(id)!.name}`, own);
  }
}
for (const one of MEASURED) {
  const [name, column, kernel, id] = one;
  if (column !== null || !kernel) continue;
  const rows = measuredRows(one);
  const device = catalogueGpu(id);
  const predicted = tiledTimes(name, rows, kernel, device);
  const size = 'block_size_y' in rows[0] ? 'block_size_y' : 'block_size_x';
  const families = Map.groupBy(rows.keys(), (at) =>
    JSON.stringify(Object.entries(rows[at]).filter(([key]) => key !== size && key !== 'time_ms')),
  );
  const own = [...families.values()].map((members): Contest => ({
    device,
    designs: members.map((at) => ({
      place: 'kernel',
      kind: 'thread-per-unit',
      block: rows[at][size],
      predicted: predicted[at],
      measured: Number(rows[at].time_ms),
    })),
  }));
  shapes.push(...own);
  report(`${name}, block sizes`, own);
}
report('block sizes, all', shapes);
