import { expect, open, test } from './fixtures/browser.ts';
import { command, enter, predicted, press, rankRows, statusBar } from './fixtures/page.ts';

const SMALL = { width: 900, height: 700 };

test('what opens over a view takes and gives back the focus in a narrow window', async ({ page, host }) => {
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
  await press(page, 'ArrowDown', 'ArrowRight');
  await expect(page.getByRole('menuitem', { name: /^Import lengths from a file/ })).toBeVisible();
  await press(page, 'Escape', 'Escape');
  await statusBar(page).getByRole('button', { name: 'saved' }).click();
  await expect(page.getByRole('dialog')).toContainText(host.databaseFile);

  await press(page, 'Escape', '6', 'Control+,');
  await expect(page.getByRole('radiogroup', { name: 'Theme' }).getByRole('radio', { checked: true })).toBeFocused();
  await page.keyboard.press('Escape');
  await command(page, 'kappa');
  await expect(page.getByRole('spinbutton', { name: 'Cooperation step' })).toBeFocused();
  await page.keyboard.press('Escape');
  await command(page, 'About Lockstep');
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

  await page.keyboard.press('1');
  await enter(page.getByRole('spinbutton', { name: /serial/i }).first(), '0.0476190476');
  await page.keyboard.press('Control+Enter');
  await predicted(page, 2);
  await page.keyboard.press('6');
  await page.getByRole('grid', { name: 'Runs' }).getByRole('row').first().click();
  const detail = page.getByRole('complementary', { name: 'Run 2' });
  // Run 2 has another kernel than run 1, so its best time is not shown as progress.
  await expect(detail.getByText('Changed since run 1')).toBeVisible();
  await expect(detail.getByRole('figure', { name: /^Best times of the runs/ })).toBeHidden();
  await detail.getByRole('button', { name: 'Compare with run 1' }).click();
  const diff = page.getByRole('complementary', { name: 'Comparison of two runs' });
  await expect(diff.getByRole('heading', { name: 'From run 1 to run 2' })).toBeVisible();
  await expect(diff).toContainText('Serial fraction σ');
  await expect(diff).toContainText('0.04762');

  await run.click();
  await page.keyboard.press('Delete');
  await expect(run).toBeHidden();
  const bin = page.getByText(/^1 deleted run in the bin, about [\d.]+\s[kM]B\./);
  await expect(bin).toBeVisible();
  await page.keyboard.press('Control+z');
  await expect(run).toBeVisible();
  await expect(bin).toBeHidden();
  for (const row of [run, page.getByRole('row', { name: /^Run 2, / })]) {
    await row.click();
    await page.keyboard.press('Delete');
    await expect(row).toBeHidden();
  }
  const full = page.getByText(/^2 deleted runs in the bin/);
  await full.getByRole('button', { name: 'Empty bin…' }).press('Enter');
  const sheet = page.getByRole('dialog', { name: 'Empty the bin' });
  await expect(sheet).toContainText('This removes 2 deleted runs for good');
  await sheet.getByRole('button', { name: 'Cancel' }).press('Enter');
  await expect(full).toBeVisible();
  await command(page, 'empty the bin');
  await sheet.getByRole('button', { name: 'Remove for good' }).press('Enter');
  await expect(statusBar(page)).toContainText(/Removed 2 runs for good; the database is [\d.]+\s[kM]B smaller/);
  await expect(full).toBeHidden();
  await expect(sheet).toBeHidden();
  await page.reload();
  await expect(page.getByText('No runs yet')).toBeVisible();
});

test('a view that a key opened can be used by keys at once', async ({ page, host }) => {
  await open(page, host);
  await predicted(page, 1);
  // A focused button's tooltip disappears together with its view.
  await page.getByRole('radio', { name: 'File' }).click();
  await page.getByRole('radio', { name: 'File' }).focus();
  for (const key of ['2', '3', '1']) await page.keyboard.press(key);
  await expect(page.getByRole('heading', { name: 'Study', level: 1 })).toBeVisible();
  // One key focuses several number fields at the same moment.
  const fields = page.getByRole('spinbutton');
  await expect(fields.nth(1)).toBeVisible();
  await fields.evaluateAll(([first, second]) => {
    first.focus();
    second.focus();
  });
  await expect(fields.nth(1)).toBeFocused();
  await page.keyboard.press('Escape');

  // A key focuses each of the far panels of the study. Escape leaves a field, so that letters are commands again.
  for (const [key, control] of [
    ['a', page.getByRole('textbox', { name: 'Values of Threads per unit' })],
    ['d', page.getByRole('checkbox', { name: 'V100 SXM2 16 GB' })],
    ['k', page.getByRole('spinbutton', { name: 'Registers per thread' })],
  ] as const) {
    await page.keyboard.press(key);
    await expect(control).toBeFocused();
    await page.keyboard.press('Escape');
  }
  await page.keyboard.press('3');
  await expect(page.getByRole('grid', { name: 'Designs, ranked' })).toBeFocused();
  await page.keyboard.press('6');
  await expect(page.getByRole('grid', { name: 'Runs' })).toBeFocused();
  await page.keyboard.press('ArrowDown');
  await expect(page.getByRole('complementary', { name: /^Run 1/ })).toBeVisible();
  for (const [key, view] of Object.entries({ 4: 'Compare', 7: 'Models' })) {
    await page.keyboard.press(key);
    await expect(page.getByRole('heading', { name: view, level: 1 })).toBeVisible();
    await expect(page.getByRole('main')).toBeFocused();
    await page.keyboard.press('Tab');
    await expect(page.getByRole('main').locator(':focus')).toBeVisible();
  }
});

test('undo in a field that was just entered undoes the last edit, not the text of the field before', async ({
  page,
  own,
}) => {
  await open(page, own);
  await page.getByRole('button', { name: /^Advanced/ }).click();
  const profile = page.getByRole('region', { name: 'Kernel profile' });
  const spill = profile.getByRole('spinbutton', { name: 'Spill cost' });
  const assumed = profile.getByRole('button', { name: /^Spill cost.*assumed/i });
  const before = await spill.inputValue();
  await expect(assumed).toBeVisible();
  await spill.fill('16');
  const next = profile.getByRole('spinbutton', { name: 'Size of a unit' });
  await next.focus();
  await expect(profile.getByRole('button', { name: /^Spill cost.*given/i })).toBeVisible();
  // The browser undoes text that is not an edit yet. With the focus elsewhere, the study's undo drops such a text.
  const size = await next.inputValue();
  await page.keyboard.type('7');
  await page.keyboard.press('Control+z');
  await expect(next).toHaveValue(size);
  await expect(spill).toHaveValue('16');
  await next.fill('x');
  await spill.focus();
  for (let i = 0; i < 3; i++) {
    await page.keyboard.press('Control+z');
    await expect(spill).toHaveValue(before);
    await expect(next).toHaveValue(size);
    await page.keyboard.press('Escape');
  }
  await expect(assumed).toBeVisible();
  await page.keyboard.press('Control+Shift+z');
  await expect(spill).toHaveValue('16');
});

test('rows get their bars even if the engine answers slowly', async ({ page, host }) => {
  // The delay is longer than the list waits for details, so the neighbouring rows are still loading.
  await page.routeWebSocket(/./, (socket) => {
    socket.connectToServer().onMessage((message) => void setTimeout(() => socket.send(message), 250));
  });
  await open(page, host, '#/ranking');
  await expect(rankRows(page).nth(5).getByRole('img').first()).toBeVisible();
});
