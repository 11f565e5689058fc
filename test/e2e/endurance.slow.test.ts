import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { expect, open, startHost, test } from './fixtures/browser.ts';
import { choose, drop, offered, predicted, rankRows, readCount, statusBar } from './fixtures/page.ts';
import { temporaryFolder } from './fixtures/program.ts';

/** This study takes several seconds on any machine, because a workload with a long tail has many depth laws. */
const LARGE = JSON.stringify({
  lockstep: 1,
  name: 'Large',
  description: '',
  workload: { lengths: 'zipf(1.2,4000)', units: 1_048_576 },
  kernel: { name: 'k', registersPerThread: 40, instructionsPerIteration: 30, lengthsKnownBeforeLaunch: true },
  devices: ['nvidia-a100-sxm4-40gb'],
  axes: {
    threadsPerUnit: [1, 4, 8, 32],
    balancing: ['none', 'best-buckets(8)', 'window-sort(4096)', 'full-sort', 'dynamic-fetch'],
    blockThreads: { from: 32, to: 1024, step: 32 },
    blocksPerMultiprocessor: { from: 1, to: 12 },
  },
});

const progress = (page: Page) => page.getByRole('progressbar', { name: 'Run 2' });

test('a reload during a run loses nothing, and a cancelled run can be resumed to its end', async ({ page, own }) => {
  await open(page, own);
  await drop(page.getByRole('region', { name: 'Workload' }), 'large.json', LARGE);
  await expect(page).toHaveTitle(/^Large/);
  const total = await offered(page);
  await page.keyboard.press('Control+Enter');
  await expect(progress(page)).toBeVisible();
  const done = async () => Number(await progress(page).getAttribute('aria-valuenow'));
  await expect.poll(done).toBeGreaterThan(0);

  const before = await done();
  await page.reload();
  await expect(progress(page)).toBeVisible();
  await expect.poll(done).toBeGreaterThanOrEqual(before);

  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await expect(statusBar(page)).toContainText('Run 2 cancelled');
  await expect(progress(page)).toBeHidden();
  await page.keyboard.press('6');
  await page.getByRole('row', { name: /^Run 2, Large, cancelled/ }).click();
  await page.getByRole('button', { name: 'Resume', exact: true }).click();
  await expect(page.getByRole('row', { name: /^Run 2, Large, complete/ })).toBeVisible({ timeout: 120_000 });
  expect(await predicted(page, 2)).toBe(total);
  await page.goto(page.url().replace(/#\/runs\?/, '#/ranking?device=all&'));
  await expect(page.getByRole('heading', { name: `All ${total.toLocaleString('en-US')} valid designs` })).toBeVisible();
});

test.describe('a host that ends', () => {
  test.use({ expects: /\bERR_(CONNECTION_|CONTENT_LENGTH_|EMPTY_RESPONSE)|WebSocket is already in CLOSING/ });

  test('the page keeps its content when the engine is killed, and then continues', async ({ page, seed }) => {
    const folder = temporaryFolder();
    const databaseFile = join(folder.path, 'lockstep.db');
    copyFileSync(seed, databaseFile);
    const killed = await startHost(databaseFile);
    await open(page, killed, '#/ranking');
    await expect(rankRows(page).first()).toBeVisible();
    await killed.kill();
    const bar = page.getByText('The engine is not answering.');
    await expect(bar).toBeVisible();
    await expect(rankRows(page).first()).toBeVisible();
    await page.keyboard.press('1');
    await page.getByRole('spinbutton', { name: 'Registers per thread' }).fill('64');
    await page.keyboard.press('Enter');
    await expect(statusBar(page)).toContainText('not saved');

    const token = new URL(killed.address).searchParams.get('token')!;
    const host = await startHost(databaseFile, { port: killed.port, token });
    await expect(bar).toBeHidden({ timeout: 120_000 });
    // The edit made meanwhile is saved automatically.
    await expect(statusBar(page)).not.toContainText('not saved');
    await page.reload();
    await expect(page.getByRole('spinbutton', { name: 'Registers per thread' })).toHaveValue('64');
    await page.close();
    await host.interrupt();
    folder.remove();
  });
});

test('an address restores the study, and a copied one order, filter and selection', async ({ page, host }) => {
  await open(page, host, '#/ranking');
  await expect(rankRows(page).first()).toBeVisible();
  await page.evaluate(() => (window.location.hash = '#/runs'));
  await expect(page.getByRole('row', { name: /Acts propagation/ }).first()).toBeVisible();
  await page.evaluate(() => (window.location.hash = '#/ranking'));
  await expect(rankRows(page).first()).toBeVisible();

  await predicted(page, 1);
  await choose(page, /^Device/, /A100/);
  await page.getByRole('columnheader', { name: 'Block', exact: true }).getByRole('button').click();
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  const form = page.getByRole('dialog', { name: 'Filter' });
  await form.getByRole('textbox', { name: 'Occupancy, %: at least' }).fill('40');
  await form.getByRole('button', { name: 'Done' }).click();
  // A row of the unfiltered list might not pass the filter, so the test waits until fewer designs are listed.
  const passing = page.getByRole('group', { name: 'Filter', exact: true }).locator('.hint');
  await expect.poll(async () => /^([\d,]+) of \1 /.test((await passing.textContent())!)).toBe(false);
  await rankRows(page).nth(3).click();
  const rank = page.getByRole('complementary', { name: 'Selected design' }).getByRole('heading').first();
  await expect(rank).toHaveText(/^Rank \d/);
  await page.keyboard.press('p');
  await expect(statusBar(page)).toContainText('Baseline pinned');

  const seen = async (at: Page) => {
    const selected = at.getByRole('grid').locator('[aria-selected=true]');
    await expect(selected).toBeVisible();
    const hint = at.getByRole('group', { name: 'Filter', exact: true }).locator('.hint');
    const inspected = at.getByRole('complementary', { name: 'Selected design' }).getByRole('heading').first();
    const choices = [/^Device/, /^Sorted by/].map((name) => at.getByRole('combobox', { name }));
    const shown = [inspected, ...choices, selected, at.getByRole('row', { name: 'Baseline', exact: true })];
    const texts = await Promise.all(shown.map((one) => one.textContent()));
    return [readCount((await hint.textContent())!), ...texts];
  };
  const other = await page.context().newPage();
  await other.goto(page.url());
  await expect(rankRows(other).first()).toBeVisible();
  // Column widths change while data arrives, so the page is compared until it is complete.
  await expect(async () => expect(await seen(other)).toEqual(await seen(page))).toPass({ timeout: 60_000 });
});
