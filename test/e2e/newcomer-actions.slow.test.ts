import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lacks } from '../tools.mjs';
import { expect, open, test } from './fixtures/browser.ts';
import { drop, predicted, WIDE } from './fixtures/page.ts';
import { ROOT } from './fixtures/program.ts';

// A new user needs few actions from a file to an answer. Each step below is one action: a dropped file, a click, a key.
// wayfinding.slow.test.ts does the same from a table of lengths.

test.use({ viewport: WIDE });

test('from a sparse matrix to the kernel to write in 4 actions', async ({ page, own }) => {
  await open(page, own);
  const matrix = readFileSync(join(ROOT, 'test/data/matrices/1138_bus.mtx'));
  await drop(page.getByRole('main'), '1138_bus.mtx', matrix);
  await page.getByRole('button', { name: 'SpMV: compare the eight kernels' }).click();
  // The recommendation needs no run.
  const answer = page.getByRole('region', { name: 'Recommendation' }).locator('.main');
  const named = /^(.+), \d+ threads? per unit/;
  await expect(page.getByRole('spinbutton', { name: 'Number of units' })).toHaveValue('1,138');
  await expect(answer).toContainText(named, { timeout: 120_000 });
  const [, name] = named.exec((await answer.textContent())!)!;
  await page.getByRole('button', { name: /^Predict [\d,]+ designs/ }).click();
  await predicted(page, 2);
  await page.keyboard.press('4');
  const table = page.getByRole('table', { name: 'Which kernel to write' });
  await expect(table.getByRole('rowgroup').nth(1)).toContainText(/^Which kernel to write/);
  await expect(table.getByRole('row', { name: new RegExp(`^${name} `) })).toContainText(/ to /);
});

test('from a CUDA source to a recommendation in 2 actions', async ({ page, own }) => {
  test.skip(lacks('nvcc'), 'there is no nvcc');
  await open(page, own);
  const source = readFileSync(join(ROOT, 'db/examples/kernels/spmv/spmv.cu'));
  await drop(page.getByRole('main'), 'spmv.cu', source);
  await page.getByRole('button', { name: /^Import \d+ fields/ }).click({ timeout: 120_000 });
  const profile = page.getByRole('region', { name: 'Kernel profile' });
  await expect(profile.getByRole('button', { name: /^Instructions per iteration.*imported/i })).toBeVisible();
  const answer = page.getByRole('region', { name: 'Recommendation' });
  await expect(answer.getByRole('button', { name: /^Copy header/ })).toBeEnabled({ timeout: 120_000 });
});
