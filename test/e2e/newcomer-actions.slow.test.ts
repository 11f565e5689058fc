import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lacks } from '../tools.mjs';
import { expect, open, test } from './fixtures/browser.ts';
import { drop, predicted, statusBar, WIDE } from './fixtures/page.ts';
import { ROOT } from './fixtures/program.ts';

// Counts how many actions a new user needs from a file to an answer. A dropped file, a click and a key count as one
// action each.

test.use({ viewport: WIDE });

function counter() {
  let actions = 0;
  return {
    act: async (step: Promise<void>) => {
      actions += 1;
      await step;
    },
    get actions() {
      return actions;
    },
  };
}

test('from a CSV of lengths to a header in at most 4 actions', async ({ page, own, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await open(page, own);
  const person = counter();
  const records = Array.from({ length: 4000 }, (_, i) => `${i},${1 + ((i * 37) % 90)}`);
  await person.act(drop(page.getByRole('main'), 'mine.csv', ['ray,steps', ...records].join('\n')));
  await person.act(page.getByRole('button', { name: 'Use 4,000 units' }).click());
  const copy = page.getByRole('region', { name: 'Recommendation' }).getByRole('button', { name: /^Copy header/ });
  await expect(copy).toBeEnabled({ timeout: 120_000 });
  await person.act(copy.click());
  await expect(statusBar(page)).toContainText(/Header copied/);
  const header = await page.evaluate(() => navigator.clipboard.readText());
  for (const part of ['#ifndef LOCKSTEP_', '4000 units', '// Assumed: ']) expect(header).toContain(part);
  expect(person.actions).toBeLessThanOrEqual(4);
});

test('from a sparse matrix to the kernel to write in at most 4 actions', async ({ page, own }) => {
  await open(page, own);
  const matrix = readFileSync(join(ROOT, 'test/data/matrices/1138_bus.mtx'));
  const person = counter();
  await person.act(drop(page.getByRole('main'), '1138_bus.mtx', matrix));
  await person.act(page.getByRole('button', { name: 'SpMV: compare the eight kernels' }).click());
  // The recommendation needs no run.
  const answer = page.getByRole('region', { name: 'Recommendation' }).locator('.main');
  const named = /^(.+), \d+ threads? per unit/;
  await expect(page.getByRole('spinbutton', { name: 'Number of units' })).toHaveValue('1,138');
  await expect(answer).toContainText(named, { timeout: 120_000 });
  const [, name] = named.exec((await answer.textContent())!)!;
  await person.act(page.getByRole('button', { name: /^Predict [\d,]+ designs/ }).click());
  await predicted(page, 2);
  await person.act(page.keyboard.press('4'));
  const table = page.getByRole('table', { name: 'Which kernel to write' });
  await expect(table.getByRole('rowgroup').nth(1)).toContainText(/^Which kernel to write/);
  await expect(table.getByRole('row', { name: new RegExp(`^${name} `) })).toContainText(/ to /);
  expect(person.actions).toBeLessThanOrEqual(4);
});

test('from a CUDA source to a recommendation in at most 3 actions', async ({ page, own }) => {
  test.skip(lacks('nvcc'), 'there is no nvcc');
  await open(page, own);
  const source = readFileSync(join(ROOT, 'db/examples/kernels/spmv/spmv.cu'));
  const person = counter();
  await person.act(drop(page.getByRole('main'), 'spmv.cu', source));
  await person.act(page.getByRole('button', { name: /^Import \d+ fields/ }).click({ timeout: 120_000 }));
  const profile = page.getByRole('region', { name: 'Kernel profile' });
  await expect(profile.getByRole('button', { name: /^Instructions per iteration.*imported/i })).toBeVisible();
  const answer = page.getByRole('region', { name: 'Recommendation' });
  await expect(answer.getByRole('button', { name: /^Copy header/ })).toBeEnabled({ timeout: 120_000 });
  expect(person.actions).toBeLessThanOrEqual(3);
});
