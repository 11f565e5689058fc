import { expect, it } from 'vitest';
import { openReport, type Report } from '../verify/report.ts';
import { verifyCalls } from '../verify/calls.ts';
import { verifyFiles } from '../verify/files.ts';
import { verifyKills } from '../verify/kills.ts';
import { verifyTrips } from '../verify/trips.ts';
import { verifyStorage } from '../verify/storage.ts';
import { forbiddenLines, verifySources } from '../verify/supply.ts';

// Runs a short form of `npm run verify` with a fixed seed. The full form has other seeds and a thousandfold amount.
const SEED = 1;

it.each<[string, number, (report: Report, amount: number) => Promise<void>]>([
  ['supply', 1, async (report) => verifySources(report)],
  ['files', 40, verifyFiles],
  ['calls', 200, verifyCalls],
  ['storage', 14, (report, amount) => verifyStorage(report, amount, ['fullDisk', 'readOnly', 'noMemory'])],
  // db/open.test.ts kills migrations.
  ['kills', 3, (report, amount) => verifyKills(report, amount, ['sweep', 'measure', 'import'])],
  ['trips', 1, verifyTrips],
])('%s: %i', async (_, amount, verify) => {
  const report = openReport(SEED, () => {});
  await verify(report, amount);
  expect(report.failures).toEqual([]);
  expect(report.figures.length).toBeGreaterThan(0);
});

it.each([
  ['spawn(program, args, { shell: true })', 1],
  ["spawn('/bin/sh', ['-c', text])", 1],
  ["import { exec } from 'node:child_process'; exec(text)", 1],
  ['const f = new Function(text);', 1],
  ['<p>{@html text}</p>', 1],
  ['element.innerHTML = text;', 1],
  ['const found = /a/.exec(text);', 0],
  ['spawn(program, [...args], { shell: false })', 0],
  ['// without a shell: true enough', 0],
])('a source with %j has %i forbidden lines', (text, count) => expect(forbiddenLines(text)).toHaveLength(count));
