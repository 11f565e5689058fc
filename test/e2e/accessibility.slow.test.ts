import type { Locator, Page } from '@playwright/test';
import { expect, open, test } from './fixtures/browser.ts';
import { expectAccessible, expectAccessibleFolded } from './fixtures/accessible.ts';
import { predicted, press, rankRows, WIDE } from './fixtures/page.ts';

test.use({ viewport: WIDE });

/** What is left of the screen for the page if the zoom is 200 %. */
const TWICE_AS_LARGE = { width: 720, height: 450 };

/** Roles of elements that a screen reader announces by name. */
const NAMED = new Set(['main', 'button', 'combobox', 'textbox', 'slider', 'spinbutton', 'checkbox', 'radio', 'radiogroup', 'table', 'grid', 'figure', 'img', 'region', 'complementary', 'dialog', 'Iframe']); // prettier-ignore

/**
 * Checks what a screen reader announces: the view's name, one first heading, and a name for every element with a role.
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

/** Returns elements with a transition or an animation. */
function moving(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => [
    ...[...document.querySelectorAll('*')]
      .filter((element) => {
        const { transitionDuration, animationDuration, animationName } = getComputedStyle(element);
        const longest = (text: string) => Math.max(...text.split(',').map(parseFloat));
        return longest(transitionDuration) > 0 || (animationName !== 'none' && longest(animationDuration) > 0);
      })
      .map((element) => element.outerHTML.slice(0, 120)),
    // The delay of a sign of waiting is an animation too. With reduced motion, the sign must appear at once.
    ...document
      .getAnimations()
      .map((animation) => animation.effect?.getTiming())
      .filter((timing) => timing?.duration !== 0)
      .map((timing) => JSON.stringify(timing)),
  ]);
}

/** Returns controls and headings that cannot be scrolled into view because something clips them. */
function unreachable(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const lost: string[] = [];
    for (const element of document.querySelectorAll(
      'main :is(h1, h2, button, input, [role=combobox], [tabindex="0"])',
    )) {
      if (!element.checkVisibility({ checkVisibilityCSS: true, checkOpacity: true })) continue;
      let box = element.getBoundingClientRect();
      if (box.width === 0 || box.height === 0) continue;
      for (let at = element.parentElement; at; at = at.parentElement) {
        const frame =
          at === document.documentElement ? new DOMRect(0, 0, innerWidth, innerHeight) : at.getBoundingClientRect();
        const { overflowX, overflowY, position } = getComputedStyle(at);
        const cuts = (overflow: string) => overflow === 'hidden' || overflow === 'clip';
        const outside =
          (cuts(overflowX) && (box.right > frame.right + 1 || box.left < frame.left - 1)) ||
          (cuts(overflowY) && (box.bottom > frame.bottom + 1 || box.top < frame.top - 1));
        if (outside) {
          lost.push(
            `${element.tagName} “${(element.textContent || element.ariaLabel || '').trim().slice(0, 40)}” in ${at.tagName}.${at.className}`,
          );
          break;
        }
        // Scrolling can bring all content into this element's frame. From here on, the frame itself must be reachable.
        if (/auto|scroll/.test(overflowX + overflowY)) box = frame;
        if (position === 'fixed') break;
      }
    }
    return lost;
  });
}

/** All views, each with elements that appear with its content. */
const VIEWS: Readonly<Record<string, (page: Page) => readonly Locator[]>> = {
  // The recommendation has its answer in a card, or in a folded line.
  '#/study': (page) => [
    page.getByText('Designs to predict'),
    // Before the exact answer, an early one is dimmed.
    page.getByText(/^all [\d,]+ valid designs compared/),
    page
      .getByRole('button', { name: /^Copy header/ })
      .or(page.getByRole('button', { name: /^Recommendation\. .* best$/ })),
  ],
  '#/landscape': (page) => [page.getByRole('application', { name: /^Predicted/ }), page.getByRole('table').first()],
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

test('every view is accessible, at 200 % too, nothing moves, and all can be scrolled to', async ({ page, host }) => {
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  await open(page, host);
  await predicted(page, 1);
  for (const [i, [hash, content]] of Object.entries(VIEWS).entries()) {
    const study = /study=\d+/.exec(page.url())![0];
    await page.goto(`http://127.0.0.1:${host.port}/${hash}${hash.includes('?') ? '&' : '?'}${study}`);
    for (const element of content(page)) await expect(element).toBeVisible();
    await expectAccessible(page, hash, i === 0 ? 'html' : 'main');
    await expectHeard(page, hash);
    // In a small window, all shapes and formats of a view fold in the same way, so one of them is enough.
    if (/shape=|format=/.test(hash)) continue;
    await page.setViewportSize(TWICE_AS_LARGE);
    await expect.poll(() => unreachable(page), { message: hash }).toEqual([]);
    await expectAccessibleFolded(page, `${hash}, 200 %`);
    await page.setViewportSize(WIDE);
    await page.keyboard.press('Control+k');
    await expect(page.getByRole('combobox', { name: 'Search or run a command' })).toBeFocused();
    expect(await moving(page), hash).toEqual([]);
    await page.keyboard.press('Escape');
    await expect(page.getByRole('dialog')).toBeHidden();
  }
  await page.setViewportSize(TWICE_AS_LARGE);
  await page.evaluate(() => window.scrollTo(0, 10_000));
  const { x, y, width, height } = (await page.getByRole('contentinfo').boundingBox())!;
  expect(Math.max(x + width - TWICE_AS_LARGE.width, y + height - TWICE_AS_LARGE.height)).toBeLessThanOrEqual(1);
});

test('changes are announced, the focus stays, and forced colours keep the data’s own', async ({ page, host }) => {
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await open(page, host, '#/ranking');
  await predicted(page, 1);
  const keys = page.keyboard;
  const heard = page.locator('[aria-live=polite]');
  const expectSaid = (text: string | RegExp) => expect(heard.filter({ hasText: text })).toHaveCount(1);
  const device = page.getByRole('combobox', { name: /^Device: / });
  const grid = page.getByRole('grid', { name: 'Designs, ranked' });
  await expect(rankRows(page).first()).toHaveAttribute('aria-rowindex', '3');
  await expect(page.getByRole('row', { name: 'Baseline' })).toHaveAttribute('aria-rowindex', '2');
  const words = 'Threads that share one unit of work';
  await expect(page.getByRole('columnheader', { name: 'Threads', exact: true })).toHaveAccessibleDescription(words);
  const total = Number(await grid.getAttribute('aria-rowcount')) - 2;
  await page.getByRole('columnheader', { name: 'Block', exact: true }).getByRole('button').click();
  const order = 'of [\\d,]+ valid designs of 5 devices, by Block size, ascending$';
  await expectSaid(new RegExp(`^${total.toLocaleString('en')} ${order}`));
  await device.focus();
  for (const key of ['Enter', 'ArrowDown', 'Enter']) await keys.press(key);
  await expectSaid(new RegExp(`^[\\d,]+ ${order}`));
  await expect(grid).not.toHaveAttribute('aria-rowcount', String(total + 2));
  await expect(device).toBeFocused();
  // The list of devices disappears with its view, and the next view gets the focus.
  await keys.press('2');
  await expect(page.getByRole('main', { name: 'Landscape' })).toBeFocused();

  const map = page.getByRole('application', { name: /^Predicted time over/ });
  await expect(map.getByRole('figure')).toHaveAccessibleName(/: best [\d.]+\u00a0ms at [\d,]+ × \d+, .*slowest/);
  await map.focus();
  await press(page, 'ArrowRight', 'Enter');
  await expectSaid(/Predicted [\d.]+\s[mµ]s, .*; selected$/);

  // If the focus stays outside the view, the opened view is announced.
  await page.getByRole('button', { name: 'Settings' }).focus();
  await keys.press('6');
  await expectSaid('Runs');
  const runs = page.getByRole('grid', { name: 'Runs' });
  await runs.press('ArrowDown');
  // Enter opens a run, but presses a button that has the focus.
  await page.getByRole('button', { name: 'Close the details' }).press('Enter');
  await expect(page.getByRole('main', { name: 'Runs' })).toBeFocused();
  await runs.press('ArrowDown');
  await expect(page.getByRole('complementary', { name: 'Run 1' })).toBeVisible();
  await keys.press('Delete');
  await expectSaid(/^Run 1, .* deleted\. Undo is available/);
  await expect(page.getByRole('main', { name: 'Runs' })).toBeFocused();
  await keys.press('Control+z');
  await expectSaid('Undone');
  await expect(page.getByRole('row', { name: /^Run 1,/ })).toBeVisible();

  // With forced colours, data keeps its own colours and the selection has an outline.
  await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' });
  await keys.press('2');
  const cells = map.locator('image');
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
  await keys.press('3');
  await rankRows(page).nth(3).click();
  const selected = grid.getByRole('row', { selected: true });
  // The list may scroll, which changes the rows that exist, but not their positions.
  const position = Number(await selected.getAttribute('aria-rowindex'));
  await keys.press('ArrowDown');
  await expect(selected).toHaveAttribute('aria-rowindex', String(position + 1));
  await expect(selected).toHaveCSS('outline-style', 'double');
  await rankRows(page).nth(3).click();
  await keys.press('Tab');
  await expect(selected).toHaveCSS('outline-style', 'solid');
});

test('everything that opens over a view is accessible in both themes', async ({ page, own }) => {
  await page.emulateMedia({ reducedMotion: 'reduce' });
  // This view has the fewest elements.
  await open(page, own, '#/runs');
  await predicted(page, 1);
  const check = (where: string, within: string) => expectAccessible(page, where, within);
  const keys = page.keyboard;

  for (const [key, where, content] of [
    ['Control+k', 'palette', page.getByRole('option').first()],
    ['?', 'key sheet', page.getByRole('dialog')],
    ['Control+,', 'settings', page.getByRole('dialog')],
  ] as const) {
    await keys.press(key);
    await expect(content).toBeVisible();
    await check(where, '[role=dialog]');
    // The page under a dialog must be accessible too.
    if (where === 'palette') await expectAccessibleFolded(page, 'the page under the palette');
    await keys.press('Escape');
  }

  await page.getByRole('menuitem', { name: 'File' }).click();
  await expect(page.getByRole('menu')).toBeVisible();
  await check('menu', '[role=menu]');
  await keys.press('Escape');

  await page.evaluate(() => (window.location.hash = '#/study'));
  const term = page.getByRole('table', { name: 'Axes and their values' }).getByRole('button', { name: /cap$/ });
  await expect(term).toHaveAccessibleDescription(/limit on registers per thread/);
  await term.click();
  const glossary = page.getByRole('dialog', { name: 'Glossary' });
  await expect(glossary.getByText('Register cap', { exact: true })).toBeInViewport();
  await check('glossary', '[role=dialog]');
  await glossary.getByRole('textbox', { name: 'Find a term' }).fill('over draws of the assumed inputs');
  await expect(glossary.getByText('Expected regret', { exact: true })).toBeVisible();
  await keys.press('Escape');

  await page.getByRole('button', { name: /^Advanced/ }).click();
  await page.getByRole('spinbutton', { name: 'Cooperation step' }).press('Alt+ArrowDown');
  await expect(page.getByRole('menu')).toBeVisible();
  await check('where a value comes from', '[role=menu]');
  await page.getByRole('menuitem', { name: /^Assume / }).click();
  // The answer to an earlier study is dimmed. The card must first have the answer to the present study.
  const card = page.getByRole('region', { name: 'Recommendation' });
  await expect(card).toHaveAttribute('aria-busy', 'false');
  await expect(page.getByRole('list', { name: 'Inputs worth knowing' })).toBeVisible({ timeout: 90_000 });
  await expect(card.locator('.columns')).toHaveCSS('opacity', '1');
  await check('the whole recommendation', 'section[aria-label=Recommendation]');

  for (const name of ['Details', 'Add devices', 'Balancing: none']) {
    await page.getByRole('main').getByRole('button', { name, exact: true }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await check(`popover ${name}`, '[role=dialog]');
    await keys.press('Escape');
    await expect(page.getByRole('dialog')).toBeHidden();
  }
  await page.getByRole('combobox', { name: /^Loop forms/ }).click();
  await expect(page.getByRole('listbox')).toBeVisible();
  await check('list of a select', '[role=listbox]');
  await keys.press('Escape');

  await keys.press('3');
  await expect(rankRows(page).nth(5)).toBeVisible();
  await keys.press('0');
  await expect(page.getByRole('region', { name: 'Recommendation' })).toBeVisible();
  await check('the recommendation, unfolded', 'section[aria-label=Recommendation]');
  await keys.press('Escape');
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  await expect(page.getByRole('dialog', { name: 'Filter' })).toBeVisible();
  await check('filter', '[role=dialog]');
});
