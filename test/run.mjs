// npm test: every check and test of the project. The last line says how many passed and failed, in one total: a static
// check, a tool that tests start, and the build count as one each. Plain JavaScript for any Node from 20 on: what it runs
// runs on the locked Node.
//
//   node test/run.mjs [--desktop [COMMAND …]]   also the desktop tests, started through COMMAND where there is one
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CHROMIUM_NAMES } from '../src-main/services/app/chromium.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const results = join(root, 'test-results');
const env = {
  ...process.env,
  PATH: `${join(root, 'node_modules/.bin')}${delimiter}${process.env.PATH ?? ''}`,
  FORCE_COLOR: '0',
  NO_COLOR: '1',
};
const total = { passed: 0, failed: 0 };

/**
 * @param {string} command shell words
 * @param {Record<string, string>} [more] of the environment
 * @returns {Promise<{ code: number, output: string }>}
 */
function run(command, more = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, {
      cwd: root,
      env: { ...env, ...more },
      shell: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const read = (/** @type {Buffer} */ data) => void (output += data.toString());
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.on('error', (error) => resolve({ code: 1, output: String(error) }));
    child.on('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

/**
 * Says how a step went, in one line, and shows what it printed where it failed.
 * @param {string} label
 * @param {{ passed: number, failed: number, skipped?: number }} counts
 * @param {number} start
 * @param {string} output
 */
function report(label, counts, start, output) {
  total.passed += counts.passed;
  total.failed += counts.failed;
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const skipped = counts.skipped ? `, ${counts.skipped} skipped` : '';
  process.stdout.write(
    `${counts.failed ? 'FAILED' : 'ok    '}  ${label}: ${counts.passed} passed, ${counts.failed} failed${skipped} (${seconds} s)\n`,
  );
  if (counts.failed) process.stdout.write(`${output.trim().replaceAll(/^/gm, '    ')}\n`);
}

/** Programs that tests start, by any of their names, and the Debian package of each. */
const TOOLS = [
  {
    debian: 'chromium',
    programs: CHROMIUM_NAMES,
    use: 'the browser tests; or name one in LOCKSTEP_CHROMIUM',
    named: process.env.LOCKSTEP_CHROMIUM,
  },
  { debian: 'g++', programs: ['g++'], use: 'the CUDA sources, which run in an emulation' },
  { debian: 'shellcheck', programs: ['shellcheck'], use: "a bundle's script" },
];

/** The tools that are missing, a line each: what it is for and how to get it. */
function missingTools() {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return TOOLS.filter(
    ({ programs, named }) =>
      !named && !folders.some((folder) => programs.some((program) => existsSync(join(folder, program)))),
  ).map(({ debian, use }) => `missing: ${debian}, for ${use} (Debian: apt-get install ${debian})\n`);
}

/** A check that passes or fails as a whole. */
async function check(/** @type {string} */ label, /** @type {string} */ command) {
  const start = performance.now();
  const { code, output } = await run(command);
  report(label, code === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 }, start, output);
  return code === 0;
}

/**
 * A runner that writes a JSON report. One that fails without a failed test (a file that does not load, no browser, a
 * crash) counts as one failure: silence is not success.
 * @param {string} label
 * @param {string} command
 * @param {string} file
 * @param {(report: never) => { passed: number, failed: number, skipped: number }} read
 */
async function tests(label, command, file, read) {
  const start = performance.now();
  const path = join(results, file);
  rmSync(path, { force: true });
  const { code, output } = await run(command, { PLAYWRIGHT_JSON_OUTPUT_NAME: path, PLAYWRIGHT_JSON_OUTPUT_FILE: path });
  let counts = { passed: 0, failed: 0, skipped: 0 };
  try {
    counts = read(/** @type {never} */ (JSON.parse(readFileSync(path, 'utf8'))));
  } catch (error) {
    counts.failed += 1;
    process.stdout.write(`${label}: no report (${error instanceof Error ? error.message : String(error)})\n`);
  }
  if (counts.failed === 0 && (code !== 0 || counts.passed === 0)) counts.failed += 1;
  report(label, counts, start, output);
}

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
) => ({
  passed: stats.expected + stats.flaky,
  failed: stats.unexpected,
  skipped: stats.skipped,
});

mkdirSync(results, { recursive: true });
const asked = process.argv.indexOf('--desktop');

// A tool that is missing fails by itself and the tests that start it fail too: what to do stands first and again last.
const missing = missingTools();
report('tools', { passed: TOOLS.length - missing.length, failed: missing.length }, performance.now(), missing.join(''));

// Two lanes for two cores: the checks, one after another, beside the tests that need no build.
const checks = async () => {
  await check('types', 'npm run --silent check:types');
  await check('lint', 'npm run --silent check:lint');
  await check('imports', 'npm run --silent check:imports');
  await check('unused', 'npm run --silent check:unused');
  return check('build', 'npm run --silent build');
};
const [built] = await Promise.all([
  checks(),
  tests(
    'unit, property, golden, db',
    'vitest run --reporter=default --reporter=json --outputFile.json=test-results/vitest.json',
    'vitest.json',
    ofVitest,
  ),
]);
// By themselves: they time something.
await tests(
  'measured',
  'vitest run --config vitest.measured.config.ts --reporter=default --reporter=json --outputFile.json=test-results/vitest-measured.json',
  'vitest-measured.json',
  ofVitest,
);
if (built) {
  await tests('browser', 'playwright test --project=browser --reporter=list,json', 'browser.json', ofPlaywright);
  if (asked >= 0) {
    const wrapper = process.argv.slice(asked + 1).join(' ');
    await tests(
      'desktop',
      `${wrapper} playwright test --project=desktop --reporter=list,json`.trim(),
      'desktop.json',
      ofPlaywright,
    );
  }
} else {
  report('browser', { passed: 0, failed: 1 }, performance.now(), 'not run: the build failed');
  if (asked >= 0) report('desktop', { passed: 0, failed: 1 }, performance.now(), 'not run: the build failed');
}

process.stdout.write(`${missing.join('')}${total.passed} passed, ${total.failed} failed\n`);
process.exitCode = total.failed === 0 ? 0 : 1;
