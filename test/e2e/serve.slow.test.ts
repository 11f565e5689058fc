import { expect, test } from './fixtures/browser.ts';

// Tests what only a browser can show: how the token is stored. test/unit/transport-serve.test.ts has the other tests.

test('the printed address opens the page, also after a reload and in a second tab', async ({ page, host, context }) => {
  await page.goto(host.address);
  await expect(page).toHaveURL(new RegExp(`^http://127\\.0\\.0\\.1:${host.port}/(#.*)?$`));
  // The page gets the name of the study from the engine.
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await page.reload();
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  const tab = await context.newPage();
  await tab.goto(`http://127.0.0.1:${host.port}/`);
  await expect(tab.getByRole('heading', { level: 1 })).toBeVisible();
  expect(await tab.evaluate(() => document.cookie)).toBe('');
});

test.describe('a page without the token', () => {
  test.use({ expects: /\b403\b/ });
  test('says where to get it', async ({ page, host }) => {
    await page.goto(`http://127.0.0.1:${host.port}/`);
    await expect(page.getByText('open the address that "lockstep serve" printed')).toBeVisible();
  });
});
