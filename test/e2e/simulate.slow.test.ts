import { expect, open, test } from './fixtures/browser.ts';
import { predicted, rankRows, smallStudy } from './fixtures/page.ts';

test('the key S simulates designs, the ranking sorts them, and T shows one over time', async ({ page, own }) => {
  // In this window, the list has room for two more rows than are simulated.
  await page.setViewportSize({ width: 1440, height: 900 });
  await open(page, own);
  await predicted(page, 1);
  await smallStudy(page, [1, 2, 4], 8192);
  await page.keyboard.press('3');
  await rankRows(page).first().click();
  const order = page.getByRole('combobox', { name: /^Sorted by/ });
  await expect(order).toContainText('predicted');
  await page.keyboard.press('s');
  // All twenty rows get a simulated time, and the next row has none.
  const rows = rankRows(page);
  await expect(rows.nth(20)).toContainText('not run');
  for (const at of [0, 19]) await expect(rows.nth(at)).not.toContainText('not run', { timeout: 120_000 });
  const inspector = page.getByRole('complementary', { name: 'Selected design' });
  await expect(inspector.getByRole('row', { name: /^95 % interval [\d.]+.* to [\d.]+.*, \d+ seeds$/ })).toBeVisible();
  const names = () => rows.getByRole('gridcell').and(page.locator('[aria-colindex="1"]')).allTextContents();
  const byPrediction = await names();
  await order.click();
  await page.getByRole('option', { name: /simulated/i }).click();
  await expect(page).toHaveURL(/sort=simulatedMs/);
  // The old rows stay until the engine has sorted the list.
  await expect.poll(names).not.toEqual(byPrediction);
  // The baseline is simulated together with the rows, perhaps only after the list was sorted.
  await expect(rows.nth(19)).not.toContainText('not run');
  await expect(rows.nth(21)).toContainText('not run');

  // Later results appear in their rows, but rows move only when the user sorts again.
  const before = (await names()).slice(0, 20);
  await page.keyboard.press('s');
  const again = page.getByRole('button', { name: /^Sort again/ });
  await expect(again).toBeVisible({ timeout: 120_000 });
  await expect(rows.nth(21)).not.toContainText('not run', { timeout: 120_000 });
  expect((await names()).slice(0, 20)).toEqual(before);
  await page.keyboard.press('Escape');
  await expect(page.getByRole('button', { name: 'Cancel', exact: true })).toBeHidden();
  await page.keyboard.press('r');
  await expect(again).toBeHidden();

  await rankRows(page).nth(2).click();
  await page.keyboard.press('t');
  const sheet = page.getByRole('dialog');
  await expect(sheet.getByText(/^Replication 1: the kernel takes [\d.,]+/)).toBeVisible({ timeout: 120_000 });
  await page.keyboard.press('Escape');
  await expect(sheet).toBeHidden();
  await expect(page).not.toHaveURL(/timeline/);
});
