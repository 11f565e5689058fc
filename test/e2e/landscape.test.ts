import { expect, open, test } from './fixtures/browser.ts';
import { predicted } from './fixtures/page.ts';

/** Opens an example by its name, predicts it, and shows its landscape. */
async function landscapeOf(page: Parameters<typeof open>[0], name: string, runId: number): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.keyboard.type(name);
  await page.getByRole('option', { name: new RegExp(`^Study: .*${name}`) }).click();
  await expect(page).toHaveTitle(new RegExp(name));
  await page.keyboard.press('Control+Enter');
  await predicted(page, runId);
  await page.keyboard.press('2');
}

test('a map has the launches of its device, a CPU is at its own best, and two launches of one number stay separate', async ({
  page,
  own,
  complaints,
}) => {
  await open(page, own);
  await landscapeOf(page, 'on CPUs and a GPU', 2);
  const map = page.getByRole('application', { name: /^Predicted time over/ });
  await expect(map).toHaveAccessibleName(/over block size, threads and units per slot/);
  await page.getByRole('combobox', { name: /^Device: / }).click();
  await page.getByRole('option', { name: 'Grace GH200' }).click();
  await expect(map).toHaveAccessibleName(/over block size, threads and cores; best 0\.\d+\sms/);
  const numbers = page.getByRole('table', { name: 'The design against the baseline' });
  await expect(numbers.getByRole('row', { name: /^Launch \d+ cores? / })).toBeVisible();

  await landscapeOf(page, 'Mandelbrot', 3);
  await expect(map).toHaveAccessibleName(/over block size, threads and launch/);
  await page.getByRole('radio', { name: 'Slices' }).click();
  const launches = page.getByRole('region', { name: 'Along launch' });
  await expect(launches.getByText('1/SM', { exact: true })).toBeVisible();
  await expect(launches.getByText(/^1\/s/)).toBeVisible();
  expect(complaints).toEqual([]);
});
