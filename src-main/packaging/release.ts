/**
 * `npm run release -- patch|minor|major|X.Y.Z [--tested]` makes a release in the folder of the project. It refuses a
 * working tree with changes. It raises the version, dates the section "Unreleased" of the changelog, runs the tests,
 * writes the files to `dist/X.Y.Z`, commits and tags. It publishes nothing. If it fails, it leaves the tree as it was.
 * `--tested` skips the tests, for a commit on which they have passed elsewhere.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { addBundled, type Sbom } from './sbom.ts';
import { errorText } from '../../src-workers/domain/result.ts';

const CHANGED = ['package.json', 'package-lock.json', 'CHANGELOG.md'];
const UNRELEASED = '## Unreleased\n';

const run = (command: string, ...args: string[]) => void execFileSync(command, args, { stdio: 'inherit' });
const read = (command: string, ...args: string[]) => execFileSync(command, args, { encoding: 'utf8' }).trim();
const say = (line: string) => void process.stdout.write(`${line}\n`);

function electronRuntime(): string | null {
  const folder = resolve('node_modules/electron');
  if (existsSync(folder) && !existsSync(join(folder, 'path.txt')))
    try {
      run(process.execPath, join(folder, 'install.js'));
    } catch {
      return null;
    }
  return existsSync(join(folder, 'path.txt')) ? join(folder, 'dist') : null;
}

function packApplication(folder: string, name: string): void {
  const runtime = process.platform === 'linux' ? electronRuntime() : null;
  if (runtime === null) {
    say('The application for Linux was not made: it needs Linux and the Electron runtime (npx install-electron).');
    return;
  }
  const builder = ['node_modules/electron-builder/cli.js', '--config', 'src-main/packaging/electron-builder.yml'];
  const options = [`-c.electronDist=${runtime}`, `-c.directories.output=${folder}`];
  run(process.execPath, ...builder, '--linux', 'dir', '--publish', 'never', ...options);
  const unpacked = join(folder, 'linux-unpacked');
  renameSync(unpacked, join(folder, name));
  run('tar', '-czf', join(folder, `${name}-linux-${process.arch}.tar.gz`), '-C', folder, name);
  for (const other of readdirSync(folder, { withFileTypes: true }))
    if (other.isDirectory() || /^builder-/.test(other.name)) rmSync(join(folder, other.name), { recursive: true });
}

function makeFiles(folder: string, name: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  run('npm', 'pack', '--pack-destination', folder);
  packApplication(folder, name);
  const sbom = JSON.parse(
    read('npm', 'sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', '--omit', 'dev'),
  ) as Sbom;
  writeFileSync(join(folder, `${name}.cdx.json`), `${JSON.stringify(addBundled(sbom), null, 1)}\n`);
  const sums = readdirSync(folder)
    .toSorted()
    .map((file) => `${hash('sha256', readFileSync(join(folder, file)))}  ${file}\n`);
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''));
}

/** If Git does not know the name of the committer, it would refuse the commit after all tests. */
const hasIdentity = () => spawnSync('git', ['var', 'GIT_COMMITTER_IDENT']).status === 0;

function release(increment: string, isTested: boolean): void {
  if (read('git', 'status', '--porcelain') !== '')
    throw new Error('The tree has changes. Commit or remove them before a release.');
  const changelog = readFileSync('CHANGELOG.md', 'utf8');
  const [before, after] = changelog.split(UNRELEASED);
  if (after === undefined || /^\s*(## |$)/.test(after))
    throw new Error('CHANGELOG.md has nothing under "## Unreleased". Describe the changes there.');
  if (!hasIdentity())
    throw new Error('Git does not know the name of the committer. Set user.name and user.email with "git config".');
  try {
    run('npm', 'version', increment, '--no-git-tag-version', '--allow-same-version');
    const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { name: string; version: string };
    const { name, version } = manifest;
    const date = new Date().toISOString().slice(0, 10);
    writeFileSync('CHANGELOG.md', `${before}${UNRELEASED}\n## ${version} (${date})\n${after}`);
    if (!isTested) run('npm', 'run', 'test:all');
    const folder = resolve('dist', version);
    makeFiles(folder, `${basename(name)}-${version}`);
    run('git', 'commit', '--quiet', '--message', `Release ${version}`, ...CHANGED);
    run('git', 'tag', '--annotate', `v${version}`, '--message', `Lockstep ${version}`);
    say(`Released ${version}: commit, tag v${version}, and files in ${folder}. Nothing was published.`);
  } catch (error) {
    run('git', 'checkout', 'HEAD', '--', ...CHANGED);
    throw error;
  }
}

const args = process.argv.slice(2);
const [increment = ''] = args.filter((arg) => arg !== '--tested');
try {
  if (!/^(patch|minor|major|\d+\.\d+\.\d+)$/.test(increment))
    throw new Error(`"${increment}" is not a release. Specify patch, minor, major or a version such as 1.2.3.`);
  release(increment, args.includes('--tested'));
} catch (error) {
  process.stderr.write(`${errorText(error)}\n`);
  process.exitCode = 1;
}
