import type { Locator, Page } from '@playwright/test';
import { expect, open, test } from './fixtures/browser.ts';
import { expectAccessible } from './fixtures/accessible.ts';
import { WIDE, predicted, rankRows } from './fixtures/page.ts';

test.use({ viewport: WIDE });

/** Roles of elements that a screen reader announces by name. */
const NAMED = new Set(['main', 'button', 'combobox', 'textbox', 'slider', 'spinbutton', 'checkbox', 'radio', 'radiogroup', 'table', 'grid', 'figure', 'img', 'region', 'complementary', 'dialog', 'Iframe']); // prettier-ignore

/**
 * Checks what a screen reader announces of a view. The title and the landmark contain the name of the view, there is
 * one first heading, and every element with a role has a name.
 */
async function expectHeard(page: Page, where: string): Promise<void> {
  const heading = page.getByRole('heading', { level: 1 });
  await expect.soft(heading, where).toHaveCount(1);
  const view = (await heading.textContent())!;
  await expect.soft(page, where).toHaveTitle(`Acts propagation – ${view} – Lockstep`);
  await expect.soft(page.getByRole('main', { name: view, exact: true }), where).toHaveCount(1);
  const cdp = await page.context().newCDPSession(page);
  const { nodes } = await cdp.send('Accessibility.getFullAXTree');
  await cdp.detach();
  const nameless = nodes
    .filter(({ ignored, role, name }) => !ignored && NAMED.has(String(role?.value)) && !name?.value)
    .map(({ role }) => role!.value as string);
  expect.soft(nameless, where).toEqual([]);
}

/** Finds the recommendation that has its answer: the card, or the folded line. */
function recommended(page: Page): Locator {
  const card = page.getByRole('region', { name: 'Recommendation' }).getByRole('button', { name: /^Copy header/ });
  return card.or(page.getByRole('button', { name: /^Recommendation\. .* best$/ }));
}

/** All views, each with elements that appear with its content. */
const VIEWS: Readonly<Record<string, (page: Page) => readonly Locator[]>> = {
  '#/study': (page) => [page.getByText('Designs to predict'), recommended(page)],
  '#/landscape': (page) => [
    page.getByRole('application', { name: /^Predicted time over/ }),
    page.getByRole('table').first(),
  ],
  '#/landscape?shape=slices': (page) => [page.getByRole('figure', { name: /^Predicted time along/ }).first()],
  // In a narrow window, the recommendation and the selected design leave room for few rows.
  '#/ranking': (page) => [page.getByRole('complementary', { name: 'Selected design' }), rankRows(page).nth(10)],
  '#/compare': (page) => [page.getByRole('heading', { name: 'Occupancy, what if' })],
  '#/measure': (page) => [page.getByRole('radiogroup', { name: 'Where to measure' }).getByRole('radio').first()],
  '#/runs?selected=1': (page) => [page.getByRole('complementary', { name: 'Run 1' })],
  '#/models': (page) => [page.getByText(/published figures reproduced/)],
  '#/export': (page) => [page.getByRole('button', { name: /^Save / }).and(page.locator(':enabled'))],
  '#/export?format=cuda': (page) => [page.getByLabel(/^Preview of .*\.cuh?$/)],
};

test('every view is accessible in both themes and in a narrow window', async ({ page, host }) => {
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  await open(page, host);
  await predicted(page, 1);
  for (const [hash, content] of Object.entries(VIEWS)) {
    const study = /study=\d+/.exec(page.url())![0];
    await page.goto(`http://127.0.0.1:${host.port}/${hash}${hash.includes('?') ? '&' : '?'}${study}`);
    for (const element of content(page)) await expect(element).toBeVisible();
    await expectAccessible(page, hash, 'both');
    await expectHeard(page, hash);
    // In a narrow window, all shapes and formats of a view fold in the same way, so one of them is enough.
    if (/shape=|format=/.test(hash)) continue;
    await page.setViewportSize({ width: 1000, height: 700 });
    for (const element of content(page)) await expect(element).toBeVisible();
    await expectAccessible(page, `${hash}, narrow`, 'none');
    await page.setViewportSize(WIDE);
  }
});

test('changes are announced, and the focus stays where it is', async ({ page, own }) => {
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await open(page, own, '#/ranking');
  await predicted(page, 1);
  const keys = page.keyboard;
  const heard = page.locator('[aria-live=polite]');
  const expectSaid = (text: string | RegExp) => expect(heard.filter({ hasText: text })).toHaveCount(1);

  const grid = page.getByRole('grid', { name: 'Designs, ranked' });
  await expect(rankRows(page).first()).toHaveAttribute('aria-rowindex', '3');
  await expect(page.getByRole('row', { name: 'Baseline' })).toHaveAttribute('aria-rowindex', '2');
  await expect(page.getByRole('columnheader', { name: 'Threads', exact: true })).toHaveAccessibleDescription(
    'Threads that share one unit of work',
  );
  const total = Number(await grid.getAttribute('aria-rowcount')) - 2;
  await page.getByRole('columnheader', { name: 'Block', exact: true }).getByRole('button').click();
  await expectSaid(
    new RegExp(`^${total.toLocaleString('en')} of [\\d,]+ valid designs of 5 devices, by Block size, ascending$`),
  );
  await page.getByRole('combobox', { name: /^Device: / }).focus();
  for (const key of ['Enter', 'ArrowDown', 'Enter']) await keys.press(key);
  await expectSaid(/^[\d,]+ of [\d,]+ valid designs of 5 devices, by Block size, ascending$/);
  await expect(grid).not.toHaveAttribute('aria-rowcount', String(total + 2));
  await expect(page.getByRole('combobox', { name: /^Device: / })).toBeFocused();
  // The list of devices disappears with its view, and the next view gets the focus.
  await keys.press('2');
  await expect(page.getByRole('main', { name: 'Landscape' })).toBeFocused();

  const map = page.getByRole('application', { name: /^Predicted time over/ });
  await expect(map.getByRole('figure')).toHaveAccessibleName(/: best [\d.]+\u00a0ms at [\d,]+ × \d+, .*slowest/);
  await map.focus();
  await keys.press('ArrowRight');
  await keys.press('Enter');
  await expectSaid(/Predicted [\d.]+\s[mµ]s, .*; selected$/);

  // If the focus stays outside the view, the opened view is announced.
  await page.getByRole('button', { name: 'Settings' }).focus();
  await keys.press('6');
  await expectSaid('Runs');
  await page.getByRole('grid', { name: 'Runs' }).focus();
  await keys.press('ArrowDown');
  await expect(page.getByRole('complementary', { name: 'Run 1' })).toBeVisible();
  await keys.press('Delete');
  await expectSaid(/^Run 1, .* deleted\. Undo is available/);
  await expect(page.getByRole('main', { name: 'Runs' })).toBeFocused();
  await keys.press('Control+z');
  await expectSaid('Undone');
  await expect(page.getByRole('row', { name: /^Run 1,/ })).toBeVisible();
});

test('with forced colours, data keeps its own colours and the selection has an outline', async ({ page, host }) => {
  await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' });
  await open(page, host, '#/landscape');
  await predicted(page, 1);
  const cells = page.getByRole('application', { name: /^Predicted time over/ }).locator('image');
  await expect(cells).toHaveAttribute('href', /^data:/);
  const colours = await cells.evaluate(async (image) => {
    const picture = new Image();
    picture.src = image.getAttribute('href')!;
    await picture.decode();
    const canvas = new OffscreenCanvas(picture.width, picture.height);
    const context = canvas.getContext('2d')!;
    context.drawImage(picture, 0, 0);
    return new Set(new Uint32Array(context.getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size;
  });
  expect(colours).toBeGreaterThan(20);
  await expect(page.getByRole('radio', { name: 'Heat map' })).toHaveCSS('outline-style', 'solid');
  await page.keyboard.press('3');
  await rankRows(page).nth(3).click();
  await page.keyboard.press('ArrowDown');
  await expect(rankRows(page).nth(4)).toHaveAttribute('aria-selected', 'true');
  await expect(rankRows(page).nth(4)).toHaveCSS('outline-style', 'double');
  await rankRows(page).nth(3).click();
  await page.keyboard.press('Tab');
  await expect(rankRows(page).nth(3)).toHaveCSS('outline-style', 'solid');
});

test('everything that opens over a view is accessible in both themes', async ({ page, own }) => {
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await open(page, own);
  await predicted(page, 1);
  const both = (where: string, within: string) => expectAccessible(page, where, 'both', within);
  const keys = page.keyboard;

  for (const [key, where, content] of [
    ['Control+k', 'palette', page.getByRole('option').first()],
    ['?', 'key sheet', page.getByRole('dialog')],
    ['Control+,', 'settings', page.getByRole('dialog')],
  ] as const) {
    await keys.press(key);
    await expect(content).toBeVisible();
    await both(where, '[role=dialog]');
    // The page under a dialog must be accessible too.
    if (where === 'palette') await expectAccessible(page, 'the page under the palette', 'none');
    await keys.press('Escape');
  }

  await page.getByRole('menuitem', { name: 'File' }).click();
  await expect(page.getByRole('menu')).toBeVisible();
  await both('menu', '[role=menu]');
  await expectAccessible(page, 'the page under the menu', 'none');
  await keys.press('Escape');

  const term = page.getByRole('table', { name: 'Axes and their values' }).getByRole('button', { name: /cap$/ });
  await expect(term).toHaveAccessibleDescription(/limit on registers per thread/);
  await term.click();
  const glossary = page.getByRole('dialog', { name: 'Glossary' });
  await expect(glossary.getByText('Register cap', { exact: true })).toBeInViewport();
  await both('glossary', '[role=dialog]');
  await glossary.getByRole('textbox', { name: 'Find a term' }).fill('over draws of the assumed inputs');
  await expect(glossary.getByText('Expected regret', { exact: true })).toBeVisible();
  await keys.press('Escape');

  await page.getByRole('button', { name: /^Advanced/ }).click();
  await page.getByRole('spinbutton', { name: 'Cooperation step' }).press('Alt+ArrowDown');
  await expect(page.getByRole('menu')).toBeVisible();
  await both('where a value comes from', '[role=menu]');
  await page.getByRole('menuitem', { name: /^Assume / }).click();
  // The answer to an earlier study is dimmed. The card must first have the answer to the present study.
  const card = page.getByRole('region', { name: 'Recommendation' });
  await expect(card).toHaveAttribute('aria-busy', 'false');
  await expect(page.getByRole('list', { name: 'Inputs worth knowing' })).toBeVisible({ timeout: 90_000 });
  await expect(card.locator('.columns')).toHaveCSS('opacity', '1');
  await both('the whole recommendation', 'section[aria-label=Recommendation]');

  for (const name of ['Details', 'Add devices', 'Balancing: none']) {
    await page.getByRole('main').getByRole('button', { name, exact: true }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await both(`popover ${name}`, '[role=dialog]');
    await keys.press('Escape');
    await expect(page.getByRole('dialog')).toBeHidden();
  }
  await page.getByRole('combobox', { name: /^Loop forms/ }).click();
  await expect(page.getByRole('listbox')).toBeVisible();
  await both('list of a select', '[role=listbox]');
  await keys.press('Escape');

  await keys.press('3');
  await expect(rankRows(page).nth(5)).toBeVisible();
  await keys.press('0');
  await expect(page.getByRole('region', { name: 'Recommendation' })).toBeVisible();
  await both('the recommendation, unfolded', 'section[aria-label=Recommendation]');
  await keys.press('Escape');
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  await expect(page.getByRole('dialog', { name: 'Filter' })).toBeVisible();
  await both('filter', '[role=dialog]');
});
