import Database from 'better-sqlite3';
import { expect, it } from 'vitest';

import type { AxisValue } from '../../db/records.ts';
import { openStore } from '../../db/store.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { AXIS_ORDER } from '../../src-workers/domain/space.ts';
import { inFolder, MIGRATIONS, SAMPLE_AXES, sampleChunk, sampleDraft } from './sample.ts';

function decode(index: number): Record<string, AxisValue> {
  let rest = index;
  const values: Record<string, AxisValue> = {};
  for (const axis of AXIS_ORDER.toReversed()) {
    if (axis === 'implementation' || axis === 'blockWidth') continue;
    const { length } = SAMPLE_AXES[axis];
    // SQL columns have the names of the axes in snake case.
    values[axis.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)] = SAMPLE_AXES[axis][rest % length];
    rest = Math.floor(rest / length);
  }
  return values;
}

it('shows designs and their ranking to plain SQL', () =>
  inFolder((folder) => {
    const file = `${folder}/lockstep.db`;
    const open = unwrap(openStore({ file, migrationsFolder: MIGRATIONS }));
    // The second run reveals a view that ignores which run a row belongs to.
    for (let k = 0; k < 2; k++) {
      const run = unwrap(open.store.createRun(sampleDraft()));
      unwrap(open.store.savePredictionChunk(run.id, sampleChunk(0, run.enumeratedCount)));
      unwrap(open.store.finishRun(run.id, { state: 'complete', elapsedMs: 1 }));
    }
    open.close();

    const db = new Database(file, { readonly: true });
    const chunk = sampleChunk(0, sampleDraft().enumeratedCount);
    const designs = db.prepare('SELECT * FROM designs WHERE run_id = 2 ORDER BY design_index').all();
    expect(designs).toEqual(
      Array.from({ length: chunk.count }, (_, i) => ({
        run_id: 2,
        design_index: i,
        ...decode(i),
        units_per_thread: Number.isNaN(chunk.unitsPerThread[i]) ? null : chunk.unitsPerThread[i],
        grid_blocks: Number.isNaN(chunk.gridBlocks[i]) ? null : chunk.gridBlocks[i],
      })),
    );

    type Ranked = Readonly<Record<'rank' | 'design_index' | 'time_ms' | 'block_threads' | 'invalid_reason', unknown>>;
    const ranking = db.prepare<[], Ranked>('SELECT * FROM ranking WHERE run_id = 2').all();
    expect(ranking).toHaveLength(chunk.count);
    for (const row of ranking) {
      const design = Number(row.design_index);
      const time = chunk.timeMs[design];
      expect(row.block_threads).toBe(decode(design).block_threads);
      if (Number.isNaN(time)) {
        expect([row.rank, row.time_ms, row.invalid_reason]).toEqual([null, null, 'registers']);
      } else {
        expect(row.rank).toBe(1 + chunk.timeMs.filter((other) => other < time).length);
        expect([row.time_ms, row.invalid_reason]).toEqual([time, 'valid']);
      }
    }
    const best = db.prepare<[], Ranked>('SELECT * FROM ranking WHERE run_id = 2 AND rank <= 3 ORDER BY rank').all();
    expect(best[0].time_ms).toBe(Math.min(...chunk.timeMs.filter((time) => !Number.isNaN(time))));
    db.close();
  }));
