import { expect, open, test } from './fixtures/browser.ts';
import { offered, statusBar } from './fixtures/page.ts';

test('a user describes a device, corrects it, uses it in a study, and deletes it', async ({ page, own }) => {
  await open(page, own);
  await page.keyboard.press('1');
  const before = await offered(page);
  const devices = page.getByRole('region', { name: 'Devices' });
  const picker = page.getByRole('dialog', { name: 'Choose devices' });
  await devices.getByRole('button', { name: 'Add' }).click();
  await picker.getByRole('button', { name: 'Describe a device…' }).click();
  const form = page.getByRole('dialog', { name: 'Describe a device' });
  await form.getByRole('textbox', { name: 'Name of the device' }).fill('Half a V100');
  await form.getByRole('spinbutton', { name: 'SMs' }).fill('40');
  // Resizing the window moves the panels, but must not close the form.
  await page.setViewportSize({ width: 900, height: 900 });
  await expect(page.getByRole('separator', { name: 'Width of devices and axes' })).toHaveCount(0);
  await page.setViewportSize({ width: 1440, height: 900 });
  await expect(form.getByRole('textbox', { name: 'Name of the device' })).toHaveValue('Half a V100');
  await form.getByRole('combobox', { name: /^Occupancy rules/ }).click();
  await page.getByRole('option', { name: 'none' }).click();
  await form.getByRole('spinbutton', { name: 'Resident warps' }).fill('1');
  await form.getByRole('button', { name: 'Save and add to the study' }).click();
  await expect(form.getByText('must be at most the 32 threads that a multiprocessor holds, not 1024')).toBeVisible();
  const cache = form.getByRole('spinbutton', { name: 'Last-level cache' });
  await expect(cache).toHaveValue('6');
  await expect(cache).toHaveAttribute('aria-valuetext', '6\u00a0MiB');
  await cache.fill('lots');
  await expect(form.getByText('“lots” is not a size. Enter a size such as 64 KiB')).toBeVisible();
  await cache.fill('50 MB');
  await cache.press('Enter');
  await expect(cache).toHaveValue('50\u00a0MiB');
  await form.getByRole('spinbutton', { name: 'Resident warps' }).fill('64');
  await form.getByRole('button', { name: 'Save and add to the study' }).click();
  await expect(form).toBeHidden();

  await expect(devices.getByRole('checkbox', { name: 'Half a V100' })).toBeChecked();
  await expect.poll(() => offered(page)).toBeGreaterThan(before);

  await devices.getByRole('button', { name: 'Add' }).click();
  await picker.getByRole('button', { name: 'Change Half a V100' }).click();
  const saved = page.getByRole('dialog', { name: 'Half a V100' });
  await expect(saved.getByRole('spinbutton', { name: 'Last-level cache' })).toHaveAttribute(
    'aria-valuenow',
    String(50 * 1024 * 1024),
  );
  await saved.getByRole('button', { name: 'Delete' }).click();
  await expect(statusBar(page)).toContainText('Half a V100 deleted');
  await statusBar(page).getByRole('button', { name: /Undo/ }).click();
  await devices.getByRole('button', { name: 'Add' }).click();
  await expect(picker.getByRole('button', { name: 'Change Half a V100' })).toBeVisible();

  // The search text names a slice of this device with 66 multiprocessors.
  const search = picker.getByRole('textbox', { name: 'Search devices' });
  await search.fill('h100 sxm5 80 :66:slice');
  await search.press('Enter');
  await page.keyboard.press('Escape');
  await expect(devices.getByRole('checkbox', { name: 'H100 SXM5 80 GB (66 of 132 SMs, slice)' })).toBeChecked();
});
