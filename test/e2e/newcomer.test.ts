import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Download, Page } from '@playwright/test';
import { expect, open, startHost, test } from './fixtures/browser.ts';
import { WIDE, isOutlined, offered, predicted, rankRows, readCount, statusBar, tabTo } from './fixtures/page.ts';
import { temporaryFolder } from './fixtures/program.ts';

// The first use of Lockstep: once by pointer, once by keys alone.

const figure = (page: Page, name: RegExp) => page.getByRole('figure', { name }).first();
const lengths = (page: Page) => figure(page, /^Distribution of unit lengths of /);
const losses = (page: Page) => figure(page, /^Performance loss by units in lockstep/);
const unwantedDevices = ['V100 SXM2 16 GB', 'H100 SXM5 80 GB', 'Instinct MI250X, one GCD'];

async function textOf(download: Download): Promise<string> {
  return readFileSync(await download.path(), 'utf8');
}

/** What every exported report must hold, whichever way it was reached. */
function expectReport(text: string, device: string): void {
  expect(text).toMatch(/^<!doctype html>/i);
  expect(text).toContain('Acts propagation');
  expect(text).toContain(device);
  expect(text).toContain('<svg');
  expect(text).not.toMatch(/https?:\/\/(?!www\.w3\.org|doi\.org)/);
  // The script of the map is the only one, and the only one that the page's policy lets run.
  expect(text.match(/<script/g)).toHaveLength(1);
  expect(text).toMatch(/default-src 'none'; script-src 'sha256-[\w+/]+='/);
}

test.use({ viewport: WIDE, contextOptions: { reducedMotion: 'no-preference' } });

test('by pointer: example, workload, prediction, ranking, landscape, comparison, report', async ({
  page,
  complaints,
}) => {
  const folder = temporaryFolder();
  const host = await startHost(join(folder.path, 'first.db'));
  await page.goto(host.address);

  // The first start shows the example study, and results without being asked.
  await expect(page.getByRole('heading', { name: 'Study', level: 1 })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Acts propagation Example study' })).toBeVisible();
  await expect(lengths(page)).toHaveAccessibleName(/mean 38\.6, depth of 8 50\.5/);
  const whole = await predicted(page, 1);
  expect(await offered(page)).toBe(whole);

  // Another workload: the law, its picture and the loss follow the slider.
  await page.getByRole('radio', { name: 'Distribution' }).click();
  await expect(lengths(page)).toHaveAccessibleName(/geometric\(0\.05\): mean 20\.0/);
  const loss = await losses(page).getAttribute('aria-label');
  const picture = await lengths(page).screenshot();
  const slider = page.getByRole('slider', { name: /^p: chance/ });
  const track = (await slider.boundingBox())!;
  await page.mouse.move(track.x + track.width * 0.5, track.y + track.height / 2);
  await page.mouse.down();
  await page.mouse.move(track.x + track.width * 0.7, track.y + track.height / 2, { steps: 6 });
  await expect(losses(page)).not.toHaveAccessibleName(loss!); // while the hand still holds it
  await page.mouse.up();
  await expect(lengths(page)).not.toHaveAccessibleName(/mean 20\.0/);
  expect((await lengths(page).screenshot()).equals(picture)).toBe(false);

  for (const device of unwantedDevices) await page.getByRole('checkbox', { name: device }).click({ force: true });
  await expect.poll(() => offered(page)).toBeLessThan(whole / 2);
  const fewer = await offered(page);
  await page.getByRole('button', { name: /^Predict [\d,]+ designs/ }).click();
  expect(await predicted(page, 2)).toBe(fewer);

  // The best in the ranking; a baseline of one's own; narrower; in another order.
  await page.getByRole('navigation', { name: 'Views' }).getByRole('button', { name: 'Ranking' }).click();
  const best = rankRows(page).first();
  await expect(best).toHaveAttribute('aria-selected', 'true');
  await expect(best.getByRole('gridcell').first()).toHaveText('1');
  await rankRows(page).nth(4).click();
  const inspector = page.getByRole('complementary', { name: 'Selected design' });
  await expect(inspector.getByRole('heading', { name: 'Rank 5', exact: true })).toBeVisible();
  await inspector.getByRole('button', { name: 'Pin' }).click();
  await expect(statusBar(page)).toContainText('Baseline pinned');
  await expect(page.getByRole('row', { name: 'Baseline', exact: true }).getByRole('gridcell').first()).toHaveText('5');

  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  const form = page.getByRole('dialog', { name: 'Filter' });
  await form.getByRole('group', { name: 'Threads per unit' }).getByRole('button', { name: '1', exact: true }).click();
  await form.getByRole('button', { name: 'Done' }).click();
  const chips = page.getByRole('group', { name: 'Filter', exact: true });
  await expect(chips).toContainText(/designs/);
  await expect.poll(async () => readCount((await chips.locator('.hint').textContent())!)).toBeLessThan(fewer);
  await page.getByRole('columnheader', { name: 'Predicted' }).getByRole('button').click();
  await expect(page.getByRole('columnheader', { name: 'Predicted' })).toHaveAttribute('aria-sort', 'descending');
  await page.getByRole('columnheader', { name: 'Predicted' }).getByRole('button').click();
  await chips.getByRole('button', { name: /^Remove the filter/ }).click();
  await expect(chips).toBeHidden();
  await expect(page.getByRole('columnheader', { name: 'Predicted' })).toHaveAttribute('aria-sort', 'ascending');

  // A list that is turned round starts at its top, with what is selected.
  for (const order of ['descending', 'ascending']) {
    await page.getByRole('columnheader', { name: 'Predicted' }).getByRole('button').click();
    await expect(page.getByRole('columnheader', { name: 'Predicted' })).toHaveAttribute('aria-sort', order);
    await expect(rankRows(page).first()).toHaveAttribute('aria-selected', 'true');
  }

  // The same design in the landscape, and another one beside it.
  await page.getByRole('row', { name: /^2 / }).click();
  await expect(inspector.getByRole('heading').first()).toHaveText(/^Rank 2\b/);
  await inspector.getByRole('button', { name: 'Landscape' }).click();
  await expect(page.getByRole('heading', { name: 'Landscape', level: 1 })).toBeVisible();
  const selection = page.getByRole('complementary', { name: 'Selection' });
  await expect(selection).toContainText('rank 2');
  const map = page.getByRole('application', { name: /^Predicted time over/ });
  const area = (await map.boundingBox())!;
  await map.click({ position: { x: area.width * 0.4, y: area.height * 0.4 } });
  await expect(selection).not.toContainText('rank 2;');

  // Two GPUs side by side.
  await page.getByRole('navigation', { name: 'Views' }).getByRole('button', { name: 'Compare' }).click();
  await expect(page.getByText('2 devices, each at its best predicted design')).toBeVisible();
  await expect(page.getByRole('combobox', { name: 'Reference: GeForce RTX 4090' })).toBeVisible();
  await page.getByRole('columnheader', { name: 'A100' }).getByRole('button').click();
  await expect(page.getByRole('combobox', { name: /^Reference: A100/ })).toBeVisible();

  await page.getByRole('navigation', { name: 'Views' }).getByRole('button', { name: 'Export' }).click();
  const saving = page.waitForEvent('download');
  await page.getByRole('button', { name: /^Save / }).click();
  const report = await saving;
  expect(report.suggestedFilename()).toMatch(/\.html$/);
  expectReport(await textOf(report), 'RTX 4090');

  expect(complaints).toEqual([]);
  await host.interrupt();
  folder.remove();
});

test('by keys alone: the same, with the focus in sight', async ({ page, own, complaints }) => {
  await open(page, own);
  const keys = page.keyboard;
  await expect(lengths(page)).toHaveAccessibleName(/mean 38\.6/);
  const whole = await offered(page);

  await tabTo(page.getByRole('radio', { name: 'File' }));
  await keys.press('ArrowLeft');
  await expect(page.getByRole('radio', { name: 'Distribution' })).toBeFocused();
  expect(await isOutlined(page)).toBe(true);
  await expect(lengths(page)).toHaveAccessibleName(/geometric\(0\.05\)/);
  const loss = await losses(page).getAttribute('aria-label');
  await tabTo(page.getByRole('slider', { name: /^p: chance/ }));
  await keys.press('PageUp');
  await expect(losses(page)).not.toHaveAccessibleName(loss!);

  for (const device of unwantedDevices) {
    await tabTo(page.getByRole('checkbox', { name: device }));
    await keys.press('Space');
  }
  await expect.poll(() => offered(page)).toBeLessThan(whole / 2);
  const fewer = await offered(page);
  await keys.press('Control+Enter');
  expect(await predicted(page, 2)).toBe(fewer);

  await keys.press('3');
  const grid = page.getByRole('grid', { name: 'Designs, ranked' });
  await expect(rankRows(page).first()).toHaveAttribute('aria-selected', 'true');
  await expect(grid).toBeFocused(); // the list of the view just opened
  await keys.press('ArrowDown');
  expect(await isOutlined(page)).toBe(true);
  for (let i = 0; i < 3; i++) await keys.press('ArrowDown');
  await keys.press('Space');
  await expect(page.getByRole('heading', { name: 'Rank 5', exact: true })).toBeVisible();
  await keys.press('p');
  await expect(statusBar(page)).toContainText('Baseline pinned');

  // Filter with the form, sort with the palette.
  await keys.press('/');
  const form = page.getByRole('dialog', { name: 'Filter' });
  await expect(form).toBeVisible();
  const one = form.getByRole('group', { name: 'Threads per unit' }).getByRole('button', { name: '1', exact: true });
  if (!(await one.evaluate((element) => element === document.activeElement))) await tabTo(one);
  await keys.press('Space');
  await keys.press('Escape');
  await expect(form).toBeHidden();
  const chips = page.getByRole('group', { name: 'Filter', exact: true });
  await expect.poll(async () => readCount((await chips.locator('.hint').textContent())!)).toBeLessThan(fewer);
  await keys.press('Control+k');
  await expect(page.getByRole('combobox', { name: 'Search or run a command' })).toBeFocused();
  await keys.type('sort by waves');
  await keys.press('Enter');
  await expect(page.getByRole('combobox', { name: 'Sorted by: waves' })).toBeVisible();
  await keys.press('Control+k');
  await keys.type('sort by predicted');
  await keys.press('Enter');
  await keys.press('Control+k');
  await keys.type('clear the filter');
  await keys.press('Enter');
  await expect(chips).toBeHidden();

  // The pinned design in the landscape, and its neighbour.
  await keys.press('l');
  const selection = page.getByRole('complementary', { name: 'Selection' });
  await expect(selection).toContainText('rank 5');
  await tabTo(page.getByRole('application', { name: /^Predicted time over/ }));
  await keys.press('ArrowRight');
  await keys.press('ArrowUp');
  await keys.press('Enter');
  await expect(selection).not.toContainText('rank 5;');

  await keys.press('4');
  await expect(page.getByText('2 devices, each at its best predicted design')).toBeVisible();
  await expect(page.getByRole('combobox', { name: 'Reference: GeForce RTX 4090' })).toBeVisible();
  await keys.press('ArrowRight');
  await expect(page.getByRole('combobox', { name: /^Reference: A100/ })).toBeVisible();

  await keys.press('8');
  const save = page.getByRole('button', { name: /^Save / });
  await expect(save).toBeEnabled();
  await tabTo(save);
  const saving = page.waitForEvent('download');
  await keys.press('Enter');
  expectReport(await textOf(await saving), 'RTX 4090');
  expect(complaints).toEqual([]);
});
