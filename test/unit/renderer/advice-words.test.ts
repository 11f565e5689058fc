import { describe, expect, it } from 'vitest';
import {
  assumptions,
  balancingWords,
  designWords,
  headline,
  factValue,
  lineText,
  originsText,
  swingPlace,
  swings,
  swingText,
  whisker,
} from '../../../src-renderer/advice/words.ts';
import { originText } from '../../../src-renderer/format/origins.ts';
import type { InputSensitivity, Recommendation } from '../../../src-main/contract/advice.ts';
import type { Design } from '../../../src-workers/domain/design.ts';
import type { InputFact, Origin } from '../../../src-workers/domain/provenance.ts';
import { term } from '../../../src-workers/domain/terms.ts';

const cuda: Parameters<typeof designWords>[1] = (key, form) => term(key, 'cuda', form);
const opencl: Parameters<typeof designWords>[1] = (key, form) => term(key, 'opencl', form);
const DESIGN: Design = {
  threadsPerUnit: 4,
  unitsPerThread: 1,
  loop: 'nested',
  balancing: 'none',
  blockThreads: 128,
  gridBlocks: 3584,
  registerCap: null,
};

describe('a design in words', () => {
  it('names what decides first, in the chosen vocabulary', () => {
    expect(designWords(DESIGN, cuda)).toEqual({
      main: '4 threads per unit, blocks of 128',
      rest: '3,584 blocks, 1 unit per slot, units as they come, no register cap',
    });
    expect(designWords({ ...DESIGN, threadsPerUnit: 1, registerCap: 64, loop: 'flattened' }, opencl)).toEqual({
      main: '1 work-item per unit, work-groups of 128',
      rest: '3,584 work-groups, 1 unit per slot, units as they come, one loop over all units, at most 64 registers',
    });
  });

  it('moves the balancing to the front where there is one', () => {
    const { main, rest } = designWords({ ...DESIGN, balancing: 'dynamic-fetch' }, cuda);
    expect(main).toBe('4 threads per unit, blocks of 128, dynamic fetch');
    expect(rest).not.toContain('as they come');
    expect(balancingWords('window-sort(4096)')).toBe('windows of 4,096 sorted');
  });

  it('names the cores of a CPU', () => {
    expect(designWords({ ...DESIGN, balancing: 'merge-path', blockThreads: 1, gridBlocks: 1 }, cuda)).toEqual({
      main: '1 core',
      rest: 'merge path',
    });
  });
});

function fact(field: string, origin: Origin, value: number | string = 1, unit = ''): InputFact {
  return { field, label: field, value, unit, origin, note: '', usual: null };
}
function sensitivity(
  field: string,
  recommendedMs: readonly number[],
  above: InputSensitivity['above'] = null,
): InputSensitivity {
  return {
    input: fact(field, 'assumed'),
    values: recommendedMs.map((_, at) => at),
    recommendedMs,
    bestMs: recommendedMs,
    designs: recommendedMs.map(() => 0),
    holds: [null, null],
    below: null,
    above,
    sentence: '',
  };
}

describe('inputs', () => {
  it('lists assumed ones, what decides or moves most first', () => {
    const inputs = [fact('a', 'assumed'), fact('b', 'given'), fact('c', 'assumed'), fact('d', 'assumed')];
    expect(assumptions(inputs, [sensitivity('d', []), sensitivity('c', [])]).map(({ field }) => field)).toEqual([
      'd',
      'c',
      'a',
    ]);
    expect(originsText(inputs)).toBe('4 inputs: 1 given, 3 assumed');
  });

  it('writes values with short units, and large ones in full', () => {
    expect(factValue(fact('s', 'assumed', 0.05))).toBe('0.05');
    expect(factValue(fact('n', 'given', 1_048_576))).toBe('1,048,576');
    expect(factValue(fact('p', 'assumed', 2, 'instructions per register'))).toBe('2\u00a0per reg.');
    expect(factValue(fact('w', 'given', 'geometric(0.05)'))).toBe('geometric(0.05)');
  });

  it('says what is usual of assumed values alone', () => {
    expect(originText('assumed', [0.01, 0.25])).toContain('Usual: 0.01 to 0.25.');
    expect(originText('given', [0.01, 0.25])).not.toContain('Usual');
  });
});

const TAKEOVER = { at: 0.0271, designIndex: 40, text: '8 threads per unit', gain: 0.12 };

describe('the tornado', () => {
  it('has a bar from the shortest to the longest time, the present one between them', () => {
    const [bar] = swings([sensitivity('x', [8, 10, 13])], 10);
    expect(bar.low).toBeCloseTo(-0.2, 12);
    expect(bar.high).toBeCloseTo(0.3, 12);
    expect(swingText(bar)).toBe('−20 / +30\u00a0%');
    expect(swingText({ low: 0, high: 0.042 })).toBe('+4.2\u00a0%');
  });

  it('leaves out what neither decides nor moves the time, and times of launches that cannot run', () => {
    const bars = swings([sensitivity('flat', [10, 10]), sensitivity('decides', [10, 10], TAKEOVER), sensitivity('part', [NaN, 11])], 10); // prettier-ignore
    expect(bars.map(({ field, high }) => [field, Number(high.toFixed(3))])).toEqual([
      ['decides', 0],
      ['part', 0.1],
    ]);
    expect(bars[0].takeovers).toEqual(['above 0.0271 → 8 threads per unit (−12\u00a0%)']);
    expect(bars[1].takeovers).toEqual([]);
  });

  it('is drawn by the logarithm, and ends at half and at twice the time', () => {
    expect([-0.9, -0.5, 0, 1, 7].map(swingPlace)).toEqual([-1, -1, 0, 1, 1]);
    expect(swingPlace(Math.SQRT2 - 1)).toBeCloseTo(0.5, 12);
  });
});

describe('the interval beside the bar', () => {
  it('ends at the edge with a mark where it goes on beyond it', () => {
    expect(whisker({ lowMs: 2, highMs: 6 }, 8)).toEqual({ from: 0.25, to: 0.75, beyond: false });
    expect(whisker({ lowMs: 2, highMs: 20 }, 8)).toEqual({ from: 0.25, to: 1, beyond: true });
  });
});

describe('the recommendation in one line', () => {
  const answer = {
    device: { id: 'a', name: 'A100' },
    devices: [],
    row: { design: DESIGN },
    designIndex: 7,
    time: { ms: 1.234, lowMs: 1.1, highMs: 1.5, basis: '' },
    ties: { count: 3, fraction: 0.01, rule: '', designs: [7, 9, 12] },
    baseline: { designIndex: 1, text: '', ms: 2, change: -0.383, chosen: false },
    causes: [],
    why: '',
    inputs: [],
    predicted: 1,
    of: 1,
    elapsedMs: 1,
  } as unknown as Recommendation;

  it('names device, design, time, interval, change and ties', () => {
    expect(lineText(answer, cuda).replaceAll('\u00a0', ' ')).toBe(
      'A100: 4 threads per unit, blocks of 128, 3,584 blocks, 1 unit per slot, units as they come, no register cap; 1.234 ms, 1.100 to 1.500 ms, −38.3 % against a plain design; 3 designs tie',
    );
  });

  it('says how many times as fast, and as what', () => {
    const compared = (threadsPerUnit: number, ms: number, chosen = false) =>
      headline(
        {
          ...answer,
          row: { ...answer.row, design: { ...DESIGN, threadsPerUnit } },
          time: { ...answer.time, ms: 1 },
          baseline: { designIndex: 1, text: '', ms, change: 1 / ms - 1, chosen },
        },
        cuda,
      );
    expect(compared(4, 1.26)).toBe('4 threads per unit, blocks of 128: 1.26\u00a0× as fast as a thread per unit.');
    expect(compared(1, 2)).toMatch(/: 2\.00\u00a0× as fast as a plain design\.$/);
    expect(compared(4, 0.5, true)).toMatch(/: 2\.00\u00a0× the time of the baseline\.$/);
    expect(compared(4, 1.001)).toMatch(/: as fast as a thread per unit\.$/);
  });
});
