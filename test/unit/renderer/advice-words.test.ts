import { describe, expect, it } from 'vitest';
import * as words from '../../../src-renderer/advice/words.ts';
import { originText } from '../../../src-renderer/format/origins.ts';
import type { Recommendation, Uncertainty, WorthKnowing } from '../../../src-main/contract/advice.ts';
import type { InputFact, Origin } from '../../../src-workers/domain/provenance.ts';
import { term } from '../../../src-workers/domain/terms.ts';
import { designOf } from '../../measuring.ts';

const cuda: Parameters<typeof words.designWords>[1] = (key, form) => term(key, 'cuda', form);
const opencl: Parameters<typeof words.designWords>[1] = (key, form) => term(key, 'opencl', form);
const DESIGN = designOf({ threadsPerUnit: 4, blockThreads: 128, gridBlocks: 3584 });

it('a design in words names the most decisive values first, in the chosen vocabulary', () => {
  expect(words.designWords(DESIGN, cuda)).toEqual({
    main: '4 threads per unit, blocks of 128',
    rest: '3,584 blocks, 1 unit per slot, units as they come, no register cap',
  });
  expect(words.designWords({ ...DESIGN, threadsPerUnit: 1, registerCap: 64, loop: 'flattened' }, opencl)).toEqual({
    main: '1 work-item per unit, work-groups of 128',
    rest: '3,584 work-groups, 1 unit per slot, units as they come, one loop over all units, at most 64 registers',
  });
});

it('a design in words moves the balancing to the front if there is one', () => {
  const { main, rest } = words.designWords({ ...DESIGN, balancing: 'dynamic-fetch' }, cuda);
  expect(main).toBe('4 threads per unit, blocks of 128, dynamic fetch');
  expect(rest).not.toContain('as they come');
  expect(words.balancingWords('window-sort(4096)')).toBe('windows of 4,096 sorted');
});

it('a design in words names the cores of a CPU', () =>
  expect(words.designWords({ ...DESIGN, balancing: 'merge-path', blockThreads: 1, gridBlocks: 1 }, cuda)).toEqual({
    main: '1 core',
    rest: 'merge path',
  }));

function fact(field: string, origin: Origin, value: number | string = 1, unit = ''): InputFact {
  return { field, label: field, value, unit, origin, note: '', usual: null };
}
it('the list of inputs has assumed inputs, and first those worth knowing', () => {
  const inputs = [fact('a', 'assumed'), fact('b', 'given'), fact('c', 'assumed'), fact('d', 'assumed')];
  expect(
    words
      .assumptions(
        inputs,
        ['d', 'c'].map((field) => ({ input: fact(field, 'assumed') }) as WorthKnowing),
      )
      .map(({ field }) => field),
  ).toEqual(['d', 'c', 'a']);
  expect(words.originsText(inputs)).toBe('4 inputs: 1 given, 3 assumed');
});

it('inputs have values with short units, and large ones in full', () => {
  expect(words.factValue(fact('s', 'assumed', 0.05))).toBe('0.05');
  expect(words.factValue(fact('n', 'given', 1_048_576))).toBe('1,048,576');
  expect(words.factValue(fact('p', 'assumed', 2, 'instructions per register'))).toBe('2\u00a0per reg.');
  expect(words.factValue(fact('w', 'given', 'geometric(0.05)'))).toBe('geometric(0.05)');
});

it('inputs state the usual range only for assumed values', () => {
  expect(originText('assumed', [0.01, 0.25])).toContain('Usual: 0.01 to 0.25.');
  expect(originText('given', [0.01, 0.25])).not.toContain('Usual');
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

  it('names device, design, time, interval, change, and the certainty once it is known', () => {
    const line = (uncertainty: Uncertainty | null) =>
      words.lineText(answer, uncertainty, cuda).replaceAll('\u00a0', ' ');
    const shown = line(null);
    expect(shown).toBe(
      'A100: 4 threads per unit, blocks of 128, 3,584 blocks, 1 unit per slot, units as they come, no register cap; 1.234 ms, 1.100 to 1.500 ms, −38.3 % against the plain design',
    );
    const known = { robust: { chanceBest: 0.8 }, within: 0.03 } as Uncertainty;
    expect(line(known)).toBe(`${shown}; 80 % sure to be within 3 % of the best`);
  });

  it('says how many times as fast it is, and compared with what', () => {
    const compared = (threadsPerUnit: number, ms: number, chosen = false, fewest = 1) =>
      words.headline(
        {
          ...answer,
          row: { ...answer.row, design: { ...DESIGN, threadsPerUnit } },
          time: { ...answer.time, ms: 1 },
          baseline: { designIndex: 1, threadsPerUnit: fewest, text: '', ms, change: 1 / ms - 1, chosen },
        },
        null,
        cuda,
      );
    expect(compared(4, 1.26)).toBe(
      '4 threads per unit, blocks of 128: 1.26\u00a0× as fast as the plain design with one thread per unit.',
    );
    expect(compared(1, 2)).toMatch(/: 2\.00\u00a0× as fast as the plain design\.$/);
    expect(compared(4, 2, false, 2)).toMatch(/: 2\.00\u00a0× as fast as the plain design\.$/);
    expect(compared(4, 0.5, true)).toMatch(/: 2\.00\u00a0× the time of the baseline\.$/);
    expect(compared(4, 1.001)).toMatch(/: as fast as the plain design with one thread per unit\.$/);
  });

  const worth = (gain: number) =>
    ({
      input: { label: 'Cooperation step κ', field: 'k' },
      gain,
      learn: 'ask',
      how: '',
      sentence: 'Learn it.',
    }) as const;
  const known = (change: object) =>
    ({
      within: 0.03,
      robust: { chanceBest: 0.8, expectedRegret: 0.04 },
      worthKnowing: [],
      separation: null,
      ...change,
    }) as unknown as Uncertainty;

  it('states its certainty and the deciding input, and the expected loss if the certainty is low', () => {
    const said = (change: object) => words.headline(answer, known(change), cuda).replaceAll('\u00a0', ' ');
    expect(said({ worthKnowing: [worth(0.05)] })).toBe(
      '4 threads per unit, blocks of 128: 1.62 × as fast as the plain design with one thread per unit, 80 % sure to be within 3 % of the best; decided by cooperation step κ, which is assumed.',
    );
    expect(said({ robust: { chanceBest: 0.2, expectedRegret: 0.0392 } })).toMatch(
      /, on average 4 % slower than the best\.$/,
    );
    // An input without a gain is not decisive.
    expect(said({ worthKnowing: [worth(0.002)] })).toMatch(/of the best\.$/);
  });

  it('says why it is not the fastest with usual values', () => {
    const robust = (robust: number, point: number) =>
      known({ robust: { designIndex: robust }, point: { designIndex: point } });
    const picked = { ...answer, designIndex: 5, time: { ...answer.time, ms: 1.01 } };
    const said = (of: Uncertainty | null, fastest: number, predictedMs = 1) =>
      words.whyNotFastest(picked, of, { designIndex: fastest, predictedMs }, cuda)?.replaceAll('\u00a0', ' ');
    expect(said(robust(5, 7), 7)).toBe(
      'The recommendation for A100 is 4 threads per unit, blocks of 128. With the usual value of each assumed input, it takes 1.0 % longer than the fastest design below. Over all values of these inputs, its average loss is the smallest.',
    );
    expect(said(robust(5, 5), 7)).toMatch(
      /It takes 1\.0 % longer than the fastest design below\. .* this one is simpler\.$/,
    );
    expect(said(robust(5, 5), 7, 1.01)).toMatch(
      /It takes as long as the fastest design below\. .* this one is simpler\.$/,
    );
    expect(said(robust(5, 5), 5)).toBeUndefined();
    expect(said(null, 7)).toBeUndefined();
  });

  it('is followed by the input that reduces the expected loss most', () => {
    const separation = { count: 40, what: 'block sizes', measure: 2, within: 0.01, designs: [5, 6, 7], sentence: '' };
    expect(words.nextStep(null).kind).toBe('copy');
    expect(words.nextStep(known({})).kind).toBe('copy');
    expect(words.nextStep(known({ worthKnowing: [worth(0.05)], separation })).kind).toBe('learn');
    expect(words.nextStep(known({ worthKnowing: [worth(0.02)], separation })).kind).toBe('measure');
    expect(words.toMeasure(known({ separation }))).toEqual([5, 6]);
    expect(words.toMeasure(known({}))).toEqual([]);
    expect(words.nextStep(known({ worthKnowing: [worth(0.005)] })).kind).toBe('copy');
  });
});
