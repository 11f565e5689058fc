import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from './fixtures/desktop.ts';
import { offered, predicted, statusBar } from './fixtures/page.ts';
import { readPdf } from './fixtures/pdf.ts';

test('the newcomer’s path in the window: example, edit, prediction, report by the native dialog', async ({
  desktop: { app, window: page, complaints, folder },
}) => {
  // The first start shows the example study and predicts it.
  await expect(page.getByRole('heading', { name: 'Study', level: 1 })).toBeVisible();
  const whole = await predicted(page, 1);
  expect(await offered(page)).toBe(whole);

  await page.getByRole('radio', { name: 'Distribution' }).click();
  await expect(page.getByRole('figure', { name: /^Distribution of unit lengths of geometric\(0\.05\)/ })).toBeVisible();
  for (const device of ['V100 SXM2 16 GB', 'H100 SXM5 80 GB', 'Instinct MI250X, one GCD'])
    await page.getByRole('checkbox', { name: device }).click({ force: true });
  await expect.poll(() => offered(page)).toBeLessThan(whole / 2);
  const fewer = await offered(page);
  await page.keyboard.press('Control+Enter');
  expect(await predicted(page, 2)).toBe(fewer);

  await page.keyboard.press('8');
  /** The dialog for saving is native, so the test answers it. */
  const saved = async (fileName: string): Promise<Buffer> => {
    const file = join(folder, fileName);
    await app.evaluate(({ dialog }, filePath) => {
      dialog.showSaveDialog = () => Promise.resolve({ canceled: false, filePath });
    }, file);
    await page.getByRole('button', { name: /^Save / }).click();
    await expect(statusBar(page)).toContainText(`Saved ${file}`);
    return readFileSync(file);
  };
  const report = (await saved('report.html')).toString();
  expect(report).toMatch(/^<!doctype html>/i);
  expect(report).toContain('RTX 4090');

  await expect(page.getByRole('button', { name: 'Copy' })).toBeVisible();
  await page.getByRole('radio', { name: /^PDF report/ }).click();
  await expect(page.getByRole('button', { name: 'Copy' })).toBeHidden();
  const printed = await saved('report.pdf');
  expect(printed.toString('latin1', 0, 5)).toBe('%PDF-');
  const { pages, text } = readPdf(printed);
  expect(pages).toBeGreaterThan(1);
  expect(text).toContain('RTX 4090');
  expect(complaints).toEqual([]);
});
