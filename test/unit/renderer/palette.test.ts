import { describe, expect, it } from 'vitest';
import { boldParts, fuzzyMatch } from '../../../src-renderer/shell/fuzzy.ts';

const score = (query: string, text: string) => fuzzyMatch(query, text)?.score ?? -Infinity;

describe('finding commands', () => {
  it('puts the start of the label before the start of a word before its middle', () => {
    expect(score('sim', 'Simulate the selected design')).toBeGreaterThan(score('sim', 'Models: simulator'));
    expect(score('sim', 'Models: simulator')).toBeGreaterThan(score('sim', 'Dissimilar runs'));
  });

  it('takes parts in any order, and letters in order', () => {
    expect(fuzzyMatch('theme dark', 'Use the dark theme')).not.toBeNull();
    expect(fuzzyMatch('pds', 'Predict the design space')).not.toBeNull();
    expect(fuzzyMatch('xyz', 'Predict the design space')).toBeNull();
  });

  it('marks what matched', () => {
    const label = 'Models: simulator';
    const parts = boldParts(label, fuzzyMatch('sim', label)!.at);
    expect(parts.filter(({ bold }) => bold).map(({ text }) => text)).toEqual(['sim']);
    expect(parts.map(({ text }) => text).join('')).toBe(label);
  });

  it('finds everything with an empty query', () => {
    expect(fuzzyMatch('', 'Settings')).toEqual({ score: expect.any(Number), at: [] });
  });
});
