import { describe, expect, it } from 'vitest';
import { boldParts, search } from '../../../src-renderer/shell/search.ts';
import { concepts } from '../../../src-renderer/shell/concepts.ts';
import type { Study } from '../../../src-main/contract/study.ts';
import { term, type Term } from '../../../src-workers/domain/terms.ts';

const labels = (query: string, ...among: readonly string[]) =>
  search(
    among.map((label) => ({ label })),
    query,
  ).map(({ item }) => item.label);

describe('finding commands', () => {
  it('ranks the start of a label first, then the start of a word, then its middle', () => {
    const order = ['Simulate the selected design', 'Models: simulator', 'Dissimilar runs'];
    expect(labels('sim', ...[...order].reverse())).toEqual(order);
  });

  it('ranks a whole word before the beginning of a longer one', () => {
    expect(labels('sort', 'Sorting', 'Sort by the predicted time')).toEqual(['Sort by the predicted time', 'Sorting']);
  });

  it('accepts parts of words in any order, and letters in order', () => {
    expect(labels('theme dark', 'Use the dark theme')).toHaveLength(1);
    expect(labels('pds', 'Predict the design space')).toHaveLength(1);
    expect(labels('xyz', 'Predict the design space')).toEqual([]);
  });

  it('ignores scattered letters if another label contains the query itself', () => {
    expect(labels('com', 'Compare', 'Copy the name')).toEqual(['Compare']);
  });

  it('ignores letters that are scattered over a label', () => {
    const others = [
      'Copy link to what is on screen',
      'Use compact rows, as saved',
      'Open the example study now',
      'Compare devices',
    ];
    expect(labels('csv', ...others)).toEqual([]);
    expect(labels('python', ...others)).toEqual([]);
    expect(labels('csv', ...others, 'Export as CSV')).toEqual(['Export as CSV']);
  });

  it('accepts a missing letter', () => {
    expect(labels('lanscape', 'Landscape', 'Loss')).toEqual(['Landscape']);
    expect(labels('lndscpe', 'Landscape')).toEqual([]);
  });

  it('also finds hidden words, ranked after labels', () => {
    const items = [{ label: 'Settings', words: 'dark mode' }, { label: 'Use the dark theme' }];
    expect(search(items, 'dark').map(({ item }) => item.label)).toEqual(['Use the dark theme', 'Settings']);
    expect(search(items, 'mode')[0]).toMatchObject({ item: { label: 'Settings' }, at: [] });
  });

  it('marks the matching letters', () => {
    const label = 'Models: simulator';
    const parts = boldParts(label, search([{ label }], 'sim')[0].at);
    expect(parts.filter(({ bold }) => bold).map(({ text }) => text)).toEqual(['sim']);
    expect(parts.map(({ text }) => text).join('')).toBe(label);
  });

  it('finds everything with an empty query', () => {
    expect(labels('', 'Settings', 'About')).toEqual(['Settings', 'About']);
  });
});

describe('concepts', () => {
  const say: Term = (key, form) => term(key, 'cuda', form);
  const axes: Study['axes'] = {
    threadsPerUnit: [1],
    blockThreads: [32],
    registerCap: [null],
    loop: ['nested'],
    balancing: ['none'],
  };
  const found = (query: string) => search(concepts(say, axes), query).map(({ item }) => item.label);

  it.each([
    ['kappa', ['Cooperation step κ', 'Models: Granularity', 'Cooperation step κ']],
    ['imbalance', ['Models: Imbalance']],
    ['occupancy', ['Occupancy', 'Models: Occupancy']],
    ['delete run', ['Delete, rename or compare runs']],
    ['registers per thread', ['Registers per thread']],
    ['block size', ['Block size']],
  ])('%s finds its fields, terms and pages', (query, labels) => {
    expect(found(query)).toEqual(labels);
  });
});
