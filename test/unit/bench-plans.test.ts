import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { suiteCases } from '../../src-main/services/measuring/suites.ts';
import { measuredTime } from '../../src-main/services/measuring/times.ts';
import { readPlanFolder, writePlanFolder } from '../../src-workers/bench/plan-files.ts';
import type { BenchCase, CaseOf } from '../../src-workers/domain/benchmark.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { benchPlan, measuringDevice } from '../measuring.ts';
import { testFolder } from '../workplace.ts';

describe('plan folders', () => {
  const LIMITS: BenchCase = { id: 'limits', benchmark: 'probe', parameters: { probe: 'limits', arguments: {} } };
  const PLAN = benchPlan([LIMITS], {
    workload: {
      label: 'three',
      lengths: Uint32Array.of(1, 0x01020304, 0xffffffff),
      profile: { parallelSteps: 1, serialSteps: 2, dependentLoads: 0, tableWords: 1 },
      traffic: { bytesPerIteration: 12.5, bytesPerUnit: 20 },
    },
  });
  const folder = testFolder();

  it('return the same plan, with the lowest byte of a length first, and need no lengths without a workload', async () => {
    const [path, without] = [join(folder, 'new'), join(folder, 'without')];
    await writePlanFolder(path, PLAN);
    expect(unwrap(await readPlanFolder(path))).toEqual(PLAN);
    expect([...(await readFile(join(path, 'lengths.u32')))].slice(4, 8)).toEqual([4, 3, 2, 1]);
    await writePlanFolder(without, { ...PLAN, workload: null });
    expect(await readdir(without)).toEqual(['plan.json']);
    expect(unwrap(await readPlanFolder(without)).workload).toBeNull();
  });

  const version2 = '{"format":"lockstep-bench","version":2}';
  it.each([
    ['plan.json', '{', /plan\.json: /],
    ['plan.json', version2, /the format is lockstep-bench version 2, not lockstep-bench 1/],
    ['plan.json', 'null', /the format is undefined/],
    ['lengths.u32', 'abc', /lengths\.u32: the file has 3 bytes instead of 12$/],
  ])('are refused if %s contains %s', async (file, content, message) => {
    await writePlanFolder(folder, PLAN);
    await writeFile(join(folder, file), content);
    expect(await readPlanFolder(folder)).toFail(null, message);
  });

  it('are refused if a file is missing', async () => {
    const path = join(folder, 'missing');
    expect(await readPlanFolder(path)).toFail('not-found');
    await writePlanFolder(path, PLAN);
    await rm(join(path, 'lengths.u32'));
    expect(await readPlanFolder(path)).toFail('not-found');
  });
});

describe('suites on a software adapter', () => {
  const device = { backend: 'webgpu', threadGroupWidth: 4, multiprocessors: null } as const;
  const casesOn = (suite: 'matrix-power' | 'launch-grid', software: number) =>
    unwrap(suiteCases(suite, 'webgpu', measuringDevice({ ...device, properties: { software } })));
  const powers = (software: number) =>
    (casesOn('matrix-power', software) as CaseOf<'matrix-power'>[]).map(({ parameters }) => parameters);
  const grids = (software: number) =>
    (casesOn('launch-grid', software) as CaseOf<'launch-grid'>[]).map(({ parameters }) => parameters);

  it('have the same cases as on a GPU, each with at most a 32nd of the work', () => {
    const groups = (software: number) => powers(software).map(({ workGroups }) => workGroups);
    const elements = (software: number) => grids(software).map((one) => one.elements);
    for (const size of [groups, elements]) {
      const [large, small] = [size(0), size(1)];
      expect(small).toHaveLength(large.length);
      small.forEach((one, i) => expect(one).toBeLessThanOrEqual(large[i] / 32));
    }
  });

  it('begin with the cases that Table I needs, and have no case wider than the device', () => {
    const executions = powers(0).map(({ execution }) => execution);
    expect(executions.lastIndexOf('lockstep')).toBe(executions.length / 2 - 1);
    expect(executions.indexOf('independent')).toBe(executions.length / 2);
    for (const { unitsPerGroup } of powers(1)) expect(unitsPerGroup).toBeLessThanOrEqual(4);
  });
});

it('measured times are summarised once, and cases that are nearly alike are distinguished', () => {
  const timeOf = (timesMs: readonly number[], warmUpMs: readonly number[] = [9], clockMhz: number | null = null) =>
    measuredTime({ timesMs, detail: { warmUpMs, clockMhz } });
  const TIMES = [5, 6, 4, 7, 5.5, 6.5, 5.2];
  const first = timeOf(TIMES);
  expect(first).toMatchObject({ medianMs: 5.5, repeats: 7, warmUpMs: [9], clockMhz: null });
  expect(timeOf([...TIMES])).toBe(first);
  expect(timeOf(TIMES.with(1, 6.01))).toMatchObject({ medianMs: 5.5, timesMs: TIMES.with(1, 6.01) });
  expect(timeOf(TIMES, [9], 1500)).toMatchObject({ clockMhz: 1500 });
  expect(timeOf([...TIMES, 9], [])).toMatchObject({ repeats: 8, warmUpMs: [] });
  expect(timeOf(TIMES, [8, 9])).toMatchObject({ warmUpMs: [8, 9] });
  expect(timeOf([], [])).toBeNull();
});
