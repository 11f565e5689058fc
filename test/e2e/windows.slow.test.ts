import type { Page } from '@playwright/test';
import { expect, open, startHost, test } from './fixtures/browser.ts';
import type { Host } from './fixtures/host.ts';
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
  // The dialog has the focus, and takes the next key, until it has closed.
  await expect(page.getByRole('combobox', { name: 'Search or run a command' })).toBeHidden();
}
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

/** Opens the smallest of the examples. */
async function openSmall(page: Page, host: Host): Promise<void> {
  await open(page, host);
  await command(page, 'study: any machine');
  await expect(page).toHaveTitle(/^Any machine –/);
}

async function expectEditsAgree(first: Page, second: Page): Promise<void> {
  await expect(second).toHaveTitle(/^Any machine –/);
  await rename(first, 'Shared');
  await expect(rail(second).getByRole('button', { name: /^Shared/ })).toBeVisible();
  await expect(second).toHaveTitle(/^Shared –/);
  await second.getByRole('spinbutton', { name: 'Registers per thread' }).fill('80');
  for (const key of ['Enter', 'Escape']) await second.keyboard.press(key);
  await expect(first.getByRole('spinbutton', { name: 'Registers per thread' })).toHaveValue('80');
  await expect(first).toHaveTitle(/^Shared –/);
}

async function expectStudiesAgree(first: Page, second: Page): Promise<void> {
  await command(first, 'duplicate study');
  await expect(first).toHaveTitle(/^Shared copy –/);
  await expect.poll(lists(second, 'Shared copy')).toBe(true);
  await command(first, 'delete study');
  await expect(statusBar(first)).toContainText('deleted');
  await expect.poll(lists(second, 'Shared copy')).toBe(false);
  await statusBar(first).getByRole('button', { name: /^Undo/ }).click();
  await expect.poll(lists(second, 'Shared copy')).toBe(true);
  await command(first, 'study: shared');
  await expect(first).toHaveTitle(/^Shared –/);
}

async function expectRunsAgree(first: Page, second: Page): Promise<void> {
  await first.keyboard.press('Control+Enter');
  await predicted(first, 2);
  await expect(rail(second).getByRole('button', { name: /^Run 2,/ })).toBeVisible();
  await predicted(second, 2);
}

async function expectHistoriesAgree(first: Page, second: Page): Promise<void> {
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
  // Waits for the notice of the deletion, because the notice of the new name has a button Undo too.
  await expect(statusBar(first)).toContainText('deleted');
  await statusBar(first).getByRole('button', { name: /^Undo/ }).click();
  await expect(seen).toBeVisible();
}

test('two tabs of one host', async ({ page, own }) => {
  await openSmall(page, own);
  const second = await page.context().newPage();
  await second.goto(page.url());
  await expectEditsAgree(page, second);
  await expectStudiesAgree(page, second);
  await expectRunsAgree(page, second);
  await expectHistoriesAgree(page, second);
});

// Between two processes the only message is that the file has changed, so an edit and a run are enough to test.
test('two processes on one database file', async ({ page, browser, own }) => {
  const other = await startHost(own.databaseFile);
  await openSmall(page, own);
  const second = await (await browser.newContext()).newPage();
  await open(second, other, new URL(page.url()).hash);
  await expectEditsAgree(page, second);
  await expectRunsAgree(page, second);
  await second.context().close();
  await other.interrupt();
});
