import { expect, open, test } from './fixtures/browser.ts';
import { predicted, rankRows } from './fixtures/page.ts';

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
  for (const [key, view] of [
    ['4', 'Compare'],
    ['7', 'Models'],
  ] as const) {
    await page.keyboard.press(key);
    await expect(page.getByRole('heading', { name: view, level: 1 })).toBeVisible();
    await expect(page.getByRole('main')).toBeFocused();
    await page.keyboard.press('Tab');
    await expect(page.getByRole('main').locator(':focus')).toBeVisible();
  }
});

test('rows get their bars even if the engine answers slowly', async ({ page, host }) => {
  // The delay is longer than the list waits for details, so the neighbouring rows are still loading.
  await page.routeWebSocket(/./, (socket) => {
    const server = socket.connectToServer();
    server.onMessage((message) => void setTimeout(() => socket.send(message), 250));
  });
  await open(page, host, '#/ranking');
  await expect(rankRows(page).nth(5).getByRole('img').first()).toBeVisible();
});
