import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { expect, open, test } from './fixtures/browser.ts';
import { expectAccessible } from './fixtures/accessible.ts';
import { choose, drop, enter, predicted, smallStudy, statusBar } from './fixtures/page.ts';
import { ROOT } from './fixtures/program.ts';

// Measures with the real engine and a real WebGPU device, the software adapter of every Chromium.

const grid = (page: Page) => page.getByRole('grid', { name: 'Measured designs' });
const rows = (page: Page) => grid(page).getByRole('row');
const measureButton = (page: Page) => page.getByRole('button', { name: /^Measure 6 designs/ }).first();
const sees = (page: Page, text: string | RegExp) => expect(page.getByText(text)).toBeVisible();

async function setUp(page: Page, count: number, repeats: number): Promise<void> {
  await page.keyboard.press('5');
  await expect(page.getByRole('heading', { name: 'Measure', level: 1 })).toBeVisible();
  await page.getByRole('radio', { name: /WebGPU in this window/ }).click();
  await fill(page, 'Designs to measure', count);
  await fill(page, 'Repeats', repeats);
  await fill(page, 'Warm-ups', 1);
}
async function fill(page: Page, name: string, value: number): Promise<void> {
  await enter(page.getByRole('spinbutton', { name, exact: true }), String(value));
}

test('designs are measured despite cancelling and a reload, and show where the model errs', async ({ page, own }) => {
  await open(page, own);
  await predicted(page, 1);
  await setUp(page, 6, 7);
  const start = measureButton(page);
  await start.click();
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await expect(statusBar(page)).toContainText('Probe cancelled');
  await expect(page.getByRole('button', { name: 'Cancel', exact: true })).toBeHidden();
  await expect(start).toBeEnabled();
  await expect(page.getByRole('button', { name: /^Run 2,/ })).toHaveCount(0);

  await page.keyboard.press('1');
  await smallStudy(page, [1, 2, 4, 8]);
  await setUp(page, 6, 16);
  await sees(page, /^Only designs that this target can run: up to 4 \w+ per unit\.$/);
  await page.getByRole('radio', { name: /CPU of this machine/ }).click();
  await expect(page.getByText(/^Only designs/)).toBeHidden();
  await page.getByRole('radio', { name: /WebGPU in this window/ }).click();
  await page.getByRole('radio', { name: 'Spread' }).click();
  await measureButton(page).click();
  await expect(rows(page).filter({ hasNotText: 'queued' }).nth(1)).toBeVisible({ timeout: 120_000 });
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await expect(statusBar(page)).toContainText('Run 3 cancelled');
  const bar = page.getByRole('status').filter({ hasText: 'the measured times are kept' });
  await expect(bar).toBeVisible();
  const kept = Number(/after\s+(\d+)\s+of\s+6/.exec((await bar.textContent())!)![1]);
  expect(kept).toBeGreaterThan(0);
  const resume = page.getByRole('button', { name: 'Resume', exact: true });
  await resume.click();
  await expect(bar).toBeHidden();

  // After the reload, this page is no longer the window that measures.
  await page.reload();
  const waiting = page.getByRole('status').filter({ hasText: 'waits for the window that was measuring it' });
  await waiting.getByRole('button', { name: 'Cancel' }).click();
  await expect(waiting).toBeHidden();
  await expect(page.getByRole('status').filter({ hasText: 'was cancelled' })).toBeVisible();
  await resume.click();

  await expect(rows(page)).toHaveCount(6);
  await expect(page.getByText('Spearman')).toBeVisible({ timeout: 180_000 });
  await expect(page.getByRole('heading', { name: 'Measured designs' })).toBeVisible();
  for (const row of await rows(page).all())
    await expect(row).toHaveAccessibleName(/^Predicted rank \d, measured rank \d, measured [\d.,]+.[mµn]?s/);
  await expect(page.getByRole('figure', { name: 'Predicted against measured times of 6 designs' })).toBeVisible();

  await rows(page).first().click();
  const inspector = page.getByRole('complementary', { name: 'Selected design' });
  await expect(inspector.getByText('equals the CPU’s')).toBeVisible();
  await expect(inspector.getByRole('img', { name: /^16 repeats after 1 warm-up: median/ })).toBeVisible();
  await expectAccessible(page, 'comparison', 'main');

  const link = page.url();
  expect(link).toContain('design=');
  await page.keyboard.press('6');
  await page.getByRole('row', { name: /^Run 3, / }).click();
  await page.keyboard.press('Enter');
  await expect(grid(page)).toBeVisible();
  await page.goto(link);
  await expect(inspector.getByText('equals the CPU’s')).toBeVisible();

  await page.keyboard.press('c');
  // Six times are too few for all parameters; whether one factor fits them depends on the machine.
  await sees(page, /Measure at least 10 designs|one factor for all times/i);
});

test('by keyboard, a run is tuned, cancelled and continued, and a ranked design is measured', async ({ page, own }) => {
  await open(page, own);
  await predicted(page, 1);
  await smallStudy(page);
  await setUp(page, 6, 6);
  await page.getByRole('button', { name: /^Tune…/ }).focus();
  await page.keyboard.press('t');
  await expect(page.getByRole('heading', { name: 'Nothing measured on this target yet' })).toBeVisible();
  await fill(page, 'Designs to measure in all', 8);
  await fill(page, 'Gain to stop at', 0.1);
  await page.getByRole('button', { name: /^Tune/ }).focus();
  await page.keyboard.press('t');
  const steps = page.getByRole('table', { name: 'Steps of the tuning' }).getByRole('row');
  await expect(steps).toHaveCount(2, { timeout: 120_000 });
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await expect(page.getByText('The tuning was cancelled. The measurements are kept')).toBeVisible();

  // Tuning continues until the budget is spent or little is left to gain.
  await page.getByRole('button', { name: 'Continue tuning' }).click();
  await expect(steps).toHaveCount(3, { timeout: 120_000 });
  await sees(page, /slower than the fastest design of all\. The tuning ended(, because at most 0\.1\s% is left| at its limit of 8 designs)/); // prettier-ignore
  await sees(page, /^measured of \d+$/);
  const chart = page.getByRole('figure', { name: /^Best time found by designs measured: .* after 8 designs/ });
  await expect(chart).toBeVisible();
  await expectAccessible(page, 'tuning', 'main');
  await page.getByRole('button', { name: 'Show run 3' }).click();
  await expect(rows(page)).toHaveCount(4);

  await page.keyboard.press('3');
  // The key M hands over the design in the inspector, so the inspector must show one first.
  await expect(page.getByRole('heading', { name: 'Rank 1', exact: true })).toBeVisible();
  await page.keyboard.press('m');
  await expect(page.getByText('1 design selected')).toBeVisible();
  await expect(page.getByRole('button', { name: /^Measure 1 design/ }).first()).toBeEnabled();
  await page.keyboard.press('m');
  await expect(rows(page)).toHaveCount(1);
  await expect(rows(page)).toHaveAccessibleName(/measured [\d.,]+.[mµn]?s/, { timeout: 120_000 });
});

test('results of any program are imported and compared, and a wrong file is refused', async ({ page, own }) => {
  await open(page, own, '#/measure');
  await expect(page.getByRole('heading', { name: 'Nothing measured yet' })).toBeVisible();
  for (const name of ['cpu-xeon-2-cores.jsonl', 'cpu-xeon-2-cores-busy.jsonl']) {
    await page.keyboard.press('1');
    await drop(page.getByRole('main'), name, readFileSync(join(ROOT, 'test/data/measured', name), 'utf8'));
    await expect(page.getByRole('heading', { name: 'Measure', level: 1 })).toBeVisible();
    await expect(statusBar(page)).toContainText(name);
  }
  await page.keyboard.press('4');
  await page.getByRole('radio', { name: 'Measured' }).click();
  const table = page.getByRole('table', { name: 'Designs measured in several runs' });
  await expect(table.getByRole('row', { name: /^triad on 2 cores 67\.82 .* \+689\.0\s% slower$/ })).toBeVisible();
  await expect(page.getByText('4 slower')).toBeVisible();
  await choose(page, /^Reference: #2/, /^#3/);
  await expect(table.getByRole('row', { name: /^triad on 2 cores 535\.1 .* −87\.3\s% faster$/ })).toBeVisible();
  await expect(page).toHaveURL(/runs=3(,|%2C)2/);
  await expectAccessible(page, 'measured runs', 'main');

  await page.keyboard.press('5');
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Import results…' }).last().click();
  await (await chooser).setFiles(join(ROOT, 'test/data/kernel-tuner/convolution-A100.json.gz'));
  // The study has a sweep, so the sheet asks which axes of the sweep the parameters are.
  await page.getByRole('button', { name: 'Import times' }).click();
  const kernels = page.getByRole('grid', { name: 'Imported kernels' });
  await expect(kernels).toBeVisible();
  await expect(kernels).toHaveAttribute('aria-rowcount', '245');
  await expect(statusBar(page)).toContainText('Kernel Tuner cache, 245 cases');
  await expect(page.getByText('imported kernels on NVIDIA A100-PCIE-40GB')).toBeVisible();
  await expectAccessible(page, 'imported kernels', 'main');

  await drop(page.getByRole('heading', { name: 'convolution_kernel' }), 'nonsense.json', '{"nothing": 1}');
  const refused = page.getByRole('alert').filter({ hasText: 'The file was not imported' });
  await expect(refused).toContainText('nonsense.json: The format of the JSON file is not known');
});
