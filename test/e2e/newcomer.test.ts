import { expect, test } from './fixtures/browser.ts';
import { expectReport, lengths, losses, textOf, theory, unwantedDevices } from './fixtures/newcomer.ts';
import { WIDE, offered, predicted, rankRows, readCount, statusBar } from './fixtures/page.ts';

// The first use of Lockstep by pointer, through every view. It is the only browser test of npm test.

test.use({ viewport: WIDE, contextOptions: { reducedMotion: 'no-preference' } });

test('by pointer, a new user goes from the example through every view to a report', async ({ page, first }) => {
  await page.goto(first.address);

  await expect(page.getByRole('heading', { name: 'Study', level: 1 })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Acts propagation Example study' })).toBeVisible();
  await expect(lengths(page)).toHaveAccessibleName(/mean 38\.6, depth of 8 50\.5/);
  const whole = await predicted(page, 1);
  expect(await offered(page)).toBe(whole);
  const answer = page.getByRole('region', { name: 'Recommendation' });
  await expect(answer.getByRole('button', { name: 'Copy header' })).toBeEnabled();

  await page.getByRole('radio', { name: 'Distribution' }).click();
  await expect(lengths(page)).toHaveAccessibleName(/geometric\(0\.05\): mean 20\.0/);
  await theory(page).click();
  const loss = await losses(page).getAttribute('aria-label');
  const picture = await lengths(page).screenshot();
  const slider = page.getByRole('slider', { name: /^p: chance/ });
  const track = (await slider.boundingBox())!;
  await page.mouse.move(track.x + track.width * 0.5, track.y + track.height / 2);
  await page.mouse.down();
  await page.mouse.move(track.x + track.width * 0.7, track.y + track.height / 2, { steps: 6 });
  await expect(losses(page)).not.toHaveAccessibleName(loss!); // The user still holds the slider.
  await page.mouse.up();
  await expect(lengths(page)).not.toHaveAccessibleName(/mean 20\.0/);
  expect((await lengths(page).screenshot()).equals(picture)).toBe(false);

  for (const device of unwantedDevices)
    await page.locator('label', { has: page.getByRole('checkbox', { name: device }) }).click();
  await expect.poll(() => offered(page)).toBeLessThan(whole / 2);
  const fewer = await offered(page);
  await page.getByRole('button', { name: /^Predict [\d,]+ designs/ }).click();
  expect(await predicted(page, 2)).toBe(fewer);

  const views = page.getByRole('navigation', { name: 'Views' });
  await views.getByRole('button', { name: 'Ranking' }).click();
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
  await chips.getByRole('button', { name: /^Remove the filter/ }).click();
  await expect(chips).toBeHidden();

  for (const order of ['descending', 'ascending']) {
    const header = page.getByRole('columnheader', { name: 'Predicted' });
    await header.getByRole('button').click();
    await expect(header).toHaveAttribute('aria-sort', order);
    await expect(rankRows(page).first()).toHaveAttribute('aria-selected', 'true');
  }

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

  await views.getByRole('button', { name: 'Compare' }).click();
  await expect(page.getByText('2 devices, each at its best predicted design')).toBeVisible();
  await expect(page.getByRole('combobox', { name: 'Reference: GeForce RTX 4090' })).toBeVisible();
  await page.getByRole('columnheader', { name: 'A100' }).getByRole('button').click();
  await expect(page.getByRole('combobox', { name: /^Reference: A100/ })).toBeVisible();

  await views.getByRole('button', { name: 'Measure' }).click();
  await expect(page.getByRole('heading', { name: 'Measure', level: 1 })).toBeVisible();
  await views.getByRole('button', { name: 'Runs' }).click();
  await expect(page.getByRole('row', { name: /^Run 2, .* complete/ })).toBeVisible();
  await views.getByRole('button', { name: 'Models' }).click();
  await expect(page.getByRole('main').getByRole('figure').first()).toBeVisible();

  await views.getByRole('button', { name: 'Export' }).click();
  const saving = page.waitForEvent('download');
  await page.getByRole('button', { name: /^Save / }).click();
  const report = await saving;
  expect(report.suggestedFilename()).toMatch(/\.html$/);
  expectReport(await textOf(report), 'RTX 4090');
});
