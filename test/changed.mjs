// Finds what `npm run check` examines: the files that differ from the last commit, and the quick tests closest to them.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const git = (/** @type {string[]} */ ...words) =>
  execFileSync('git', words, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean);
/** Tells whether a file is a source that the checks read. Files in test/data are not. */
const isSource = (/** @type {string} */ file) => /\.(ts|mjs|cjs|svelte)$/.test(file) && !file.startsWith('test/data/');
/** Selects quick tests. Browser tests need a build, and slow tests belong to `npm run test:all`. */
const isQuickTest = (/** @type {string} */ file) =>
  /^test\/(unit|property|golden|db|integration)\/.*\.test\.ts$/.test(file) && !file.endsWith('.slow.test.ts');

/**
 * Returns the existing sources and tests that differ from the last commit.
 * @returns {string[]} paths from the root
 */
export function changedFiles() {
  const names = [
    ...git('diff', '--name-only', '--diff-filter=d', 'HEAD'),
    ...git('ls-files', '-o', '--exclude-standard'),
  ];
  return names.filter(isSource);
}

/**
 * Returns the quick tests among the changed files, and the quick tests that import any other changed file. If no test
 * imports a file, the search continues with the files that import it. Tests with the name of a changed file come first.
 * @param {readonly string[]} changed
 * @returns {string[]} paths from the root
 */
export function nearestTests(changed) {
  /** @type {Map<string, Set<string>>} */
  const importers = new Map();
  for (const file of git('ls-files', '-co', '--exclude-standard').filter(isSource)) {
    if (!existsSync(join(root, file))) continue; // The file is deleted, but the deletion is not committed.
    for (const [, path] of readFileSync(join(root, file), 'utf8').matchAll(/(?:from|import\(?) ?'(\.{1,2}\/[^']+)'/g)) {
      const imported = posix.join(posix.dirname(file), path);
      importers.set(imported, (importers.get(imported) ?? new Set()).add(file));
    }
  }
  const found = new Set(changed.filter(isQuickTest));
  for (const file of changed) {
    const seen = new Set([file]);
    for (let level = [file]; level.length > 0 && !level.some(isQuickTest);) {
      level = [...new Set(level.flatMap((at) => [...(importers.get(at) ?? [])]))].filter((at) => !seen.has(at));
      for (const at of level) {
        seen.add(at);
        if (isQuickTest(at)) found.add(at);
      }
    }
  }
  const names = changed.map((file) => basename(file).replace(/\..*$/, ''));
  const isNamed = (/** @type {string} */ test) => changed.includes(test) || names.some((name) => test.includes(name));
  return [...found].sort((a, b) => Number(isNamed(b)) - Number(isNamed(a)));
}
