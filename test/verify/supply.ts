import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Report, Section } from './report.ts';

const ROOT = join(import.meta.dirname, '../..');

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly link?: boolean;
}
interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/** Licences of packages that may be part of a program, whatever its own licence. */
const LICENCES = ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', '0BSD', 'OFL-1.1', 'BlueOak-1.0.0'];
/** Packages with another licence. They build or test the program and are not part of it. */
const TOOLS: readonly (readonly [RegExp, string])[] = [
  [/^lightningcss(-|$)/, 'MPL-2.0'],
  [/^axe-core$/, 'MPL-2.0'],
  [/^caniuse-lite$/, 'CC-BY-4.0'],
  [/^argparse$/, 'Python-2.0'],
  [/^truncate-utf8-bytes$/, 'WTFPL'],
];
/** Packages without a licence in package.json, and the licence that their file LICENSE states. */
const IN_FILE: Readonly<Record<string, string>> = { 'svelte-toolbelt': 'MIT' };

/** Tells whether an SPDX expression allows one of the licences: `(MIT OR CC0-1.0)`, `MIT AND ISC`. */
function allows(expression: string): boolean {
  const alternatives = expression.replaceAll(/[()]/g, '').split(/\s+OR\s+/);
  return alternatives.some((all) => all.split(/\s+AND\s+/).every((one) => LICENCES.includes(one.trim())));
}

function licences(report: Report): void {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
  const counts = new Map<string, number>();
  for (const [path, { version, license, integrity, link }] of Object.entries(lock.packages)) {
    if (path === '' || link) continue;
    const name = path.replace(/^.*node_modules\//, '');
    const licence = license ?? IN_FILE[name] ?? 'none given';
    counts.set(licence, (counts.get(licence) ?? 0) + 1);
    const tool = TOOLS.some(([names, own]) => names.test(name) && own === licence);
    if (!tool && !allows(licence)) report.fail(`${name}@${version} has the licence "${licence}"`);
    if (!integrity) report.fail(`${name}@${version} is locked without a digest`);
  }
  const listed = [...counts].sort((a, b) => b[1] - a[1]).map(([licence, count]) => `${licence} ${count}`);
  const total = [...counts.values()].reduce((a, b) => a + b, 0);
  report.figure('packages, each locked with a digest', total);
  report.figure('licences', listed.join(', '));
}

function audit(report: Report): void {
  const { status, stdout } = spawnSync('npm', ['audit'], { cwd: ROOT, encoding: 'utf8', timeout: 120_000 });
  if (/\bvulnerabilit/.test(stdout)) {
    report.figure('npm audit', stdout.trim().split('\n').at(-1)!);
    if (status !== 0) report.fail(`npm audit: ${stdout}`);
  } else report.figure('npm audit', 'not asked: the registry does not answer');
}

/** Calls that would pass a text to a shell or run it as code. Programs may only start with a list of arguments. */
const FORBIDDEN: readonly (readonly [RegExp, string])[] = [
  [/\bshell\s*:\s*(true\b|(?!false\b)[\w$.]+\s*[,}])/, 'the option "shell"'],
  [/\bexec(Sync)?\s*\(\s*[`'"\w]/, 'exec'],
  [/\b(eval|Function)\s*\(\s*[`'"\w]/, 'code from a text'],
  [/\bspawn(Sync)?\(\s*['"](\/bin\/)?(ba|da|z)?sh['"]|['"]cmd(\.exe)?['"]|['"]powershell/, 'a shell by its name'],
  [/\bfrom ['"]node:vm['"]|\brequire\(['"]vm['"]\)/, 'node:vm'],
  [/\{@html\b|\.innerHTML\s*=|\binsertAdjacentHTML\b|\bdocument\.write\b/, 'markup from a text'],
];
/** `name.exec(` is also a method of regular expressions and databases. Comments may contain any of these calls. */
const ALLOWED = /\.exec\(|^\s*(\/\/|\*|\/\*)/;

function sources(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|mjs|cjs|svelte)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}

export function forbiddenLines(text: string): readonly string[] {
  return text.split('\n').flatMap((line, i) => {
    if (ALLOWED.test(line) && !/child_process/.test(line)) return [];
    return FORBIDDEN.filter(([pattern]) => pattern.test(line)).map(([, what]) => `${i + 1}: ${what}`);
  });
}

function noShell(report: Report): void {
  const files = ['src-main', 'src-workers', 'src-renderer', 'db'].flatMap(sources);
  for (const file of files)
    for (const line of forbiddenLines(readFileSync(file, 'utf8'))) report.fail(`${relative(ROOT, file)}:${line}`);
  report.figure('sources without a shell, code or markup from a text', files.length);
}

export function verifySources(report: Report): void {
  licences(report);
  noShell(report);
}

export const section: Section = {
  what: 'packages, licences, and no shell anywhere',
  amount: { full: 1, quick: 1, unit: 'round' },
  async run(report) {
    verifySources(report);
    audit(report);
  },
};
