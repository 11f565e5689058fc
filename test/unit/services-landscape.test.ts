import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LandscapeFacets, LandscapeGrid } from '../../src-main/contract/api.ts';
import { unwrap, type Result } from '../../src-workers/domain/result.ts';
import { openBench, smallStudy, type Bench } from './export-runs.ts';

let bench: Bench;
let runId = 0;
const call = async <T>(name: string, input: object): Promise<T> =>
  unwrap((await bench.engine.dispatch(name, { runId, ...input })) as Result<T>);

beforeAll(async () => {
  bench = await openBench();
  // The widest blocks do not fit, so that some cells are empty.
  const axes = { threadsPerUnit: [1, 4], blockThreads: [32, 64, 128, 256, 1024], unitsPerThread: [1, 2, 5, 9] };
  const kernel = { name: 'wide', registersPerThread: 128, instructionsPerIteration: 30 };
  runId = await bench.run(smallStudy({ axes, kernel }));
});
afterAll(() => bench.close());

const SPACE = { x: 'blockThreads', y: 'launch' } as const;
const facetsOf = (more: object) => call<LandscapeFacets>('landscape.facets', { ...SPACE, facet: 'device', ...more });
const gridOf = (device: number) => call<LandscapeGrid>('landscape.grid', { ...SPACE, hold: { device } });

describe('small maps', () => {
  it('show what the map of their value shows', async () => {
    const { columns, rows, facets } = await facetsOf({});
    expect([columns, rows]).toEqual([5, 4]);
    expect(facets.length).toBeGreaterThan(1);
    for (const [device, { timeMs, best, bestDesign }] of facets.entries()) {
      const grid = await gridOf(device);
      expect(timeMs).toEqual(Float32Array.from(grid.timeMs));
      expect([best, bestDesign]).toEqual([grid.best, grid.bestDesign]);
      expect(timeMs.some(Number.isNaN)).toBe(true);
    }
  });

  it('of fewer pixels than cells show the best of the cells of each', async () => {
    const { columns, rows, facets } = await facetsOf({ columns: 3, rows: 3 });
    expect([columns, rows]).toEqual([3, 3]);
    for (const [device, { timeMs, best }] of facets.entries()) {
      const grid = await gridOf(device);
      expect(best).toBe(grid.best);
      timeMs.forEach((time, pixel) => {
        const cells = [...grid.timeMs].filter(
          (cell, at) =>
            !Number.isNaN(cell) &&
            [0, 0, 1, 1, 2][at % 5] === pixel % 3 &&
            [0, 0, 1, 2][Math.floor(at / 5)] === Math.floor(pixel / 3),
        );
        expect(time).toBe(cells.length > 0 ? Math.fround(Math.min(...cells)) : NaN);
      });
    }
  });

  it('need an axis of their own', async () => {
    const refused = await bench.engine.call('landscape.facets', { runId, ...SPACE, facet: 'launch' });
    expect(refused).toMatchObject({
      ok: false,
      error: { code: 'bad-input', message: expect.stringMatching(/^facet must be .*"launch"/) as string },
    });
  });
});
