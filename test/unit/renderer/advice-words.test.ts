import { describe, expect, it } from 'vitest';
import type { Recommendation, Uncertainty, WorthKnowing } from '../../../src-main/contract/advice.ts';
import * as words from '../../../src-renderer/advice/words.ts';
import { originText } from '../../../src-renderer/format/origins.ts';
import type { InputFact, Origin } from '../../../src-workers/domain/provenance.ts';
import { term } from '../../../src-workers/domain/terms.ts';
import { designOf } from '../../measuring.ts';

type Words = Parameters<typeof words.designWords>[1];
const cuda: Words = (key, form) => term(key, 'cuda', form);
const opencl: Words = (key, form) => term(key, 'opencl', form);
const DESIGN = designOf({ threadsPerUnit: 4, blockThreads: 128, gridBlocks: 3584 });
const plainSpaces = (text: string | null | undefined) => text?.replaceAll('\u00a0', ' ');

it('a design in words names the most decisive values first, in the chosen vocabulary', () => {
  expect(words.designWords(DESIGN, cuda)).toEqual({
    main: '4 threads per unit, blocks of 128',
    rest: '3,584 blocks, 1 unit per slot, units as they come, no register cap',
  });
  expect(words.designWords({ ...DESIGN, threadsPerUnit: 1, registerCap: 64, loop: 'flattened' }, opencl)).toEqual({
    main: '1 work-item per unit, work-groups of 128',
    rest: '3,584 work-groups, 1 unit per slot, units as they come, one loop over all units, at most 64 registers',
  });
  // A balancing moves to the front.
  expect(words.designWords({ ...DESIGN, balancing: 'dynamic-fetch' }, cuda)).toEqual({
    main: '4 threads per unit, blocks of 128, dynamic fetch',
    rest: expect.not.stringContaining('as they come'),
  });
  expect(words.balancingWords('window-sort(4096)')).toBe('windows of 4,096 sorted');
  const cores = words.designWords({ ...DESIGN, balancing: 'merge-path', blockThreads: 1, gridBlocks: 1 }, cuda);
  expect(cores).toEqual({ main: '1 core', rest: 'merge path' });
});

describe('inputs', () => {
  const fact = (field: string, origin: Origin, value: number | string = 1, unit = ''): InputFact => {
    return { field, label: field, value, unit, origin, note: '', usual: null };
  };

  it('are listed if they are assumed, and first those worth knowing', () => {
    const inputs = [fact('a', 'assumed'), fact('b', 'given'), fact('c', 'assumed'), fact('d', 'assumed')];
    const worth = ['d', 'c'].map((field) => ({ input: fact(field, 'assumed') }) as WorthKnowing);
    expect(words.assumptions(inputs, worth).map(({ field }) => field)).toEqual(['d', 'c', 'a']);
    expect(words.originsText(inputs)).toBe('4 inputs: 1 given, 3 assumed');
  });

  it('have values with short units, large ones in full, and the usual range if they are assumed', () => {
    const shown = [
      fact('s', 'assumed', 0.05),
      fact('n', 'given', 1_048_576),
      fact('p', 'assumed', 2, 'instructions per register'),
      fact('w', 'given', 'geometric(0.05)'),
    ].map(words.factValue);
    expect(shown).toEqual(['0.05', '1,048,576', '2\u00a0per reg.', 'geometric(0.05)']);
    expect(originText('assumed', [0.01, 0.25])).toContain('Usual: 0.01 to 0.25.');
    expect(originText('given', [0.01, 0.25])).not.toContain('Usual');
  });
});

it('the interval beside the bar ends at the edge with a mark if it continues beyond it', () => {
  expect(words.whisker({ lowMs: 2, highMs: 6 }, 8)).toEqual({ from: 0.25, to: 0.75, beyond: false });
  expect(words.whisker({ lowMs: 2, highMs: 20 }, 8)).toEqual({ from: 0.25, to: 1, beyond: true });
});

describe('the recommendation in one line', () => {
  const answer = {
    device: { id: 'a', name: 'A100' },
    devices: [],
    row: { design: DESIGN },
    designIndex: 7,
    time: { ms: 1.234, lowMs: 1.1, highMs: 1.5, basis: '' },
    baseline: { designIndex: 1, threadsPerUnit: 1, text: '', ms: 2, change: -0.383, chosen: false },
    causes: [],
    why: '',
    inputs: [],
    predicted: 1,
    of: 1,
    elapsedMs: 1,
  } as unknown as Recommendation;
  const worth = (gain: number) => {
    return { input: { label: 'Cooperation step κ', field: 'k' }, gain, learn: 'ask', how: '', sentence: 'Learn it.' };
  };
  const robust = { chanceBest: 0.8, expectedRegret: 0.04 };
  const known = (change: object) =>
    ({ within: 0.03, robust, worthKnowing: [], separation: null, ...change }) as unknown as Uncertainty;

  it('names device, design, time, interval, change, and the certainty once it is known', () => {
    const line = (uncertainty: Uncertainty | null) => plainSpaces(words.lineText(answer, uncertainty, cuda));
    const shown = line(null);
    expect(shown).toBe(
      'A100: 4 threads per unit, blocks of 128, 3,584 blocks, 1 unit per slot, units as they come, no register cap; 1.234 ms, 1.100 to 1.500 ms, −38.3 % against the plain design',
    );
    expect(line(known({}))).toBe(`${shown}; 80 % sure to be within 3 % of the best`);
  });

  it.each([
    [4, 1.26, {}, '1.26 × as fast as the plain design with one thread per unit.'],
    [1, 2, {}, '2.00 × as fast as the plain design.'],
    [4, 2, { threadsPerUnit: 2 }, '2.00 × as fast as the plain design.'],
    [4, 0.5, { chosen: true }, '2.00 × the time of the baseline.'],
    [4, 1.001, {}, 'as fast as the plain design with one thread per unit.'],
  ])('says how many times as fast it is: %i threads, 1 ms against %f ms %j', (threadsPerUnit, ms, baseline, said) => {
    const changed = {
      ...answer,
      row: { ...answer.row, design: { ...DESIGN, threadsPerUnit } },
      time: { ...answer.time, ms: 1 },
      baseline: { ...answer.baseline!, ms, change: 1 / ms - 1, ...baseline },
    };
    const design = `${threadsPerUnit} thread${threadsPerUnit === 1 ? '' : 's'} per unit, blocks of 128`;
    expect(plainSpaces(words.headline(changed, null, cuda))).toBe(`${design}: ${said}`);
  });

  it('states its certainty and the deciding input, and the expected regret if the certainty is low', () => {
    const said = (change: object) => plainSpaces(words.headline(answer, known(change), cuda));
    expect(said({ worthKnowing: [worth(0.05)] })).toBe(
      '4 threads per unit, blocks of 128: 1.62 × as fast as the plain design with one thread per unit, 80 % sure to be within 3 % of the best; decided by cooperation step κ, which is assumed.',
    );
    const unsure = { robust: { chanceBest: 0.2, expectedRegret: 0.0392 } };
    expect(said(unsure)).toMatch(/, on average 4 % slower than the best\.$/);
    // An input without a gain is not decisive.
    expect(said({ worthKnowing: [worth(0.002)] })).toMatch(/of the best\.$/);
  });

  it('says how many designs were compared', () => {
    const said = (predicted: number, invalid: number) => words.coverageText({ predicted, of: 9, invalid });
    expect(said(4, 0)).toBe('4 of 9 designs compared so far');
    expect([said(9, 2), said(9, 8)]).toEqual(['all 7 valid designs compared', 'only one design is valid']);
  });

  it('says why it is not the fastest with usual values', () => {
    const picked = { ...answer, designIndex: 5, time: { ...answer.time, ms: 1.01 } };
    const said = (point: number | null, fastest: number, predictedMs = 1) => {
      const of = point === null ? null : known({ robust: { designIndex: 5 }, point: { designIndex: point } });
      return plainSpaces(words.whyNotFastest(picked, of, { designIndex: fastest, predictedMs }, cuda));
    };
    expect(said(7, 7)).toBe(
      'The recommendation for A100 is 4 threads per unit, blocks of 128. With the usual value of each assumed input, this design takes 1.0 % longer than the fastest design below. Over all values of these inputs, it is closest to the fastest design on average.',
    );
    expect(said(5, 7)).toMatch(/It takes 1\.0 % longer than the fastest design below\. .* this one is simpler\.$/);
    expect(said(5, 7, 1.01)).toMatch(/It takes as long as the fastest design below\. .* this one is simpler\.$/);
    expect([said(5, 5), said(null, 7)]).toEqual([undefined, undefined]);
  });

  it('is followed by the input that reduces the expected regret most', () => {
    const separation = { count: 40, what: 'block sizes', measure: 2, within: 0.01, designs: [5, 6, 7], sentence: '' };
    const steps = [
      null,
      known({}),
      known({ worthKnowing: [worth(0.005)] }),
      known({ worthKnowing: [worth(0.05)], separation }),
      known({ worthKnowing: [worth(0.02)], separation }),
    ].map((uncertainty) => words.nextStep(uncertainty).kind);
    expect(steps).toEqual(['copy', 'copy', 'copy', 'learn', 'measure']);
    expect([{ separation }, {}].map((change) => words.toMeasure(known(change)))).toEqual([[5, 6], []]);
  });
});
