import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readPlanFolder, writePlanFolder } from '../../src-workers/bench/plan-files.ts';
import type { BenchCase } from '../../src-workers/domain/benchmark.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { benchPlan } from '../measuring.ts';

const LIMITS: BenchCase = { id: 'limits', benchmark: 'probe', parameters: { probe: 'limits', arguments: {} } };
const PLAN = benchPlan([LIMITS], {
  workload: {
    label: 'three',
    lengths: Uint32Array.of(1, 0x01020304, 0xffffffff),
    profile: { parallelSteps: 1, serialSteps: 2, dependentLoads: 0, tableWords: 1 },
    traffic: { bytesPerIteration: 12.5, bytesPerUnit: 20 },
  },
});

describe('plan folders', () => {
  let folder: string;
  beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'lockstep-plan-'))));
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('return the same plan, with the lowest byte of a length first', async () => {
    await writePlanFolder(join(folder, 'new'), PLAN);
    expect(unwrap(await readPlanFolder(join(folder, 'new')))).toEqual(PLAN);
    expect([...(await readFile(join(folder, 'new/lengths.u32')))].slice(4, 8)).toEqual([4, 3, 2, 1]);
  });

  it('need no lengths without a workload', async () => {
    await writePlanFolder(folder, { ...PLAN, workload: null });
    expect(await readdir(folder)).toEqual(['plan.json']);
    expect(unwrap(await readPlanFolder(folder)).workload).toBeNull();
  });

  it.each([
    ['plan.json', '{', /plan\.json: /],
    [
      'plan.json',
      '{"format":"lockstep-bench","version":2}',
      /the format is lockstep-bench version 2, not lockstep-bench 1/,
    ],
    ['plan.json', 'null', /the format is undefined/],
    ['lengths.u32', 'abc', /lengths\.u32: the file has 3 bytes instead of 12$/],
  ])('are refused if %s contains %s', async (file, content, message) => {
    await writePlanFolder(folder, PLAN);
    await writeFile(join(folder, file), content);
    expect(await readPlanFolder(folder)).toMatchObject({ ok: false, error: { message } });
  });

  it('are refused if a file is missing', async () => {
    expect(await readPlanFolder(folder)).toFail('not-found');
    await writePlanFolder(folder, PLAN);
    await rm(join(folder, 'lengths.u32'));
    expect(await readPlanFolder(folder)).toFail('not-found');
  });
});
