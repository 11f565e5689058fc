// node test/data/screens/make-screens.ts [NAME …]: takes the README's pictures from the built program (npm run build), in both themes.
// A browser host on a database of its own predicts the example study, as at the first start.
import { chromium, type Page } from '@playwright/test';
import { join } from 'node:path';
import { findChromium } from '../../e2e/fixtures/chromium.ts';
import { startHost } from '../../e2e/fixtures/host.ts';
import { temporaryFolder } from '../../e2e/fixtures/program.ts';

const target = import.meta.dirname;
const VIEWS: readonly {
  readonly name: string;
  readonly key: string;
  readonly arrived: string;
  /** What has to happen before there is something to see. */
  readonly prepare?: (page: Page) => Promise<void>;
}[] = [
  { name: 'study', key: '1', arrived: 'Bars by the logarithm' },
  { name: 'landscape', key: '2', arrived: 'All designs of this device' },
  { name: 'ranking', key: '3', arrived: 'From baseline to here' },
  { name: 'compare', key: '4', arrived: 'Occupancy, what if' },
  { name: 'measure', key: '5', arrived: 'Where the model errs', prepare: measured },
];
const asked = process.argv.slice(2);

/** The example for any machine, predicted, and forty of its designs measured by the page's own software adapter. */
async function measured(page: Page): Promise<void> {
  await page.getByRole('button', { name: /Example study/ }).click();
  await page.getByRole('menuitem', { name: /^Any machine/ }).click();
  await page.keyboard.press('1');
  await page.getByRole('button', { name: /^Predict/ }).click();
  await page.getByText(/^Run 2: [\d,]+ designs predicted/).waitFor({ timeout: 90_000 });
  await page.keyboard.press('5');
  await page.getByRole('radio', { name: /WebGPU in this window/ }).click();
  await page.getByRole('radio', { name: 'Spread' }).click();
  const designs = page.getByRole('spinbutton', { name: 'Designs to measure' });
  await designs.fill('40');
  await designs.press('Enter');
  await page.getByRole('button', { name: /^Measure 40 designs/ }).click();
  await page.getByText('Spearman').waitFor({ timeout: 300_000 });
}

const folder = temporaryFolder();
const host = await startHost(join(folder.path, 'lockstep.db'));
const browser = await chromium.launch({
  executablePath: findChromium(),
  args: [
    '--enable-unsafe-webgpu',
    '--use-webgpu-adapter=swiftshader',
    ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
  ],
});
try {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' });
  await page.goto(host.address);
  await page.getByText(/^Run 1: [\d,]+ designs predicted/).waitFor({ timeout: 90_000 });
  for (const { name, key, arrived, prepare } of VIEWS) {
    if (asked.length > 0 && !asked.includes(name)) continue;
    await prepare?.(page);
    await page.keyboard.press(key);
    await page.getByText(arrived).waitFor();
    await page.getByText('Finding the recommendation').waitFor({ state: 'hidden', timeout: 90_000 });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.mouse.move(720, 20);
      // Settled: two pictures in a row are the same.
      let before: Buffer | null = null;
      for (let i = 0; i < 40; i++) {
        const picture = await page.screenshot();
        if (before && picture.equals(before)) break;
        before = picture;
        await page.waitForTimeout(150);
      }
      const path = join(target, `${name}-${colorScheme}.png`);
      const { length } = await page.screenshot({ path });
      process.stdout.write(`${path}: ${Math.round(length / 1000)} kB\n`);
    }
  }
} finally {
  await browser.close();
  await host.interrupt();
  folder.remove();
}
