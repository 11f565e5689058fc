import { expect, open, test } from './fixtures/browser.ts';
import { predicted, tabTo } from './fixtures/page.ts';

// The parallel coordinates of the landscape, by keyboard.

test('keys move the ends of an axis, and Escape clears its selection', async ({ page, host }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await open(page, host);
  await predicted(page, 1);
  await page.keyboard.press('2');
  const ranges = page.getByRole('group', { name: /^Ranges of the axes/ });
  const ends = ranges.getByRole('slider');
  await tabTo(ends.first());
  // Tab stops once for all handles together, and the arrow keys move between them.
  await expect(ranges.locator('[tabindex="0"]')).toHaveCount(1);
  const block = ranges.getByRole('slider', { name: 'Block size, lower end' });
  for (let i = 0; i < 12 && !(await block.evaluate((end) => end === document.activeElement)); i += 1)
    await page.keyboard.press('ArrowRight');
  await expect(block).toBeFocused();
  await expect(block).toHaveAttribute('aria-valuetext', '32');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowUp');
  await expect(block).toHaveAttribute('aria-valuetext', '96');
  const chip = page.getByRole('button', { name: /^Remove the filter block size 96/ });
  await expect(chip).toBeVisible();
  await expect(page).toHaveURL(/blockThreads/);
  await expect(block).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(chip).toBeHidden();
  await expect(block).toHaveAttribute('aria-valuetext', '32');
  await expect(page).not.toHaveURL(/blockThreads/);
});
