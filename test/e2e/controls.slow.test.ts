import { expect, open, test } from './fixtures/browser.ts';
import { predicted, statusBar } from './fixtures/page.ts';

const SMALL = { width: 900, height: 700 };

test('in a narrow window, popovers stay inside, Tab continues after them, and menus remain', async ({ page, host }) => {
  await page.setViewportSize(SMALL);
  await open(page, host);
  const button = page.getByRole('button', { name: /^Balancing: / });
  await button.scrollIntoViewIfNeeded();
  await button.click();
  const popover = page.getByRole('dialog', { name: 'Balancing strategies' });
  const first = popover.getByRole('checkbox').first();
  await expect(first).toBeFocused();
  const box = (await popover.boundingBox())!;
  expect(box.y).toBeGreaterThanOrEqual(0);
  expect(box.y + box.height).toBeLessThanOrEqual(SMALL.height);
  await page.keyboard.press('Shift+Tab');
  await expect(popover).toBeHidden();
  await expect(button).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(first).toBeFocused();
  await popover.getByRole('checkbox').last().focus();
  await page.keyboard.press('Tab');
  await expect(popover).toBeHidden();
  await expect(page.getByRole('table', { name: 'Axes' }).getByLabel(/^Loop/)).toBeFocused();
  // The clicked element gets the focus when the popover closes.
  await button.click();
  await expect(first).toBeFocused();
  const other = page.getByRole('radio', { name: 'File' });
  await other.click();
  await expect(popover).toBeHidden();
  await expect(other).toBeFocused();

  await page.getByRole('button', { name: 'Menu', exact: true }).click();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  await expect(page.getByRole('menuitem', { name: /^Import lengths from a file/ })).toBeVisible();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await statusBar(page).getByRole('button', { name: 'saved' }).click();
  await expect(page.getByRole('dialog')).toContainText(host.databaseFile);
});

test('an unticked device keeps its row after a reload, and the guide shows chosen devices', async ({ page, own }) => {
  await open(page, own);
  const rows = page.getByRole('table', { name: 'Devices of the study' }).getByRole('checkbox');
  const names = () => rows.evaluateAll((boxes) => boxes.map((box) => box.getAttribute('aria-label')));
  await expect(rows.nth(1)).toBeVisible();
  const before = await names();
  await rows.nth(1).click();
  await expect(rows.nth(1)).not.toBeChecked();
  expect(await names()).toEqual(before);
  await expect(page.getByText(/, saved$/)).toBeVisible();
  await page.reload();
  await expect(rows.nth(1)).not.toBeChecked();
  expect(await names()).toEqual(before);
  await page.getByRole('button', { name: `Take ${before[1]} off the list` }).click();
  await expect(rows).toHaveCount(before.length - 1);

  // The guide lists its devices in one scrolling element. The chosen devices are visible.
  await page.setViewportSize(SMALL);
  await page.keyboard.press('Control+k');
  await page.keyboard.type('Go through the open study');
  await page.keyboard.press('Enter');
  const guide = page.getByRole('dialog', { name: 'New study' });
  await guide.getByRole('button', { name: '3. Device' }).click();
  const chosen = guide.getByRole('checkbox', { checked: true });
  await expect(chosen).not.toHaveCount(0);
  for (const box of await chosen.all()) await expect(box).toBeInViewport();
  const scrolled = await guide.evaluate(
    (sheet) =>
      [...sheet.querySelectorAll('*')].filter((element) => {
        const { overflowX, overflowY } = getComputedStyle(element);
        const scrolls = (overflow: string, over: boolean) => over && /auto|scroll/.test(overflow);
        return (
          scrolls(overflowY, element.scrollHeight > element.clientHeight) ||
          scrolls(overflowX, element.scrollWidth > element.clientWidth)
        );
      }).length,
  );
  expect(scrolled).toBe(1);
  // The row of the device must stay under the pointer.
  const name = (await chosen.first().getAttribute('aria-label'))!;
  const row = guide.getByRole('checkbox', { name, exact: true });
  const { y } = (await row.boundingBox())!;
  await row.click();
  await expect(row).not.toBeChecked();
  expect((await row.boundingBox())!.y).toBe(y);
});

test('Settings focuses its first choice, the palette a field, and About shows the licences', async ({ page, host }) => {
  await open(page, host, '#/runs');
  await page.keyboard.press('Control+,');
  await expect(page.getByRole('radiogroup', { name: 'Theme' }).getByRole('radio', { checked: true })).toBeFocused();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('kappa');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('spinbutton', { name: 'Cooperation step' })).toBeFocused();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('About Lockstep');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Show their licences' }).click();
  const text = page.getByLabel('Licences of the packages in the page');
  for (const name of ['svelte', 'echarts', '@fontsource-variable/inter'])
    await expect(text).toContainText(`## ${name} - `);
});

test('runs have a menu by pointer and by keyboard, a bin, and a comparison', async ({ page, own }) => {
  await open(page, own, '#/runs');
  const run = page.getByRole('row', { name: /^Run 1, / });
  await expect(run).toContainText('first run');
  await run.click({ button: 'right' });
  const menu = page.getByRole('menu');
  await expect(menu.getByRole('menuitem', { name: /^Open run 1 in Ranking/ })).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(menu).toBeHidden();
  await expect(page.getByRole('grid', { name: 'Runs' })).toBeFocused();
  await page.keyboard.press('Shift+F10');
  await menu.getByRole('menuitem', { name: /^Rename run 1/ }).press('Enter');
  await expect(page.getByRole('textbox', { name: 'Name of run 1' })).toBeFocused();
  await page.keyboard.press('Escape');

  await run.click();
  await page.keyboard.press('Delete');
  await expect(run).toBeHidden();
  const bin = page.getByText(/^1 deleted run in the bin, about [\d.]+\s[kM]B\./);
  await expect(bin).toBeVisible();
  await page.keyboard.press('Control+z');
  await expect(run).toBeVisible();
  await expect(bin).toBeHidden();
  await run.click();
  await page.keyboard.press('Delete');
  await bin.getByRole('button', { name: 'Empty bin…' }).press('Enter');
  const sheet = page.getByRole('dialog', { name: 'Empty the bin' });
  await expect(sheet).toContainText('This removes 1 deleted run for good');
  await sheet.getByRole('button', { name: 'Cancel' }).press('Enter');
  await expect(bin).toBeVisible();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('empty the bin');
  await page.keyboard.press('Enter');
  await sheet.getByRole('button', { name: 'Remove for good' }).press('Enter');
  await expect(statusBar(page)).toContainText(/Removed 1 run for good; the database is [\d.]+\s[kM]B smaller/);
  await expect(bin).toBeHidden();
  await expect(sheet).toBeHidden();
  await page.reload();
  await expect(page.getByText('No runs yet')).toBeVisible();

  await page.keyboard.press('1');
  await page.keyboard.press('Control+Enter');
  await predicted(page, 2);
  const sigma = page.getByRole('spinbutton', { name: /serial/i }).first();
  await sigma.fill('0.0476190476');
  await sigma.press('Enter');
  await page.keyboard.press('Control+Enter');
  await predicted(page, 3);
  await page.keyboard.press('6');
  await page.getByRole('grid', { name: 'Runs' }).getByRole('row').first().click();
  const detail = page.getByRole('complementary', { name: 'Run 3' });
  // Run 3 has another kernel than run 2, so its best time is not shown as progress.
  await expect(detail.getByText('Changed since run 2')).toBeVisible();
  await expect(detail.getByRole('figure', { name: /^Best times of the runs/ })).toBeHidden();
  await detail.getByRole('button', { name: 'Compare with run 2' }).click();
  const diff = page.getByRole('complementary', { name: 'Comparison of two runs' });
  await expect(diff).toContainText('Serial fraction σ');
  await expect(diff).toContainText('0.04762');
});
