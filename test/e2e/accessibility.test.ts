import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { expect, open, test } from './fixtures/browser.ts';
import { predicted, rankRows } from './fixtures/page.ts';

// Nothing that axe calls serious or critical, in any view, on content, in both themes.

test.describe.configure({ timeout: 120_000 });

async function expectAccessible(page: Page, where: string): Promise<void> {
  const { violations } = await new AxeBuilder({ page })
    .options({ resultTypes: ['violations'] })
    .setLegacyMode()
    .analyze();
  const grave = [];
  for (const { id, help, impact, nodes } of violations) {
    if (impact !== 'serious' && impact !== 'critical') continue;
    for (const { target, failureSummary } of nodes) {
      const selector = target.join(' ');
      // The rows of a grid are scrolled by the keys of the grid around them, which has the focus.
      const owner = page.locator(selector).locator('xpath=ancestor::*[@role="grid" and @tabindex="0"]');
      if (id === 'scrollable-region-focusable' && (await owner.count()) > 0) continue;
      grave.push({ id, help, at: `${selector}: ${failureSummary}` });
    }
  }
  expect.soft(grave, where).toEqual([]);
}

/** Each view, and what shows that its content has arrived. */
const VIEWS: readonly { readonly hash: string; readonly arrived: (page: Page) => Promise<void> }[] = [
  { hash: '#/study', arrived: (page) => expect(page.getByText('Designs to predict')).toBeVisible() },
  {
    hash: '#/landscape',
    arrived: async (page) => {
      await expect(page.getByRole('application', { name: /^Predicted time over/ })).toBeVisible();
      await expect(page.getByRole('table').first()).toBeVisible();
    },
  },
  {
    hash: '#/landscape?shape=slices',
    arrived: (page) => expect(page.getByRole('figure', { name: /^Predicted time along/ }).first()).toBeVisible(),
  },
  {
    hash: '#/ranking',
    arrived: async (page) => {
      await expect(rankRows(page).nth(12)).toBeVisible();
      await expect(page.getByRole('complementary', { name: 'Selected design' })).toBeVisible();
    },
  },
  {
    hash: '#/compare',
    arrived: (page) => expect(page.getByRole('heading', { name: 'Occupancy, what if' })).toBeVisible(),
  },
  {
    hash: '#/measure',
    arrived: (page) =>
      expect(page.getByRole('radiogroup', { name: 'Where to measure' }).getByRole('radio').first()).toBeVisible(),
  },
  {
    hash: '#/runs?selected=1',
    arrived: (page) => expect(page.getByRole('complementary', { name: 'Run 1' })).toBeVisible(),
  },
  { hash: '#/models', arrived: (page) => expect(page.getByText(/published figures reproduced/)).toBeVisible() },
  {
    hash: '#/export',
    arrived: (page) => expect(page.getByRole('button', { name: /^Save / })).toBeEnabled(),
  },
  {
    hash: '#/export?format=cuda',
    arrived: (page) => expect(page.getByLabel(/^Preview of .*\.cuh?$/)).toBeVisible(),
  },
];

async function show(page: Page, port: number, { hash, arrived }: (typeof VIEWS)[number]): Promise<void> {
  const study = /study=\d+/.exec(page.url())![0];
  await page.goto(`http://127.0.0.1:${port}/${hash}${hash.includes('?') ? '&' : '?'}${study}`);
  await arrived(page);
}

for (const colorScheme of ['light', 'dark'] as const)
  test(`every view, ${colorScheme}`, async ({ page, own }) => {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await open(page, own);
    await predicted(page, 1);
    for (const view of VIEWS) {
      await show(page, own.port, view);
      await expectAccessible(page, `${view.hash}, ${colorScheme}`);
    }
  });

test('what opens over the views, in both themes', async ({ page, own }) => {
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await open(page, own);
  await predicted(page, 1);
  const both = async (where: string) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await expectAccessible(page, `${where}, ${colorScheme}`);
    }
  };
  const keys = page.keyboard;

  await keys.press('Control+k');
  await expect(page.getByRole('option').first()).toBeVisible();
  await both('palette');
  await keys.press('Escape');

  await keys.press('?');
  await expect(page.getByRole('dialog')).toBeVisible();
  await both('key sheet');
  await keys.press('Escape');

  await keys.press('Control+,');
  await expect(page.getByRole('dialog')).toBeVisible();
  await both('settings');
  await keys.press('Escape');

  await page.getByRole('menuitem', { name: 'File' }).click();
  await expect(page.getByRole('menu')).toBeVisible();
  await both('menu');
  await keys.press('Escape');

  for (const name of ['Details', 'Add', 'none']) {
    await page.getByRole('main').getByRole('button', { name, exact: true }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await both(`popover ${name}`);
    await keys.press('Escape');
    await expect(page.getByRole('dialog')).toBeHidden();
  }
  await page.getByRole('combobox', { name: /^Loop forms/ }).click();
  await expect(page.getByRole('listbox')).toBeVisible();
  await both('list of a select');
  await keys.press('Escape');

  await keys.press('3');
  await expect(rankRows(page).nth(5)).toBeVisible();
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  await expect(page.getByRole('dialog', { name: 'Filter' })).toBeVisible();
  await both('filter');
});

test('in a narrow window', async ({ page, own }) => {
  await page.setViewportSize({ width: 1000, height: 700 });
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await open(page, own);
  for (const view of VIEWS) {
    await show(page, own.port, view);
    await expectAccessible(page, `${view.hash}, narrow`);
  }
});
