import { expect, open, test } from './fixtures/browser.ts';
import { expectReport, lengths, losses, textOf, theory, unwantedDevices } from './fixtures/newcomer.ts';
import { WIDE, isOutlined, offered, predicted, rankRows, readCount, statusBar, tabTo } from './fixtures/page.ts';

// The first use of Lockstep with the keyboard only. newcomer.test.ts does the same by pointer.

test.use({ viewport: WIDE });

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
  await expect(statusBar(page)).toContainText('Baseline pinned');

  await keys.press('/');
  const form = page.getByRole('dialog', { name: 'Filter' });
  await expect(form).toBeVisible();
  const one = form.getByRole('group', { name: 'Threads per unit' }).getByRole('button', { name: '1', exact: true });
  if (!(await one.evaluate((element) => element === document.activeElement))) await tabTo(one);
  await keys.press('Space');
  await keys.press('Escape');
  await expect(form).toBeHidden();
  const chips = page.getByRole('group', { name: 'Filter', exact: true });
  await expect.poll(async () => readCount((await chips.locator('.hint').textContent())!)).toBeLessThan(fewer);
  const command = async (words: string) => {
    const palette = page.getByRole('combobox', { name: 'Search or run a command' });
    await keys.press('Control+k');
    await expect(palette).toBeFocused();
    await keys.type(words);
    await keys.press('Enter');
    // The palette takes the next key until it has closed.
    await expect(palette).toBeHidden();
  };
  await command('sort by waves');
  await expect(page.getByRole('combobox', { name: 'Sorted by: waves' })).toBeVisible();
  await command('sort by predicted');
  await command('clear the filter');
  await expect(chips).toBeHidden();

  await keys.press('l');
  const selection = page.getByRole('complementary', { name: 'Selection' });
  await expect(selection).toContainText('rank 5');
  await tabTo(page.getByRole('application', { name: /^Predicted time over/ }));
  await keys.press('ArrowRight');
  await keys.press('ArrowUp');
  await keys.press('Enter');
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
