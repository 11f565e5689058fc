import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lacks } from '../tools.mjs';
import { expect, open, test } from './fixtures/browser.ts';
import { expectReport, lengths, losses, textOf, theory, unwantedDevices } from './fixtures/newcomer.ts';
import * as steps from './fixtures/page.ts';
import { ROOT } from './fixtures/program.ts';

const { command, isOutlined, offered, predicted, press, rankRows, tabTo } = steps;

test.use({ viewport: steps.WIDE });

// newcomer.test.ts does the same by pointer.
test('a new user does everything with the keyboard alone, and the focus is always visible', async ({ page, own }) => {
  await open(page, own);
  const keys = page.keyboard;
  await expect(lengths(page)).toHaveAccessibleName(/mean 38\.6/);
  const whole = await offered(page);
  await tabTo(theory(page));
  await keys.press('Enter');

  await tabTo(page.getByRole('radio', { name: 'File' }));
  await keys.press('ArrowLeft');
  await expect(page.getByRole('radio', { name: 'Distribution' })).toBeFocused();
  expect(await isOutlined(page)).toBe(true);
  await expect(lengths(page)).toHaveAccessibleName(/geometric\(0\.05\)/);
  const loss = await losses(page).getAttribute('aria-label');
  await tabTo(page.getByRole('slider', { name: /^p: chance/ }));
  await keys.press('PageUp');
  await expect(losses(page)).not.toHaveAccessibleName(loss!);

  for (const device of unwantedDevices) {
    await tabTo(page.getByRole('checkbox', { name: device }));
    await keys.press('Space');
  }
  await expect.poll(() => offered(page)).toBeLessThan(whole / 2);
  const fewer = await offered(page);
  await keys.press('Control+Enter');
  expect(await predicted(page, 2)).toBe(fewer);

  await keys.press('3');
  const grid = page.getByRole('grid', { name: 'Designs, ranked' });
  await expect(rankRows(page).first()).toHaveAttribute('aria-selected', 'true');
  await expect(grid).toBeFocused(); // This is the list of the view that was just opened.
  await keys.press('ArrowDown');
  expect(await isOutlined(page)).toBe(true);
  for (let i = 0; i < 3; i++) await keys.press('ArrowDown');
  await keys.press('Space');
  await expect(page.getByRole('heading', { name: 'Rank 5', exact: true })).toBeVisible();
  await keys.press('p');
  await expect(steps.statusBar(page)).toContainText('Baseline pinned');

  await keys.press('/');
  const form = page.getByRole('dialog', { name: 'Filter' });
  await expect(form).toBeVisible();
  const one = form.getByRole('group', { name: 'Threads per unit' }).getByRole('button', { name: '1', exact: true });
  if (!(await one.evaluate((element) => element === document.activeElement))) await tabTo(one);
  await press(page, 'Space', 'Escape');
  await expect(form).toBeHidden();
  const chips = page.getByRole('group', { name: 'Filter', exact: true });
  await expect.poll(async () => steps.readCount((await chips.locator('.hint').textContent())!)).toBeLessThan(fewer);
  await command(page, 'sort by waves');
  await expect(page.getByRole('combobox', { name: 'Sorted by: waves' })).toBeVisible();
  await command(page, 'sort by predicted');
  await command(page, 'clear the filter');
  await expect(chips).toBeHidden();

  await keys.press('l');
  const selection = page.getByRole('complementary', { name: 'Selection' });
  await expect(selection).toContainText('rank 5');
  await tabTo(page.getByRole('application', { name: /^Predicted time over/ }));
  await press(page, 'ArrowRight', 'ArrowUp', 'Enter');
  await expect(selection).not.toContainText('rank 5;');

  await keys.press('4');
  await expect(page.getByText('2 devices, each at its best predicted design')).toBeVisible();
  await expect(page.getByRole('combobox', { name: 'Reference: GeForce RTX 4090' })).toBeVisible();
  await keys.press('ArrowRight');
  await expect(page.getByRole('combobox', { name: /^Reference: A100/ })).toBeVisible();

  await keys.press('8');
  const save = page.getByRole('button', { name: /^Save / });
  await expect(save).toBeEnabled();
  await tabTo(save);
  const saving = page.waitForEvent('download');
  await keys.press('Enter');
  expectReport(await textOf(await saving), 'RTX 4090');
});

// A new user needs few actions from a file to an answer. Each step below is one action: a dropped file, a click, a key.
// wayfinding.slow.test.ts does the same from a table of lengths.

test('from a sparse matrix to the kernel to write in 4 actions', async ({ page, own }) => {
  await open(page, own);
  const matrix = readFileSync(join(ROOT, 'test/data/matrices/1138_bus.mtx'));
  await steps.drop(page.getByRole('main'), '1138_bus.mtx', matrix);
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
  await steps.drop(page.getByRole('main'), 'spmv.cu', source);
  await page.getByRole('button', { name: /^Import \d+ fields/ }).click({ timeout: 120_000 });
  const profile = page.getByRole('region', { name: 'Kernel profile' });
  await expect(profile.getByRole('button', { name: /^Instructions per iteration.*imported/i })).toBeVisible();
  const answer = page.getByRole('region', { name: 'Recommendation' });
  await expect(answer.getByRole('button', { name: /^Copy header/ })).toBeEnabled({ timeout: 120_000 });
});
