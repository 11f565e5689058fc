import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const ignored = (path: string) => /^(node_modules|out|dist|test-results)$/.test(path);
const files = globSync('**/*', { cwd: root, exclude: (path) => ignored(String(path)) }).map((path) =>
  path.replaceAll('\\', '/'),
);
const names = new Set(files.map((file) => basename(file)));
const documents = files.filter((file) => file.endsWith('.md') && file !== 'CHANGELOG.md');
const scripts = Object.keys(
  (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object }).scripts,
);
/** Documents use these names, which the repository lacks, as examples of what a user chooses or a command writes. */
const EXAMPLES = /^(x|a|g|csr|my|web|jobs|lengths|spmv|app|study|run|lockstep|NameView)\.|[A-Z]{3,}|^[\d.-]|…/;

/** Returns the anchor of a heading in rendered Markdown. */
const anchor = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} -]/gu, '')
    .replaceAll(' ', '-');

describe.each(documents)('%s', (document) => {
  const text = readFileSync(join(root, document), 'utf8');
  it('has links only to existing files and headings', () => {
    const broken = [...text.matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)]
      .map(([, link, picture]) => link ?? picture)
      .filter((link) => !/^[a-z]+:/.test(link))
      .filter((link) => {
        const [path = '', heading] = link.split('#');
        const file = path === '' ? join(root, document) : join(root, dirname(document), path);
        if (!existsSync(file)) return true;
        if (heading === undefined) return false;
        const headings = [...readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, title]) => anchor(title));
        return !headings.includes(heading);
      });
    expect(broken).toEqual([]);
  });
  it('names only files and scripts that exist', () => {
    const code = [...text.matchAll(/`([^`\n]+)`/g)].map(([, words]) => words);
    const sources = code.filter((words) => /^[\w./-]+\.(ts|mts|mjs|cjs|svelte|json|md|sql|css|cuh|cu)$/.test(words));
    const absent = sources.filter((path) => {
      if (EXAMPLES.test(basename(path))) return false;
      if (path.startsWith('../')) return !files.includes(join(dirname(document), path));
      return !names.has(basename(path)) || (path.includes('/') && !files.some((file) => file.endsWith(path)));
    });
    const unknown = [...text.matchAll(/npm run (?:-s |--silent )?([\w:-]+)/g)]
      .map(([, script]) => script)
      .filter((script) => !scripts.includes(script));
    expect([...absent, ...unknown]).toEqual([]);
  });
});
