import type { Page } from '@playwright/test';
import { readFileSync } from 'node:fs';
import { expectAccessible } from './fixtures/accessible.ts';
import { expect, open, test } from './fixtures/browser.ts';
import { WIDE, choose, drop, paste, predicted, statusBar } from './fixtures/page.ts';

test.use({ viewport: WIDE });

async function find(page: Page, query: string) {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search or run a command' }).fill(query);
  return page.getByRole('listbox', { name: 'Commands' }).getByRole('option');
}

test('the palette finds commands, devices, runs and designs, and exports the shown device', async ({ page, host }) => {
  /** Messages of the engine that are held back from the page; null if the page receives them at once. */
  let held: (() => void)[] | null = null;
  await page.routeWebSocket(/./, (socket) => {
    const send = (message: string | Buffer) => () => socket.send(message);
    socket.connectToServer().onMessage((message) => (held ? held.push(send(message)) : send(message)()));
  });
  await open(page, host);
  await predicted(page, 1);
  // Commands are also found by hidden words, such as the kinds of files that they open.
  await expect((await find(page, 'csv')).filter({ hasText: 'Import lengths from a file' })).toBeVisible();
  await page.keyboard.press('Escape');
  // The second entry exists only when there is a recommendation.
  const python = ['Export as Python launch parameters', 'Copy the recommended design as Python'];
  await expect(await find(page, 'python')).toContainText(python);
  // The view opens on the chosen format, although the engine has not made an export yet.
  held = [];
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/#\/export.*format=python/);
  for (const send of held.splice(0)) send();
  held = null;
  await expect(page.getByText('launch = {')).toBeVisible();

  // While another format is written, the view says so. Saving waits for that format.
  held = [];
  await page.getByRole('radio', { name: /^CSV/ }).click();
  await expect(page.getByText('Writing CSV.', { exact: true })).toBeVisible();
  const download = page.waitForEvent('download');
  await page.keyboard.press('s');
  await expect(statusBar(page)).toContainText('Writing CSV');
  for (const send of held.splice(0)) send();
  held = null;
  expect((await download).suggestedFilename()).toMatch(/\.csv$/);
  await expect(statusBar(page)).toContainText(/Saved .*\.csv/);
  await expect(page.getByText('Writing CSV.', { exact: true })).toBeHidden();

  // A PDF has no button to copy. If that button had the focus, the chosen format takes it.
  await page.getByRole('radio', { name: /^HTML report/ }).click();
  const copy = page.getByRole('button', { name: /^Copy/ });
  await copy.focus();
  await page.keyboard.press('j');
  await expect(copy).toBeHidden();
  await expect(page.getByRole('radio', { name: /^PDF report/ })).toBeFocused();
  await page.keyboard.press('?');
  await expect(page.getByRole('dialog', { name: 'Keys' })).toContainText('Number field: origin of its value');
  await page.keyboard.press('Escape');
  await page.getByRole('radio', { name: /^Python/ }).click();

  await expect((await find(page, 'a100 pcie')).first()).toContainText('A100');
  await page.keyboard.press('Escape');
  await expect((await find(page, 'run 1')).first()).toContainText('Run 1: Acts propagation');
  await page.keyboard.press('Escape');
  await expect((await find(page, 'rank 3')).first()).toContainText('Rank 3 of run 1');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/#\/ranking.*design=\d+/);
  await expect(page.getByRole('complementary', { name: 'Selected design' })).toContainText('Rank 3');

  // The commands of the present view come before all others, and the best match comes first.
  await page.keyboard.press('Control+k');
  const options = page.getByRole('listbox', { name: 'Commands' }).getByRole('option');
  await expect(options.first()).toContainText('the selected design');
  await page.keyboard.type('sort');
  await expect(options.first()).toContainText(/^\s*Sort by/);
  await expect(options.first()).toHaveAttribute('aria-selected', 'true');
  await page.keyboard.press('Escape');

  await choose(page, /^Device: /, /^A100 SXM4 40 GB/);
  await expect((await find(page, 'export as python')).first()).toContainText('Export as Python');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/#\/export.*device=nvidia-a100-sxm4-40gb/);
  await expect(page.getByText(/On A100 SXM4 40 GB: predicted [\d.]+ [mu]s/)).toBeVisible();
  await choose(page, /^Device: /, /^H100 SXM5 80 GB/);
  await expect(page.getByText(/On H100 SXM5 80 GB: predicted [\d.]+ [mu]s/)).toBeVisible();
  await page.keyboard.press('3');
  await expect(page.getByRole('combobox', { name: /^Device: H100 SXM5/ })).toBeVisible();
});

test('four steps by keys lead from a table to the answer of a new study', async ({ page, own }) => {
  await open(page, own);
  await page.keyboard.press('Control+Alt+n');
  const guide = page.getByRole('dialog', { name: 'New study' });
  await expect(guide.getByRole('button', { name: 'Next: kernel' })).toBeFocused();
  await expectAccessible(page, 'guide, lengths', '[role=dialog]');
  const refusal = guide.getByRole('alert');
  await drop(page.getByRole('main', { includeHidden: true }), 'empty.csv', '');
  await expect(refusal).toContainText('empty.csv could not be imported. Line 1: the file is empty.');
  await refusal.getByRole('button', { name: 'Dismiss' }).click();
  await expect(refusal).toBeHidden();
  await paste(guide, 'a few words');
  await expect(refusal).toContainText('Nothing was imported');
  const table = `job,hops\n${'7,5\n9,5\n4,9\n'.repeat(100)}`;
  await paste(guide.getByRole('button', { name: 'Next: kernel' }), table);
  await expect(page.getByText(/^300 units, \d distinct/)).toBeVisible();
  await page.keyboard.press('Escape');
  await drop(page.getByRole('main', { includeHidden: true }), 'jobs.csv', table);
  await expect(page.getByText(/^300 units, \d distinct/)).toBeVisible();
  await expectAccessible(page, 'import of a table', '[role=dialog]');
  await page.keyboard.press('Enter');
  await expect(guide.getByText(/jobs\.csv.*300 units/)).toBeVisible();
  // The step of the guide stays open while a value is wrong.
  const units = guide.getByRole('spinbutton', { name: 'Number of units' });
  const toKernel = guide.getByRole('button', { name: 'Next: kernel' });
  await units.fill('3,5');
  await toKernel.click();
  await expect(guide.getByText('“3,5” is not a number')).toBeVisible();
  await expect(units).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(units).toHaveValue('300');
  await toKernel.focus();
  await page.keyboard.press('Enter');
  await expect(guide.getByRole('spinbutton').first()).toBeVisible();
  await expectAccessible(page, 'guide, kernel', '[role=dialog]');
  await page.keyboard.press('Enter');
  await guide
    .getByRole('checkbox', { name: /RTX 4090/ })
    .first()
    .focus();
  await page.keyboard.press('Space');
  await guide.getByRole('button', { name: 'Next: answer' }).focus();
  await page.keyboard.press('Enter');
  const answer = guide.getByLabel('Recommendation').and(page.locator('[aria-busy=false]'));
  await expect(answer.getByText(/^[\d.,]+.[mµ]s/)).toBeVisible();
  await expect(answer.getByText(/ 90 % range [\d.]/)).toBeVisible();
  await expect(answer.getByText('fastest of 2 devices')).toBeVisible();
  await expect(answer.getByText(/^(A100|GeForce RTX 4090).*: best [\d.,]+.[mµ]s$/)).toBeVisible();
  await expectAccessible(page, 'guide, answer', '[role=dialog]');
  await page.keyboard.press('Enter');
  await predicted(page, 2);
});

test('a link to no study says so, and an exported report has a map and needs no file', async ({ page, host }) => {
  await open(page, host, '#/ranking?study=99');
  const refusal = page.getByRole('alert').filter({ hasText: 'There is no study 99.' });
  await expect(refusal).toBeVisible();
  await refusal.getByRole('button', { name: 'Dismiss' }).click();
  await expect(page).toHaveTitle(/^Acts propagation – Ranking/);

  await predicted(page, 1);
  // A link to another study leaves behind what the views had selected.
  const follow = (hash: string) => page.evaluate((to) => void (location.hash = to), hash);
  const ranking = new URL(page.url()).hash;
  expect(ranking).not.toBe('#/ranking?study=1');
  await predicted(page, 1);
  await follow(`${ranking}&design=5`);
  await expect(page.getByRole('complementary', { name: 'Selected design' })).toBeVisible();
  await page.keyboard.press('6');
  await follow('#/runs?study=1');
  await expect(page).not.toHaveTitle(/^Acts propagation/);
  await page.keyboard.press('3');
  await expect(page).toHaveURL(/#\/ranking\?study=1$/);
  await follow(ranking);

  await predicted(page, 1);
  await page.keyboard.press('8');
  await expect(page.getByRole('button', { name: /^Save/ })).toBeEnabled();
  const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('s')]);
  const html = readFileSync(await download.path(), 'utf8');
  expect(html.length).toBeLessThan(1_000_000);
  const sent = await page.context().newPage();
  const noticed: string[] = [];
  sent.on('request', (request) => noticed.push(request.url()));
  sent.on('console', (message) => message.type() === 'error' && noticed.push(message.text()));
  await sent.setContent(html);
  const map = sent.getByRole('img', { name: /^Predicted time over/ });
  await expect(map).toBeVisible();
  const said = sent.locator('#map output');
  await expect(said).toContainText('over the best of this device');
  const before = await said.textContent();
  await map.focus();
  await sent.keyboard.press('ArrowUp');
  await expect(said).not.toHaveText(before!);
  const box = (await map.boundingBox())!;
  await map.hover({ position: { x: box.width / 2, y: box.height / 2 } });
  await expect(said).toContainText(/[mµ]s, \+|no valid design/);
  expect(noticed).toEqual([]);
});
