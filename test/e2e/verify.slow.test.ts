import { expect, test } from './fixtures/browser.ts';
import { openReport } from '../verify/report.ts';
import { verifyHost } from '../verify/host.ts';
import { verifyMonkey } from '../verify/monkey.ts';

// Runs a short form of `npm run verify`: attacks on the browser host, and random actions.

test('wrong requests, broken frames and names with markup have no effect', async () => {
  const report = openReport(1, () => {});
  await verifyHost(report, 20, ['ranking', 'export?format=html']);
  expect(report.failures).toEqual([]);
});

test('random actions cause no error', async () => {
  const report = openReport(1, () => {});
  await verifyMonkey(report, 0.25);
  expect(report.failures).toEqual([]);
});
