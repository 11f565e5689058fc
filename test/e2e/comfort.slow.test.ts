import type { Page } from '@playwright/test';
import { expect, open, test } from './fixtures/browser.ts';
import { predicted, rankRows } from './fixtures/page.ts';

const VIEWS = ['Study', 'Landscape', 'Ranking', 'Compare', 'Measure', 'Runs', 'Models', 'Export'];

const SCREEN = { width: 1440, height: 900 };
/** What is left of the screen for the page if the zoom is 200 %. */
const TWICE_AS_LARGE = { width: 720, height: 450 };

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
        // Scrolling can bring any part of the content into this element's frame. From here on, the frame itself must be
        // reachable.
        if (/auto|scroll/.test(overflowX + overflowY)) box = frame;
        if (position === 'fixed') break;
      }
    }
    return lost;
  });
}

test('nothing moves with reduced motion, and at 200 % everything can be scrolled into view', async ({ page, host }) => {
  await open(page, host);
  await predicted(page, 1);
  for (const [i, view] of VIEWS.entries()) {
    await page.keyboard.press(String(i + 1));
    await expect(page.getByRole('heading', { name: view, level: 1 })).toBeVisible();
    await page.setViewportSize(TWICE_AS_LARGE);
    await expect.poll(() => unreachable(page), { message: view }).toEqual([]);
    await page.setViewportSize(SCREEN);
    await page.keyboard.press('Control+k');
    await expect(page.getByRole('combobox', { name: 'Search or run a command' })).toBeFocused();
    expect(await moving(page), view).toEqual([]);
    await page.keyboard.press('Escape');
    await expect(page.getByRole('dialog')).toBeHidden();
  }
  await page.setViewportSize(TWICE_AS_LARGE);
  await page.evaluate(() => window.scrollTo(10_000, 10_000));
  const end = await page.evaluate(() => {
    const { right, bottom } = document.querySelector('footer')!.getBoundingClientRect();
    return { right: right - innerWidth, bottom: bottom - innerHeight };
  });
  expect(end.right).toBeLessThanOrEqual(1);
  expect(end.bottom).toBeLessThanOrEqual(1);
});

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
