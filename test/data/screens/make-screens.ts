// `node test/data/screens/make-screens.ts` takes the README's picture from the built program (npm run build), in both
// themes. A browser host with its own database predicts the example study, as it does at the first start.
import { chromium } from '@playwright/test';
import { join } from 'node:path';
import { findChromium } from '../../e2e/fixtures/chromium.ts';
import { startHost } from '../../e2e/fixtures/host.ts';
import { temporaryFolder } from '../../e2e/fixtures/program.ts';

const folder = temporaryFolder();
const host = await startHost(join(folder.path, 'lockstep.db'));
const browser = await chromium.launch({
  executablePath: findChromium(),
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
});
try {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' });
  await page.goto(host.address);
  await page.getByText(/^Run 1: [\d,]+ designs predicted/).waitFor({ timeout: 90_000 });
  // The page is complete only when these texts are gone, because the heading appears before the inputs worth knowing.
  for (const pending of ['Predicting all designs for the map.', 'Predicting the designs with random values of the assumed inputs.'])
    await page.getByText(pending).waitFor({ state: 'detached', timeout: 90_000 });
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.mouse.move(720, 20);
    // The page has stopped changing when two consecutive pictures are equal.
    let before: Buffer | null = null;
    for (let i = 0; i < 40; i++) {
      const picture = await page.screenshot();
      if (before && picture.equals(before)) break;
      before = picture;
      await page.waitForTimeout(150);
    }
    const path = join(import.meta.dirname, `study-${colorScheme}.png`);
    const { length } = await page.screenshot({ path });
    process.stdout.write(`${path}: ${Math.round(length / 1000)} kB\n`);
  }
} finally {
  await browser.close();
  await host.interrupt();
  folder.remove();
}
