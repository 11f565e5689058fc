/* eslint-disable no-empty-pattern -- Vitest reads what a fixture needs from this pattern */
import { test } from 'vitest';
import { inFolder } from './sample.ts';

/** A test may have a folder of its own, which is removed after the test. */
export const it = test.extend<{ folder: string }>({
  folder: ({}, use) => inFolder(use),
});
