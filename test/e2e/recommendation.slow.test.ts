import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Locator, Page } from '@playwright/test';
import { expect, open, test } from './fixtures/browser.ts';
import { enter, predicted, rankRows, statusBar, WIDE } from './fixtures/page.ts';
import { ROOT } from './fixtures/program.ts';

test.use({ viewport: WIDE });

const card = (page: Page): Locator => page.getByRole('region', { name: 'Recommendation' });
async function settled(page: Page): Promise<Locator> {
  const answered = card(page).and(page.locator('[aria-busy=false]'));
  await expect(answered.getByRole('button', { name: /^Copy header/ })).toBeEnabled();
  return answered;
}
const field = (page: Page, name: string): Locator => page.getByRole('spinbutton', { name, exact: true });
async function fill(page: Page, name: string, value: string): Promise<void> {
  await enter(field(page, name), value);
  // The handler of the key makes the card busy. The exact answer may take less time than one check of the page.
}

test('the card answers the study as it is edited, and dims the answer to an earlier version', async ({ page, own }) => {
  // While `holds` is true, the page receives no answer.
  const held: (() => void)[] = [];
  let holds = false;
  // While `holdsMaps` is true, the engine receives no request for all designs, which the maps need.
  const heldRequests: (() => void)[] = [];
  let holdsMaps = false;
  await page.routeWebSocket(/./, (socket) => {
    const server = socket.connectToServer();
    const send = (message: string | Buffer) => () => socket.send(message);
    server.onMessage((message) => (holds ? held.push(send(message)) : send(message)()));
    socket.onMessage((message) => {
      const request = () => server.send(message);
      if (holdsMaps && /"look":"(coarse|all)"/.test(String(message))) heldRequests.push(request);
      else request();
    });
  });
  await open(page, own);
  const shown = await settled(page);
  const picked = shown.getByRole('button', { name: /, recommended$/ });
  await expect(picked).toBeVisible();
  const before = await shown.locator('.rest.selectable').textContent();
  holds = true;
  await enter(field(page, 'Number of units'), '5000');
  await expect(card(page).locator('.columns')).toHaveCSS('opacity', '0.45');
  await expect(card(page).getByRole('button', { name: /^Copy header/ })).toBeDisabled();
  await expect(card(page).locator('button.primary')).toBeDisabled();
  holds = false;
  for (const send of held) send();
  await settled(page);
  await expect(card(page).locator('.columns')).toHaveCSS('opacity', '1');
  await expect(card(page).locator('.rest.selectable')).not.toHaveText(before!);
  await expect(picked).toBeVisible();

  // If the maps take long, the card says that they belong to the earlier inputs.
  holdsMaps = true;
  await enter(field(page, 'Number of units'), '6000');
  await expect(shown.getByText('of the earlier inputs; the new one is being predicted')).toBeVisible();
  holdsMaps = false;
  for (const request of heldRequests) request();
  await expect(card(page).getByText('of the earlier inputs')).toBeHidden();
  await expect(picked).toBeVisible();

  // After several edits, the card has the answer that a new page gets for the saved study.
  const edits = {
    'Serial fraction': '0.2',
    'Once per unit': '1500',
    'Memory traffic per iteration': '16',
    'Number of units': '50000',
  };
  for (const [name, value] of Object.entries(edits)) await fill(page, name, value);
  await settled(page);
  // How sure the recommendation is follows later, after a colon.
  const answer = async () => {
    const [main, ...others] = await shown.locator('.main, .rest.selectable, .time b').allTextContents();
    expect(others).toHaveLength(2);
    return [main.replace(/:.*/, ''), ...others];
  };
  const texts = await answer();
  await expect(page.getByText(/, saved$/)).toBeVisible();
  await page.reload();
  await settled(page);
  expect(await answer()).toEqual(texts);
  const time = (await card(page).locator('.time b').textContent())!;

  // The card and its maps follow σ while it is dragged.
  const maps = card(page).getByRole('toolbar', { name: 'Landscape by threads per unit' });
  const map = maps.getByRole('button', { name: /^4 threads per unit, best [\d.]+ [mµ]s/ });
  const nameBefore = (await map.getAttribute('aria-label'))!;
  const slider = page.getByRole('slider', { name: /^Serial fraction/ });
  const track = (await slider.boundingBox())!;
  const y = track.y + track.height / 2;
  await page.mouse.move(track.x + track.width * 0.1, y);
  await page.mouse.down();
  await page.mouse.move(track.x + track.width * 0.9, y, { steps: 12 });
  await expect(card(page).locator('.time b')).not.toHaveText(time); // The user still holds the slider.
  await expect(map).not.toHaveAccessibleName(nameBefore);
  await page.mouse.up();

  // The example states 0 in this field. A value from the user is also marked as given, an unknown one as assumed.
  const mark = page.getByRole('button', { name: /^Dependent loads per iteration: / });
  await expect(mark).toHaveAccessibleName(/: given$/);
  await fill(page, 'Dependent loads per iteration', '1');
  await expect(mark).toHaveAccessibleName(/: given$/);
  await field(page, 'Dependent loads per iteration').press('Alt+ArrowDown');
  await page.getByRole('menuitem', { name: /^Assume / }).click();
  await expect(mark).toHaveAccessibleName(/: assumed$/);
  await settled(page);
  await page.getByRole('button', { name: 'I know this value: Dependent loads per iteration' }).click();
  await expect(mark).toHaveAccessibleName(/: given$/);

  await enter(field(page, 'Registers per thread'), '1000');
  await enter(page.getByRole('textbox', { name: 'Values of Register cap' }), 'none');
  await expect(card(page).getByRole('heading', { name: 'No design can run' })).toBeVisible();
});

test('keys copy the header, open a map, and unfold the recommendation elsewhere', async ({ page, own, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await open(page, own);
  await predicted(page, 1);
  const answered = await settled(page);
  await page.keyboard.press('h');
  await expect(statusBar(page)).toContainText(/Header copied, .* assumption/);
  const header = await page.evaluate(() => navigator.clipboard.readText());
  expect(header).toContain('#ifndef LOCKSTEP_PROPAGATE_CUH');
  expect(header).toMatch(/[Aa]ssumed/);
  expect(header).toContain('Knee softness');
  await page.evaluate(() => {
    navigator.clipboard.write = () => Promise.reject(new DOMException('refused', 'NotAllowedError'));
  });
  await page.keyboard.press('h');
  await expect(statusBar(page)).toContainText('Nothing was copied: this page may not use the clipboard.');

  const maps = answered.getByRole('toolbar', { name: 'Landscape by threads per unit' });
  const recommended = maps.getByRole('button', { name: /, recommended$/ });
  await recommended.focus();
  await page.keyboard.press('ArrowRight');
  await expect(recommended).not.toBeFocused();
  const label = (await maps.locator(':focus').getAttribute('aria-label'))!;
  const said = /^(?<u>\d+) threads per unit, best (?<best>[\d.]+)\s[mµ]s$/.exec(label)!;
  await page.keyboard.press('Enter');
  const map = page.getByRole('application', { name: /^Predicted time over block size/ });
  await expect(map).toHaveAccessibleName(new RegExp(`best ${said.groups!['best'].slice(0, 5)}`));
  await expect(page.getByRole('heading', { name: `${said.groups!['u']} threads per unit`, exact: true })).toBeVisible();

  // In other views the recommendation is one line, which a key opens and Escape closes.
  await page.keyboard.press('3');
  await expect(rankRows(page).first()).toBeVisible();
  const line = page.getByRole('button', { name: /^Recommendation\. .* threads? per unit, .* [mµ]s, .* best$/ });
  await expect(line).toBeVisible();
  await page.keyboard.press('0');
  await expect(card(page)).toBeFocused();
  await page.keyboard.press('Tab');
  await expect(card(page).locator(':focus')).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(card(page)).toBeHidden();
  await expect(line).toBeFocused();

  // A run that belongs to no study has no recommendation above it, not even that of the open study.
  const study = join(ROOT, 'db/examples/software.json');
  const program = [join(ROOT, 'src-main/cli/lockstep.mjs'), 'sweep', study, '--db', own.databaseFile];
  await promisify(execFile)(process.execPath, program, { maxBuffer: 2 ** 28 });
  await page.getByRole('button', { name: /^Run \d+, .*840/ }).click();
  await expect(page.getByText(/^Run \d+ does not belong to this study\. Its recommended design is in/)).toBeVisible();
  await expect(rankRows(page).first()).toBeVisible();
  await expect(page.getByRole('button', { name: /^Recommendation/ })).toBeHidden();
  await page.keyboard.press('0');
  await expect(card(page)).toBeHidden();
});
