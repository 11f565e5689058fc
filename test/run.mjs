// Runs the checks and tests of the project. The last line has one total of what passed, failed and was skipped. Each
// static check counts as one, and so does the build. Missing programs for tests are fetched first. If a program is not
// available, its tests are skipped; with CI=true, this is a failure. This file is plain JavaScript for any Node from 20
// on. The tests themselves run on the locked version of Node.
//
//   npm run check       lint, format and types of the changed files, and the tests closest to them
//   npm test            all static checks, and every test file that is not named *.slow.test.ts
//   npm run test:all    all checks and tests
//
// --desktop [COMMAND …]   also runs the desktop tests, through COMMAND if it is given
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { setPriority } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { changedFiles, nearestTests } from './changed.mjs';
import { findTool, forgetTools, NPM_TOOLS, TOOLS } from './tools.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const results = join(root, 'test-results');
const env = {
  ...process.env,
  PATH: `${join(root, 'node_modules/.bin')}${delimiter}${process.env.PATH ?? ''}`,
  FORCE_COLOR: '0',
  NO_COLOR: '1',
};
const total = { passed: 0, failed: 0, skipped: 0 };
/** Time limit of a download. A slow network may take minutes for a browser; a blocked network fails at once. */
const FETCH_LIMIT_MS = 5 * 60_000;
/** Scheduling priority of the computing tests (a Unix nice value). */
const LOWER_PRIORITY = 5;
const say = (/** @type {string} */ line) => void process.stdout.write(`${line}\n`);

/**
 * @param {string} command shell words
 * @param {Record<string, string>} [more] of the environment
 * @param {number} [timeout] ms
 * @param {number} [priority] of the command and all that it starts
 * @returns {Promise<{ code: number, output: string }>}
 */
function run(command, more = {}, timeout, priority) {
  return new Promise((resolve) => {
    const child = spawn(command, {
      cwd: root,
      env: { ...env, ...more },
      shell: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout,
    });
    if (priority !== undefined && child.pid !== undefined) setPriority(child.pid, priority);
    let output = '';
    const read = (/** @type {Buffer} */ data) => void (output += data.toString());
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.on('error', (error) => resolve({ code: 1, output: String(error) }));
    child.on('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

/**
 * Prints the result of a step in one line, and the output of a step that failed.
 * @param {string} label
 * @param {{ passed: number, failed: number, skipped?: number }} counts
 * @param {number} start
 * @param {string} output
 */
function report(label, counts, start, output) {
  total.passed += counts.passed;
  total.failed += counts.failed;
  total.skipped += counts.skipped ?? 0;
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const skipped = counts.skipped ? `, ${counts.skipped} skipped` : '';
  process.stdout.write(
    `${counts.failed ? 'FAILED' : 'ok    '}  ${label}: ${counts.passed} passed, ${counts.failed} failed${skipped} (${seconds} s)\n`,
  );
  if (counts.failed) process.stdout.write(`${failures(output).trim().replaceAll(/^/gm, '    ')}\n`);
}

/** Returns the output of Vitest or Playwright from its list of failures on, or all of it without such a list. */
function failures(/** @type {string} */ output) {
  const start = output.search(/^ *(?:⎯+ *Failed (?:Tests|Suites)|1\) \[)/m);
  return start === -1 ? output : output.slice(start);
}

const missing = () =>
  /** @type {(keyof typeof TOOLS)[]} */ (Object.keys(TOOLS)).filter((name) => findTool(name) === null);

/**
 * Fetches missing tools: Chromium by Playwright's installer, packages of npm, and then all others by apt-get. It does
 * not use apt-get if this would need a password.
 */
async function fetchTools() {
  if (missing().includes('chromium')) {
    say('fetching Chromium: npx playwright install chromium');
    const { code, output } = await run(
      'playwright install chromium',
      { PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT: '15000' },
      FETCH_LIMIT_MS,
    );
    forgetTools();
    if (missing().includes('chromium')) say(`  failed: ${lastLine(output, code)}`);
  }
  const install = async (/** @type {string} */ name, /** @type {string} */ npm) => {
    say(`fetching ${npm}: npm install`);
    const options = '--no-save --ignore-scripts --no-audit --no-fund';
    const { code, output } = await run(
      `npm install ${options} --prefix "${join(NPM_TOOLS, name)}" ${npm}`,
      {},
      FETCH_LIMIT_MS,
    );
    if (code !== 0) say(`  failed: ${npm}: ${lastLine(output, code)}`);
  };
  await Promise.all(
    missing().flatMap((name) => {
      const { npm } = TOOLS[name];
      return npm === undefined ? [] : [install(name, npm)];
    }),
  );
  forgetTools();
  const packages = [...new Set(missing().flatMap((name) => TOOLS[name].debian?.split(' ') ?? []))];
  if (packages.length === 0 || process.platform !== 'linux' || (await run('command -v apt-get')).code !== 0) return;
  const asRoot = process.getuid?.() === 0 ? '' : 'sudo -n ';
  if (asRoot && (await run(`${asRoot}true`)).code !== 0) return; // apt-get would ask for a password.
  say(`fetching ${packages.join(', ')}: ${asRoot}apt-get install ${packages.join(' ')}`);
  const { code, output } = await run(
    `${asRoot}apt-get update -qq && ${asRoot}apt-get install -y -qq --no-install-recommends ${packages.join(' ')}`,
    { DEBIAN_FRONTEND: 'noninteractive' },
    FETCH_LIMIT_MS,
  );
  if (code !== 0) say(`  failed: ${lastLine(output, code)}`);
  forgetTools();
}

/** Returns the line in which a program probably states why it failed. */
function lastLine(/** @type {string} */ output, /** @type {number} */ code) {
  const lines = output.split('\n').map((line) => line.trim());
  return lines.findLast((line) => /error|failed|unable/i.test(line)) ?? `it ended with ${code}`;
}

async function check(/** @type {string} */ label, /** @type {string} */ command) {
  const start = performance.now();
  const { code, output } = await run(command);
  report(label, code === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 }, start, output);
  return code === 0;
}

/**
 * Starts a test runner that writes a JSON report. A runner that fails without a failed test counts as one failure.
 * Causes are a file that does not load, a missing browser, or a crash.
 * @param {string} label
 * @param {string} command
 * @param {string} file
 * @param {(report: never) => { passed: number, failed: number, skipped: number }} read
 * @param {number} [priority]
 */
async function tests(label, command, file, read, priority) {
  const start = performance.now();
  const path = join(results, file);
  rmSync(path, { force: true });
  const reportTo = { PLAYWRIGHT_JSON_OUTPUT_NAME: path, PLAYWRIGHT_JSON_OUTPUT_FILE: path };
  const { code, output } = await run(command, reportTo, undefined, priority);
  let counts = { passed: 0, failed: 0, skipped: 0 };
  try {
    counts = read(/** @type {never} */ (JSON.parse(readFileSync(path, 'utf8'))));
  } catch (error) {
    counts.failed += 1;
    process.stdout.write(`${label}: no report (${error instanceof Error ? error.message : String(error)})\n`);
  }
  if (counts.failed === 0 && (code !== 0 || counts.passed + counts.skipped === 0)) counts.failed += 1;
  report(label, counts, start, output);
}

const vitest = (/** @type {string} */ files) =>
  `vitest run ${files} --reporter=default --reporter=json --outputFile.json=test-results/vitest.json`;
const ofVitest = (
  /** @type {{ numPassedTests: number, numFailedTests: number, numPendingTests: number, testResults: { status: string, assertionResults: { status: string }[] }[] }} */ json,
) => ({
  passed: json.numPassedTests,
  failed:
    json.numFailedTests +
    json.testResults.filter(
      (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
    ).length,
  skipped: json.numPendingTests,
});
const ofPlaywright = (
  /** @type {{ stats: { expected: number, unexpected: number, flaky: number, skipped: number } }} */ { stats },
) => ({ passed: stats.expected + stats.flaky, failed: stats.unexpected, skipped: stats.skipped });

mkdirSync(results, { recursive: true });

function end(/** @type {readonly string[]} */ notes = []) {
  for (const line of notes) say(line);
  say(`${total.passed} passed, ${total.failed} failed${total.skipped ? `, ${total.skipped} skipped` : ''}`);
  process.exit(total.failed === 0 ? 0 : 1);
}

/** Largest number of test files in `npm run check`. This many files take less time than the type check. */
const NEAREST = 20;

/** Checks lint, format, types and tests of the files that differ from the last commit. */
async function checkChanged() {
  const changed = changedFiles();
  const isSvelte = (/** @type {string} */ file) => /\.svelte(\.ts)?$/.test(file);
  const within = (/** @type {RegExp} */ folders) => changed.some((file) => folders.test(file));
  /** Runs a check on the changed files of a kind, if there are any. */
  const checkFiles = (/** @type {string} */ label, /** @type {string} */ command, /** @type {string[]} */ paths) =>
    paths.length > 0 && check(`${label} of ${paths.length} changed files`, `${command} ${paths.join(' ')}`);
  const lint = async () => {
    await checkFiles('format', 'oxfmt --check --no-error-on-unmatched-pattern', changed);
    const scripts = changed.filter((file) => !file.endsWith('.svelte'));
    await checkFiles('lint', 'oxlint --type-aware --deny-warnings --no-error-on-unmatched-pattern', scripts);
    const eslint = 'eslint --max-warnings 0 --cache --cache-location node_modules/.cache/eslint/';
    await checkFiles('lint', eslint, changed.filter(isSvelte));
  };
  const types = async () => {
    if (within(/^src-workers/)) await check('types of src-workers', 'tsc -p src-workers');
    if (within(/^(src-workers|src-main|db)/)) await check('types of src-main', 'tsc -p src-main');
    if (within(/^(src-workers|src-main|db|test)/)) await check('types of test', 'tsc -p test');
    if (within(/^src-/)) await check('types of src-renderer', 'npm run --silent check:svelte');
  };
  const nearest = nearestTests(changed);
  const paths = nearest.slice(0, NEAREST).join(' ');
  const label = `the ${Math.min(NEAREST, nearest.length)} nearest of ${nearest.length} files of tests`;
  const near = async () => paths && tests(label, vitest(paths), 'vitest.json', ofVitest);
  await Promise.all([lint().then(types), near()]);
}

const asks = (/** @type {string} */ option) => process.argv.includes(option);
if (asks('--changed')) {
  await checkChanged();
  end();
}

const all = asks('--all');

/** Most checks use one core, so two of them run at a time. */
const checks = async () => {
  const others = async () => {
    await check('lint', 'npm run --silent check:lint');
    await check('imports', 'npm run --silent check:imports');
    await check('unused', 'npm run --silent check:unused');
  };
  await Promise.all([check('types', 'npm run --silent check:types'), others()]);
};
const building = check('build', 'npm run --silent build');
const checking = checks();
await fetchTools();
// Playwright's Chromium and its libraries are not in the usual places, so the tests are told where they are.
const [chromium, driver] = [findTool('chromium'), findTool('swiftshader')];
if (chromium) env.LOCKSTEP_CHROMIUM = chromium;
if (driver) env.LOCKSTEP_VULKAN_ICD = driver;
const absent = missing().map((name) => {
  const { use, get, debian } = TOOLS[name];
  return `${name} is missing, so its tests are skipped: ${use}. Get it: ${get}${debian ? ` (Debian: apt-get install ${debian})` : ''}`;
});
if (process.env.CI === 'true' && absent.length > 0)
  report('tools', { passed: 0, failed: absent.length }, performance.now(), absent.join('\n'));

/** The selected test files for each runner. Playwright's filter is a regular expression. */
const files = all
  ? { browser: '', other: '--maxWorkers=3' } // Many slow tests wait for the programs that they start.
  : { browser: String.raw`'e2e/[\w-]+\.test\.ts$'`, other: "--exclude '**/*.slow.test.ts'" };
/** Browser test files have their own hosts and databases, and often wait, so two run at a time. */
const browser = () =>
  tests(
    'browser',
    `playwright test ${files.browser} --project=browser --workers=2 --reporter=list,json`,
    'browser.json',
    ofPlaywright,
  );
const wrapper = asks('--desktop') ? process.argv.slice(process.argv.indexOf('--desktop') + 1).join(' ') : null;
const desktop = () =>
  tests(
    'desktop',
    `${wrapper} playwright test --project=desktop --project=packed --output=test-results/desktop --reporter=list,json`.trim(),
    'desktop.json',
    ofPlaywright,
  );
const unbuilt = (/** @type {string} */ label) =>
  report(label, { passed: 0, failed: 1 }, performance.now(), 'not run: the build failed');
const inPages = async () => {
  if (wrapper !== null) await (isBuilt ? desktop() : unbuilt('desktop'));
  await (isBuilt ? browser() : unbuilt('browser'));
};
/**
 * Pages often wait, so the computing tests run at the same time. If a page waits too long for its turn, its test
 * exceeds a time limit. The processes of pages therefore get three times as much of a core as those of the computing
 * tests.
 */
const computed = () =>
  tests('unit, property, golden, db, integration', vitest(files.other), 'vitest.json', ofVitest, LOWER_PRIORITY);
const [isBuilt] = await Promise.all([building, checking]);
await Promise.all([inPages(), computed()]);

end(absent);
