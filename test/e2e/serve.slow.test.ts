import { join } from 'node:path';
import { expect, startHost, test } from './fixtures/browser.ts';
import { temporaryFolder } from './fixtures/program.ts';

test('the printed address opens the page, without a complaint and without the token in sight', async ({
  page,
  host,
  complaints,
}) => {
  await page.goto(host.address);
  await expect(page).toHaveURL(new RegExp(`^http://127\\.0\\.0\\.1:${host.port}/(#.*)?$`));
  await expect(page).toHaveTitle(/Lockstep/);
  await expect(page.locator('#app')).not.toBeEmpty();
  await page.screenshot({ path: 'test-results/serve.png' });
  expect(complaints).toEqual([]);
});

test('the page reaches the engine, and keeps its access over a reload and in a second tab', async ({
  page,
  host,
  context,
}) => {
  await page.goto(host.address);
  // The name of the study comes from the engine.
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await page.reload();
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  const tab = await context.newPage();
  await tab.goto(`http://127.0.0.1:${host.port}/`);
  await expect(tab.getByRole('heading', { level: 1 })).toBeVisible();
  expect(await tab.evaluate(() => document.cookie)).toBe('');
});

test('a stranger gets nothing: no token, a wrong token, another site, a path out of the folder', async ({
  page,
  host,
  context,
}) => {
  const at = `http://127.0.0.1:${host.port}`;
  await page.goto(`${at}/`);
  await expect(page.getByText('open the address that "lockstep serve" printed')).toBeVisible();
  expect((await page.goto(`${at}/?token=wrong`))?.status()).toBe(403);

  // With the token in the browser's storage, a page of another origin still cannot open the engine's socket.
  await page.goto(host.address);
  const stranger = await context.newPage();
  await stranger.route('http://localhost:1/', (route) => route.fulfill({ contentType: 'text/html', body: '<p>hello' }));
  await stranger.goto('http://localhost:1/');
  const opened = await stranger.evaluate(
    (address) =>
      new Promise<boolean>((resolve) => {
        const socket = new WebSocket(address, ['lockstep']);
        socket.onopen = () => resolve(true);
        socket.onerror = () => resolve(false);
      }),
    `ws://127.0.0.1:${host.port}/engine`,
  );
  expect(opened).toBe(false);

  await expect(page).toHaveURL(/\/(#.*)?$/);
  for (const path of ['/..%2f..%2fpackage.json', '/%2e%2e/main/serve.js', '/..%5cmain%5cserve.js'])
    expect((await context.request.get(at + path)).status()).toBe(404);
});

test('an interrupt ends it cleanly', async () => {
  const folder = temporaryFolder();
  const own = await startHost(join(folder.path, 'own.db'));
  expect(await own.interrupt()).toBe(0);
  folder.remove();
});
