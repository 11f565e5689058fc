import { describe, expect, it } from 'vitest';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { constantLaw, geometricLaw } from '../../../src-workers/models/workload/laws.ts';
import { playLaunch, type PlayRequest } from '../../../src-workers/simulate/play.ts';
import { useBench } from '../../workplace.ts';

const request: PlayRequest = {
  unitsPerGroup: 8,
  groupsPerBlock: 2,
  residentBlocks: 3,
  multiprocessors: 2,
  gridBlocks: 40,
  pipeline: { latencyCycles: 100, issueCycles: 20, kneeSoftness: 6, schedulers: 1 },
  seed: 5,
};

describe('a launch that is shown in the Models view', () => {
  const played = playLaunch(unwrap(geometricLaw(0.1)), request);

  it('never has two blocks in one slot at a time', () => {
    for (let m = 0; m < request.multiprocessors; m += 1)
      for (let slot = 0; slot < request.residentBlocks; slot += 1) {
        const here = [...played.blockSlot.keys()].filter(
          (block) => played.blockMultiprocessor[block] === m && played.blockSlot[block] === slot,
        );
        here.sort((a, b) => played.blockStartCycles[a] - played.blockStartCycles[b]);
        expect(here.length).toBeGreaterThan(0);
        for (let k = 1; k < here.length; k += 1)
          expect(played.blockStartCycles[here[k]]).toBeGreaterThanOrEqual(played.blockEndCycles[here[k - 1]]);
      }
  });

  it('shows the first of its replications', () => {
    expect(Math.max(...played.blockEndCycles)).toBe(played.replicationCycles[0]);
    expect(Math.max(...played.blockStartCycles)).toBe(played.lastDispatchCycles);
    expect(new Set(played.replicationCycles).size).toBeGreaterThan(1);
  });

  it('runs even work in whole waves', () => {
    const even = playLaunch(unwrap(constantLaw(10)), request);
    // 40 blocks in 6 slots make seven waves. Each wave takes as long as ten iterations with the resident groups.
    expect(new Set(even.blockStartCycles).size).toBe(7);
    expect(new Set(even.replicationCycles).size).toBe(1);
  });
});

const { engine } = useBench();
it('is simulated by the engine, for laws and not for files', async () => {
  const played = (lengths: string, more: object = {}) => engine.call('models.play', { ...request, lengths, ...more });
  const own = playLaunch(unwrap(geometricLaw(0.1)), request);
  expect(unwrap(await played('geometric(0.1)')).blockEndCycles).toEqual(own.blockEndCycles);
  expect(await played('file:lengths.csv')).toMatchObject({ ok: false });
  expect(await played('constant(1)', { gridBlocks: 1e6 })).toMatchObject({ ok: false });
  expect(await played('constant(1)', { residentBlocks: 0 })).toFail('bad-input');
});
