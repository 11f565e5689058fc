/**
 * `npm run release -- patch|minor|major|X.Y.Z`: a release in the folder of the project. Refuses a tree with changes;
 * raises the version, dates the section "Unreleased" of the changelog, tests, packs the npm package, commits and tags.
 * Publishes nothing. What fails leaves the tree as it was.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const CHANGED = ['package.json', 'package-lock.json', 'CHANGELOG.md'];
const UNRELEASED = '## Unreleased\n';

const run = (command: string, ...args: string[]) => void execFileSync(command, args, { stdio: 'inherit' });
const read = (command: string, ...args: string[]) => execFileSync(command, args, { encoding: 'utf8' }).trim();

function release(increment: string): void {
  if (read('git', 'status', '--porcelain') !== '')
    throw new Error('The tree has changes. Commit or remove them before a release.');
  const changelog = readFileSync('CHANGELOG.md', 'utf8');
  const [before, after] = changelog.split(UNRELEASED);
  if (after === undefined || /^\s*(## |$)/.test(after))
    throw new Error('CHANGELOG.md has nothing under "## Unreleased". Describe the changes there.');
  let version: string;
  try {
    run('npm', 'version', increment, '--no-git-tag-version', '--allow-same-version');
    ({ version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string });
    const date = new Date().toISOString().slice(0, 10);
    writeFileSync('CHANGELOG.md', `${before}${UNRELEASED}\n## ${version} (${date})\n${after}`);
    run('npm', 'run', 'test:all');
    run('npm', 'pack');
  } catch (error) {
    run('git', 'checkout', '--', ...CHANGED);
    throw error;
  }
  run('git', 'commit', '--quiet', '--message', `Release ${version}`, ...CHANGED);
  run('git', 'tag', '--annotate', `v${version}`, '--message', `Lockstep ${version}`);
  process.stdout.write(`Released ${version}: commit, tag v${version} and npm package. Nothing was published.\n`);
}

const [increment = ''] = process.argv.slice(2);
try {
  if (!/^(patch|minor|major|\d+\.\d+\.\d+)$/.test(increment))
    throw new Error(`"${increment}" is no release. Specify patch, minor, major or a version such as 1.2.3.`);
  release(increment);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
