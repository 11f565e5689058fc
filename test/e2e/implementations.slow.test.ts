import { expectAccessible } from './fixtures/accessible.ts';
import { expect, open, test } from './fixtures/browser.ts';
import { enter, offered, predicted, rankRows, smallStudy } from './fixtures/page.ts';

test('a second implementation is added, predicted, ranked, compared and removed', async ({ page, own }) => {
  await open(page, own);
  await smallStudy(page);
  await page.keyboard.press('1');
  const before = await offered(page);
  const list = page.getByRole('radiogroup', { name: 'Implementation that is edited' });
  await expect(list).toHaveCount(0);
  const profile = page.getByRole('region', { name: 'Kernel profile' });
  await profile.getByRole('button', { name: 'Add an implementation' }).click();
  await expect(list.getByRole('radio')).toHaveCount(3);
  const edited = list.getByRole('radio', { checked: true });
  await expect(edited).toHaveAccessibleName(/^propagate 2/);
  await expect.poll(() => offered(page)).toBe(2 * before);

  const name = profile.getByRole('textbox', { name: 'Name of the implementation' });
  await expect(name).toBeFocused();
  await name.fill('propagate');
  await expect(profile.getByText('Another implementation is named propagate')).toBeVisible();
  await enter(name, 'one thread');
  const instructions = profile.getByRole('spinbutton', { name: 'Instructions per iteration' });
  await enter(instructions, '280');
  const threads = profile.getByRole('textbox', { name: 'Threads per unit that the implementation allows' });
  await threads.fill('3');
  await expect(profile.getByText('3 is not a value of this axis in the study')).toBeVisible();
  await enter(threads, '1');
  await expect(edited).toHaveAccessibleName(/^one thread.*1 own value, 1 axis narrowed/);
  await expect.poll(() => offered(page)).toBeLessThan(2 * before);

  // The implementation keeps the value that was set for it. The other implementation uses the value of the study.
  await edited.press('ArrowUp');
  await expect(edited).toHaveAccessibleName(/^propagate/);
  await expect(instructions).toHaveValue('560');
  await expectAccessible(page, 'study with two implementations', 'main');

  await page.keyboard.press('Control+Enter');
  await predicted(page, 3);
  await page.keyboard.press('3');
  await expect(rankRows(page).filter({ hasText: 'one thread' }).first()).toBeVisible();
  await page.keyboard.press('4');
  const table = page.getByRole('table', { name: 'Which kernel to write' });
  await expect(table.getByRole('row', { name: /^propagate/ })).toContainText('fastest');
  await expect(table.getByRole('row', { name: /^one thread/ })).toContainText(/\+\d+ %/);

  await page.keyboard.press('5');
  const replaced = /^Run 3 has 2 implementations, but the measurement replaces .*: propagate/;
  await expect(page.getByText(replaced)).toBeVisible();

  await page.keyboard.press('1');
  await list.getByRole('radio', { name: /^one thread/ }).click();
  await page.keyboard.press('Delete');
  await expect(list).toHaveCount(0);
  await expect(profile.getByRole('button', { name: 'Add an implementation' })).toBeFocused();
  await expect.poll(() => offered(page)).toBe(before);
  await page.keyboard.press('Control+z');
  await expect(list.getByRole('radio')).toHaveCount(3);
});
