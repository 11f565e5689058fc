import { describe, expect, it } from 'vitest';
import { suiteCases } from '../../src-main/services/measuring/suites.ts';
import type { CaseOf } from '../../src-workers/domain/benchmark.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { measuringDevice } from '../measuring.ts';

const device = (software: number) =>
  measuringDevice({ backend: 'webgpu', threadGroupWidth: 4, multiprocessors: null, properties: { software } });

describe('suites on a software adapter', () => {
  const casesOn = (suite: 'matrix-power' | 'launch-grid', software: number) =>
    unwrap(suiteCases(suite, 'webgpu', device(software)));

  it('have the same cases as on a GPU, each with at most a 32nd of the work', () => {
    const groups = (software: number): number[] =>
      (casesOn('matrix-power', software) as CaseOf<'matrix-power'>[]).map(({ parameters }) => parameters.workGroups);
    const elements = (software: number): number[] =>
      (casesOn('launch-grid', software) as CaseOf<'launch-grid'>[]).map(({ parameters }) => parameters.elements);
    for (const size of [groups, elements]) {
      const small = size(1);
      const large = size(0);
      expect(small).toHaveLength(large.length);
      small.forEach((one, i) => expect(one).toBeLessThanOrEqual(large[i] / 32));
    }
  });

  it('begin with the cases that Table I needs', () => {
    const cases = casesOn('matrix-power', 0) as CaseOf<'matrix-power'>[];
    const executions = cases.map(({ parameters }) => parameters.execution);
    expect(executions.lastIndexOf('lockstep')).toBe(cases.length / 2 - 1);
    expect(executions.indexOf('independent')).toBe(cases.length / 2);
  });

  it('have no case wider than the device', () => {
    for (const { parameters } of casesOn('matrix-power', 1) as CaseOf<'matrix-power'>[])
      expect(parameters.unitsPerGroup).toBeLessThanOrEqual(4);
  });
});
