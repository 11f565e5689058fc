import { expect, it } from 'vitest';
import type { Study } from '../../../src-main/contract/study.ts';
import { concepts } from '../../../src-renderer/shell/concepts.ts';
import { boldParts, search } from '../../../src-renderer/shell/search.ts';
import { term } from '../../../src-workers/domain/terms.ts';

const OTHERS = [
  'Copy link to what is on screen',
  'Use compact rows, as saved',
  'Open the example study now',
  'Compare devices',
];

it.each([
  // The start of a label ranks first, then the start of a word, then its middle.
  [
    'sim',
    ['Dissimilar runs', 'Models: simulator', 'Simulate the selected design'],
    ['Simulate the selected design', 'Models: simulator', 'Dissimilar runs'],
  ],
  // A whole word ranks before the beginning of a longer one.
  ['sort', ['Sorting', 'Sort by the predicted time'], ['Sort by the predicted time', 'Sorting']],
  // Parts of words may have any order, and letters may be left out.
  ['theme dark', ['Use the dark theme'], ['Use the dark theme']],
  ['pds', ['Predict the design space'], ['Predict the design space']],
  ['xyz', ['Predict the design space'], []],
  ['lanscape', ['Landscape', 'Loss'], ['Landscape']],
  ['lndscpe', ['Landscape'], []],
  // Scattered letters do not count if another label contains the query itself, or if they are far apart.
  ['com', ['Compare', 'Copy the name'], ['Compare']],
  ['csv', OTHERS, []],
  ['python', OTHERS, []],
  ['csv', [...OTHERS, 'Export as CSV'], ['Export as CSV']],
  ['', ['Settings', 'About'], ['Settings', 'About']],
])('“%s” among %j finds %j', (query, labels, wanted) => {
  const items = labels.map((label) => ({ label }));
  expect(search(items, query).map(({ item }) => item.label)).toEqual(wanted);
});

it('finding also looks for hidden words, ranked after labels', () => {
  const items = [{ label: 'Settings', words: 'dark mode' }, { label: 'Use the dark theme' }];
  expect(search(items, 'dark').map(({ item }) => item.label)).toEqual(['Use the dark theme', 'Settings']);
  expect(search(items, 'mode')[0]).toMatchObject({ item: { label: 'Settings' }, at: [] });
});

it('finding marks the matching letters', () => {
  const label = 'Models: simulator';
  const parts = boldParts(label, search([{ label }], 'sim')[0].at);
  expect(parts.filter(({ bold }) => bold).map(({ text }) => text)).toEqual(['sim']);
  expect(parts.map(({ text }) => text).join('')).toBe(label);
});

it.each([
  ['kappa', ['Cooperation step κ', 'Models: Granularity', 'Cooperation step κ']],
  ['imbalance', ['Models: Imbalance']],
  ['occupancy', ['Occupancy', 'Models: Occupancy']],
  ['delete run', ['Delete, rename or compare runs']],
  ['registers per thread', ['Registers per thread']],
  ['block size', ['Block size']],
])('the concept %s finds its fields, terms and pages', (query, labels) => {
  const axes = { threadsPerUnit: [1], blockThreads: [32], registerCap: [null], loop: ['nested'], balancing: ['none'] };
  const found = concepts((key, form) => term(key, 'cuda', form), axes as Study['axes']);
  expect(search(found, query).map(({ item }) => item.label)).toEqual(labels);
});
