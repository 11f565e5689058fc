import type { Page } from '@playwright/test';
import { expect, open, startHost, test } from './fixtures/browser.ts';
import { predicted, statusBar } from './fixtures/page.ts';

// Two windows on one store agree without a reload: on one host, and on two processes with one database file.

const rail = (page: Page) => page.getByRole('navigation', { name: 'Views' });

async function rename(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Details' }).click();
  await page.getByRole('textbox', { name: 'Name of the study' }).fill(name);
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
}
async function command(page: Page, words: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search or run a command' }).fill(words);
  await expect(page.getByRole('option').first()).toContainText(new RegExp(`^\\s*${words}`, 'i'));
  await page.keyboard.press('Enter');
}
/** Takes a device out of the study, by keyboard: a layer that closes lets no pointer through for a moment. */
async function untick(page: Page, device: string): Promise<void> {
  await page.getByRole('checkbox', { name: device }).press('Space');
  await expect(page.getByRole('checkbox', { name: device })).not.toBeChecked();
}
/** Names in the list of studies. */
async function studies(page: Page): Promise<readonly string[]> {
  await rail(page).getByRole('button').first().click();
  const menu = page.getByRole('menu');
  await expect(menu).toBeVisible();
  const names = await menu.getByRole('menuitem').allInnerTexts();
  await page.keyboard.press('Escape');
  await expect(menu).toBeHidden();
  return names;
}
const lists = (page: Page, name: string) => async () => (await studies(page)).some((text) => text.includes(name));

/** What one does in the first window, seen in the second. */
async function expectTheyAgree(first: Page, second: Page): Promise<void> {
  // Of what is open in both.
  await rename(first, 'Acts, renamed');
  await expect(rail(second).getByRole('button', { name: /^Acts, renamed/ })).toBeVisible();
  await expect(second).toHaveTitle(/^Acts, renamed/);
  // The other window edits on top of it, and takes nothing back.
  await second.getByRole('spinbutton', { name: 'Registers per thread' }).fill('80');
  await second.keyboard.press('Enter');
  await expect(first.getByRole('spinbutton', { name: 'Registers per thread' })).toHaveValue('80');
  await expect(first).toHaveTitle(/^Acts, renamed/);

  await command(first, 'duplicate study');
  await expect(first).toHaveTitle(/^Acts, renamed copy/);
  await expect.poll(lists(second, 'Acts, renamed copy')).toBe(true);
  await command(first, 'delete study');
  await expect(statusBar(first)).toContainText('deleted');
  await expect.poll(lists(second, 'Acts, renamed copy')).toBe(false);
  await statusBar(first).getByRole('button', { name: /^Undo/ }).click();
  await expect.poll(lists(second, 'Acts, renamed copy')).toBe(true);

  // A run of the study that the second window shows, started in the first.
  await command(first, 'study: acts, renamed');
  await expect(first).toHaveTitle(/^Acts, renamed –/);
  for (const device of ['V100 SXM2 16 GB', 'A100 SXM4 40 GB', 'H100 SXM5 80 GB', 'Instinct MI250X, one GCD'])
    await untick(first, device);
  await expect(second.getByRole('checkbox', { name: 'A100 SXM4 40 GB' })).toBeHidden();
  await first.keyboard.press('Control+Enter');
  await predicted(first, 2);
  await expect(rail(second).getByRole('button', { name: /^Run 2,/ })).toBeVisible();
  await predicted(second, 2);

  // A run renamed, deleted and brought back.
  await second.keyboard.press('6');
  await first.keyboard.press('6');
  await first.getByRole('row', { name: /^Run 2, / }).click();
  const seen = second.getByRole('row', { name: /^Run 2, / });
  await expect(seen).toBeVisible();
  await command(first, 'rename run 2');
  await first.getByRole('textbox', { name: 'Name of run 2' }).fill('one device');
  await first.keyboard.press('Enter');
  await expect(seen).toHaveAccessibleName(/^Run 2, one device,/);
  await command(first, 'delete run 2');
  await expect(seen).toBeHidden();
  // The notice of the new name does not come after it, and can be undone, too.
  await expect(statusBar(first)).toContainText('deleted');
  await statusBar(first).getByRole('button', { name: /^Undo/ }).click();
  await expect(seen).toBeVisible();
}

test('two tabs of one host', async ({ page, own, complaints }) => {
  await open(page, own);
  await predicted(page, 1);
  const second = await page.context().newPage();
  await second.goto(page.url());
  await predicted(second, 1);
  await expectTheyAgree(page, second);
  expect(complaints).toEqual([]);
});

test('two processes on one database file', async ({ page, browser, own }) => {
  const other = await startHost(own.databaseFile);
  await open(page, own);
  await predicted(page, 1);
  const second = await (await browser.newContext()).newPage();
  await open(second, other);
  await predicted(second, 1);
  await expectTheyAgree(page, second);
  await second.context().close();
  await other.interrupt();
});
