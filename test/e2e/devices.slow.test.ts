import { expect, open, test } from './fixtures/browser.ts';
import { command, enter, offered, statusBar } from './fixtures/page.ts';

test('a user describes, uses, deletes and unticks devices, and the guide shows those chosen', async ({ page, own }) => {
  await open(page, own);
  await page.keyboard.press('1');
  const count = await offered(page);
  const devices = page.getByRole('region', { name: 'Devices' });
  const picker = page.getByRole('dialog', { name: 'Choose devices' });
  await devices.getByRole('button', { name: 'Add' }).click();
  await picker.getByRole('button', { name: 'Describe a device…' }).click();
  const form = page.getByRole('dialog', { name: 'Describe a device' });
  const field = (name: string) => form.getByRole('spinbutton', { name });
  const save = form.getByRole('button', { name: 'Save and add to the study' });
  await form.getByRole('textbox', { name: 'Name of the device' }).fill('Half a V100');
  await field('SMs').fill('40');
  // Resizing the window moves the panels, but must not close the form.
  await page.setViewportSize({ width: 900, height: 900 });
  await expect(page.getByRole('separator', { name: 'Width of devices and axes' })).toHaveCount(0);
  await page.setViewportSize({ width: 1440, height: 900 });
  await expect(form.getByRole('textbox', { name: 'Name of the device' })).toHaveValue('Half a V100');
  await form.getByRole('combobox', { name: /^Occupancy rules/ }).click();
  await page.getByRole('option', { name: 'none' }).click();
  await field('Resident warps').fill('1');
  await save.click();
  await expect(form.getByText('must be at most the 32 threads that a multiprocessor holds, not 1024')).toBeVisible();
  const cache = field('Last-level cache');
  await expect(cache).toHaveValue('6');
  await expect(cache).toHaveAttribute('aria-valuetext', '6\u00a0MiB');
  await enter(cache, '50');
  await expect(form.getByText('“50” has no unit. Enter 50 MiB or 50 B')).toBeVisible();
  await enter(cache, '50 MiB');
  await expect(cache).toHaveValue('50\u00a0MiB');
  await field('Resident warps').fill('64');
  await save.click();
  await expect(form).toBeHidden();

  await expect(devices.getByRole('checkbox', { name: 'Half a V100' })).toBeChecked();
  await expect.poll(() => offered(page)).toBeGreaterThan(count);

  await devices.getByRole('button', { name: 'Add' }).click();
  await picker.getByRole('button', { name: 'Change Half a V100' }).click();
  const saved = page.getByRole('dialog', { name: 'Half a V100' });
  const kept = saved.getByRole('spinbutton', { name: 'Last-level cache' });
  await expect(kept).toHaveAttribute('aria-valuenow', String(50 * 1024 * 1024));
  await saved.getByRole('button', { name: 'Delete' }).click();
  await expect(statusBar(page)).toContainText('Half a V100 deleted');
  await statusBar(page).getByRole('button', { name: /Undo/ }).click();
  await devices.getByRole('button', { name: 'Add' }).click();
  await expect(picker.getByRole('button', { name: 'Change Half a V100' })).toBeVisible();

  // The search text names a slice of this device with 66 multiprocessors.
  const search = picker.getByRole('textbox', { name: 'Search devices' });
  await enter(search, 'h100 sxm5 80 :66:slice');
  await page.keyboard.press('Escape');
  await expect(devices.getByRole('checkbox', { name: 'H100 SXM5 80 GB (66 of 132 SMs, slice)' })).toBeChecked();

  // An unticked device keeps its row after a reload.
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
  await page.setViewportSize({ width: 900, height: 700 });
  await command(page, 'Go through the open study');
  const guide = page.getByRole('dialog', { name: 'New study' });
  await guide.getByRole('button', { name: '3. Device' }).click();
  const chosen = guide.getByRole('checkbox', { checked: true });
  await expect(chosen).not.toHaveCount(0);
  for (const box of await chosen.all()) await expect(box).toBeInViewport();
  const scrolled = await guide.locator('*').evaluateAll((elements) =>
    elements.filter((element) => {
      const { overflowX, overflowY } = getComputedStyle(element);
      const [isTall, isWide] = [element.scrollHeight > element.clientHeight, element.scrollWidth > element.clientWidth];
      return (isTall && /auto|scroll/.test(overflowY)) || (isWide && /auto|scroll/.test(overflowX));
    }),
  );
  expect(scrolled).toHaveLength(1);
  // The row of the device must stay under the pointer.
  const name = (await chosen.first().getAttribute('aria-label'))!;
  const row = guide.getByRole('checkbox', { name, exact: true });
  const { y } = (await row.boundingBox())!;
  await row.click();
  await expect(row).not.toBeChecked();
  expect((await row.boundingBox())!.y).toBe(y);
});
