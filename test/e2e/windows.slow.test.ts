import type { Page } from '@playwright/test';
import { expect, open, startHost, test } from './fixtures/browser.ts';
import { enter, predicted, press, statusBar } from './fixtures/page.ts';

// Two windows on one store agree without a reload: on one host, and on two processes with one database file.

const rail = (page: Page) => page.getByRole('navigation', { name: 'Views' });

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
/** Renames the study in the first window, and at the same time sets its registers in the second one. */
async function expectEditsAgree(first: Page, second: Page, name: string, registers: string): Promise<void> {
  await expect(second).not.toHaveTitle(new RegExp(`^${name} –`));
  await first.getByRole('button', { name: 'Details' }).click();
  await first.getByRole('textbox', { name: 'Name of the study' }).fill(name);
  await second.getByRole('spinbutton', { name: 'Registers per thread' }).fill(registers);
  await Promise.all([press(first, 'Enter', 'Escape'), press(second, 'Enter', 'Escape')]);
  await expect(rail(second).getByRole('button', { name: new RegExp(`^${name} `) })).toBeVisible();
  await expect(second).toHaveTitle(new RegExp(`^${name} –`));
  await expect(first.getByRole('spinbutton', { name: 'Registers per thread' })).toHaveValue(registers);
  await expect(first).toHaveTitle(new RegExp(`^${name} –`));
}

async function expectRunsAgree(first: Page, second: Page, runId: number): Promise<void> {
  await first.keyboard.press('Control+Enter');
  await predicted(first, runId);
  await expect(rail(second).getByRole('button', { name: new RegExp(`^Run ${runId},`) })).toBeVisible();
  await predicted(second, runId);
}

test('two tabs of one host agree, and so does another process on the same database', async ({ page, browser, own }) => {
  // This is the smallest of the examples.
  await open(page, own);
  await command(page, 'study: any machine');
  await expect(page).toHaveTitle(/^Any machine –/);
  const tab = await page.context().newPage();
  await tab.goto(page.url());
  await expectEditsAgree(page, tab, 'Shared', '80');

  const isListed = async () => (await studies(tab)).some((text) => text.includes('Shared copy'));
  const undo = statusBar(page).getByRole('button', { name: /^Undo/ });
  await command(page, 'duplicate study');
  await expect(page).toHaveTitle(/^Shared copy –/);
  await expect.poll(isListed).toBe(true);
  await command(page, 'delete study');
  await expect(statusBar(page)).toContainText('deleted');
  await expect.poll(isListed).toBe(false);
  await undo.click();
  await expect.poll(isListed).toBe(true);
  await command(page, 'study: shared');
  await expect(page).toHaveTitle(/^Shared –/);

  await expectRunsAgree(page, tab, 2);
  await tab.keyboard.press('6');
  await page.keyboard.press('6');
  await page.getByRole('row', { name: /^Run 2, / }).click();
  const seen = tab.getByRole('row', { name: /^Run 2, / });
  await expect(seen).toBeVisible();
  await command(page, 'rename run 2');
  await enter(page.getByRole('textbox', { name: 'Name of run 2' }), 'one device');
  await expect(seen).toHaveAccessibleName(/^Run 2, one device,/);
  await command(page, 'delete run 2');
  await expect(seen).toBeHidden();
  // Waits for the notice of the deletion, because the notice of the new name has a button Undo too.
  await expect(statusBar(page)).toContainText('deleted');
  await undo.click();
  await expect(seen).toBeVisible();
  await tab.close();

  // Between two processes the only message is that the file has changed, so an edit and a run are enough to test.
  const other = await startHost(own.databaseFile);
  await page.keyboard.press('1');
  const window = await (await browser.newContext()).newPage();
  await open(window, other, new URL(page.url()).hash);
  await expectEditsAgree(page, window, 'Common', '96');
  await expectRunsAgree(page, window, 3);
  await window.context().close();
  await other.interrupt();
});
