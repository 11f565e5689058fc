import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Download, Locator, Page } from '@playwright/test';
import { expect, open, test } from './fixtures/browser.ts';
import { optunaStorage } from '../optuna-storage.ts';
import { theory } from './fixtures/newcomer.ts';
import { command, drop, offered, paste, predicted, press, statusBar } from './fixtures/page.ts';
import { ROOT } from './fixtures/program.ts';

const editor = (page: Page): Locator => page.getByRole('region', { name: 'Workload' });
const law = (page: Page) => page.getByRole('figure', { name: /^Distribution of unit lengths/ });

const sheet = (page: Page) => page.getByRole('dialog', { name: /^Import / });
const inSheet = (page: Page, role: Parameters<Page['getByRole']>[0], name: string | RegExp) =>
  sheet(page).getByRole(role, { name });

const savedFile = async (download: Download) => ({
  name: download.suggestedFilename(),
  mimeType: '',
  buffer: readFileSync(await download.path()),
});

test('dropped, chosen and pasted tables and graphs become the workload, until undone', async ({ page, own }) => {
  // The listener is set before the page answers, because a key may reach a busy page too early.
  const chooser = page.waitForEvent('filechooser');
  await open(page, own);
  await drop(editor(page), 'steps.csv', `length\n${'10\n'.repeat(64)}${'30\n'.repeat(64)}`);
  await expect(sheet(page).getByText('128 units, 2 distinct lengths')).toBeVisible();
  await expect(inSheet(page, 'button', 'Use 128 units')).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(sheet(page)).toBeHidden();
  await expect(law(page)).toHaveAccessibleName(/steps\.csv: mean 20\.0(, depth of \d+ 20\.0)+$/);
  await expect(page.getByRole('radio', { name: 'File' })).toBeChecked();
  await expect(page.getByRole('spinbutton', { name: 'Number of units' })).toHaveValue('128');
  await expect(editor(page).getByText('steps.csv', { exact: true })).toBeVisible();
  await statusBar(page).getByRole('button', { name: /^Undo/ }).click();
  await expect(law(page)).toHaveAccessibleName(/acts-propagation-steps\.csv: mean 38\.6/);
  await expect(page.getByRole('spinbutton', { name: 'Number of units' })).not.toHaveValue('128');

  await offered(page);
  await page.keyboard.press('Control+i');
  const counted = { name: 'n.csv', mimeType: 'text/csv', buffer: Buffer.from('value,count\n3,10\n12,30\n') };
  await chooser.then((open) => open.setFiles(counted));
  await expect(sheet(page).getByText('40 units, 2 distinct lengths')).toBeVisible();
  await expect(inSheet(page, 'button', 'Use 40 units')).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(law(page)).toHaveAccessibleName(/n\.csv#value&count=count: mean 9\.8/);
  await page.keyboard.press('2');
  await paste(page.locator('body'), '4\n4\n5\n');
  await expect(sheet(page).getByText('3 units, 2 distinct lengths')).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(sheet(page)).toBeHidden();
  await expect(page).toHaveURL(/#\/landscape/);

  await page.keyboard.press('1');
  await drop(editor(page), 'web.txt', '# Nodes: 4 Edges: 5\n# FromNodeId\tToNodeId\n0\t1\n0\t2\n0\t3\n2\t0\n3\t0\n');
  await expect(statusBar(page)).toContainText('web.txt imported: 4 units. Each vertex of the edge list is a unit');
  await expect(law(page)).toHaveAccessibleName(/web\.txt: mean 1\.3/);

  // The user chooses the columns of an unknown table.
  await page.keyboard.press('8');
  await drop(page.getByRole('main'), 'jobs.tsv', 'job\thops\tms\n7\t5\t0.5\n9\t5\t0.25\n4\t9\t1\n');
  await expect(sheet(page).getByText('3 units, 3 distinct lengths')).toBeVisible();
  await expect(inSheet(page, 'combobox', /^Separator: Tab/)).toBeVisible();
  await sheet(page).getByRole('button', { name: 'ms', exact: true }).click();
  await expect(sheet(page).getByRole('alert')).toContainText('Line 2 of ms has 0.5. Lengths are whole numbers');
  await expect(inSheet(page, 'button', /^Use/)).toBeDisabled();
  await sheet(page).getByRole('button', { name: 'hops', exact: true }).click();
  await inSheet(page, 'button', 'Use 3 units').click();
  await expect(page).toHaveURL(/#\/study/);
  await expect(law(page)).toHaveAccessibleName(/jobs\.tsv#hops: mean 6\.3/);

  // A study is saved with its lengths in their order, and both files are opened together.
  const downloads: ReturnType<typeof savedFile>[] = [];
  page.on('download', (download) => downloads.push(savedFile(download)));
  await page.keyboard.press('Control+Shift+s');
  await expect(statusBar(page)).toContainText(
    'Saved with its lengths. Keep both files in one folder and open them together: ',
  );
  const files = await Promise.all(downloads);
  expect(files[0].buffer.toString()).toBe('length\n5\n5\n9\n');
  const reopening = page.waitForEvent('filechooser');
  await command(page, 'Open study file');
  await reopening.then((open) => open.setFiles(files));
  await expect(law(page)).toHaveAccessibleName(/\.lengths\.csv: mean 6\.3/);

  // A panel that waits for a file of one kind also accepts a file of the other kind.
  await page.getByRole('radio', { name: 'Matrix' }).click();
  await expect(editor(page).getByText('Drop a Matrix Market file')).toBeVisible();
  await drop(editor(page), 'rows.csv', 'length\n10\n30\n');
  await expect(inSheet(page, 'button', 'Use 2 units')).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('radio', { name: 'File' })).toBeChecked();
  await expect(editor(page).getByText('rows.csv', { exact: true })).toBeVisible();
  await page.getByRole('radio', { name: 'Matrix' }).click();
  await drop(editor(page), 'one.mtx', '%%MatrixMarket matrix coordinate pattern general\n2 2 3\n1 1\n1 2\n2 2\n');
  await expect(page.getByRole('radio', { name: 'Matrix' })).toBeChecked();
  await expect(editor(page).getByText('one.mtx', { exact: true })).toBeVisible();
  await page.getByRole('radio', { name: 'Distribution' }).click();
  await expect(statusBar(page)).toContainText('Workload is now geometric(0.05)');
  await statusBar(page).getByRole('button', { name: /^Undo/ }).click();
  await expect(editor(page).getByText('one.mtx', { exact: true })).toBeVisible();
  await expect(page.getByRole('spinbutton', { name: 'Number of units' })).toHaveValue('2');
});

test('wrong files and hostile studies are refused, and a chart is saved in three formats', async ({ page, host }) => {
  await open(page, host);
  const before = await offered(page);
  await drop(editor(page), 'wrong.csv', 'length,probability\n10,0.5\n20,many\n');
  await inSheet(page, 'radio', 'Probabilities').click();
  await inSheet(page, 'combobox', /^Column of probabilities/).click();
  await page.getByRole('option', { name: /^probability/ }).click();
  const alert = sheet(page).getByRole('alert');
  await expect(alert).toHaveText('Line 3 of probability has the text “many”. Choose a column of numbers.');
  await page.keyboard.press('Escape');
  await drop(editor(page), 'wrong.xlsx', 'PK');
  const refusal = page.getByRole('alert').filter({ hasText: 'wrong.xlsx could not be imported' });
  await expect(refusal).toContainText('Save it as CSV');
  await expect(law(page)).toHaveAccessibleName(/acts-propagation-steps\.csv: mean 38\.6/);
  expect(await offered(page)).toBe(before);
  await refusal.getByRole('button', { name: 'Dismiss' }).click();
  await expect(refusal).toBeHidden();

  const study = JSON.parse(readFileSync(join(ROOT, 'db/examples/geometric.json'), 'utf8')) as object;
  const hostile = JSON.stringify({ ...study, name: 'Intruder' }).replace('{', '{"__proto__":{"polluted":true},');
  await drop(editor(page), 'intruder.json', hostile);
  await expect(page.getByRole('alert').filter({ hasText: 'intruder.json was not opened' })).toContainText('__proto__');
  await expect(page).toHaveTitle(/^Acts propagation/);
  expect(await page.evaluate(() => 'polluted' in {})).toBe(false);

  await theory(page).click();
  const chart = page.getByRole('figure', { name: /^Performance loss/ });
  const save = async (item: string) => {
    await chart.hover();
    await chart.getByRole('button', { name: 'Export this chart' }).click();
    const saving = page.waitForEvent('download');
    await page.getByRole('menuitem', { name: item }).click();
    return savedFile(await saving);
  };
  const [png, svg, csv] = [await save('Save as PNG'), await save('Save as SVG'), await save('Save data as CSV')];
  expect([png, svg, csv].map(({ name }) => name.replace('performance-loss', ''))).toEqual(['.png', '.svg', '.csv']);
  expect(png.buffer.subarray(0, 8)).toEqual(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]));
  expect(png.buffer.readUInt32BE(16)).toBeGreaterThan(400); // The picture is twice as wide as the chart on screen.
  expect(svg.buffer.toString()).toMatch(/^<svg[^>]*>[^]*aggregate[^]*<\/svg>$/);
  expect(csv.buffer.toString()).toMatch(/^n,mean loss,aggregate loss,standard deviation\n1,1,1,/);
});

test('an import of times remembers its choices, and compiled code fills chosen fields', async ({ page, own }) => {
  const trials = [8_590, 8_638].map((number) => ({ values: [number], parameters: { number, BLOCK: 896 } }));
  const storage = optunaStorage([{ name: 'walk', trials }]);
  const axis = (parameter: string) => sheet(page).getByRole('combobox', { name: new RegExp(`^Axis of ${parameter}:`) });
  const use = inSheet(page, 'button', 'Import times');
  await open(page, own);
  await predicted(page, 1);
  for (const time of ['first', 'second']) {
    await drop(page.getByRole('navigation', { name: 'Views' }), `${time}.db`, storage);
    await inSheet(page, 'radio', 'µs').click();
    if (time === 'first') {
      for (const parameter of ['number', 'BLOCK']) {
        await expect(axis(parameter)).toHaveText('Not an axis');
        await axis(parameter).focus();
        await press(page, 'Enter', 'ArrowDown', 'Enter');
      }
      await expect(sheet(page).getByText('Two parameters have the axis “Number of the design”')).toBeVisible();
      await expect(use).toBeDisabled();
      await axis('BLOCK').click();
      await page.getByRole('option', { name: 'Block size' }).click();
    }
    await expect(axis('number')).toHaveText('Number of the design');
    await expect(axis('BLOCK')).toHaveText('Block size');
    await use.click();
    await expect(sheet(page)).toBeHidden();
    await expect(statusBar(page)).toContainText(`${time}.db: study of Optuna, 2 cases; 2 designs of run 1`);
  }

  await page.keyboard.press('1');
  const profile = page.getByRole('region', { name: 'Kernel profile' });
  const instructions = profile.getByRole('spinbutton', { name: 'Instructions per iteration' });
  const registers = profile.getByRole('spinbutton', { name: 'Registers per thread' });
  const before = await registers.inputValue();
  await drop(profile, 'kernels.ptx', readFileSync(join(ROOT, 'test/data/inspect/kernels.ptx'), 'utf8'));
  await expect(inSheet(page, 'combobox', /^Kernel: csr/)).toBeVisible();
  await inSheet(page, 'combobox', /^Kernel/).click();
  await page.getByRole('option', { name: 'chase' }).click();
  await expect(inSheet(page, 'combobox', /^Main loop: Line 34: 10 instructions/)).toBeVisible();
  const row = inSheet(page, 'row', /Instructions per iteration/);
  await expect(row.getByRole('cell')).toHaveText(['560', '10']);
  const kept = inSheet(page, 'checkbox', 'Import Registers per thread');
  // Without a compiler, the registers of a PTX kernel are not known.
  if (await kept.isVisible()) await kept.uncheck({ force: true });
  await inSheet(page, 'button', /^Import \d+ fields/).click();
  await expect(sheet(page)).toBeHidden();
  await expect(instructions).toHaveValue('10');
  await expect(registers).toHaveValue(before);
  await expect(profile.getByRole('button', { name: /^Instructions per iteration.*imported/i })).toBeVisible();
  await statusBar(page).getByRole('button', { name: /^Undo/ }).click();
  await expect(instructions).toHaveValue('560');

  await drop(page.getByRole('main'), 'build.log', 'ptxas info    : 0 bytes gmem\n');
  await expect(sheet(page).getByRole('alert')).toContainText('names no kernel');
  await expect(inSheet(page, 'button', /^Import \d/)).toBeDisabled();
  await page.keyboard.press('Escape');
  await expect(sheet(page)).toBeHidden();
});
