import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from './fixtures/browser.ts';
import { ROOT, temporaryFolder } from './fixtures/program.ts';
import { findTool, lacks } from '../tools.mjs';

test.skip(lacks('speedscope'), 'speedscope is missing');

const PAGE = 'http://localhost/';
/** A software renderer prints messages about WebGL, which speedscope uses for drawing. */
const DRAWING = /WebGL/;

test('speedscope imports a launch trace without an error', async ({ page, seed }) => {
  const folder = temporaryFolder();
  const file = join(folder.path, 'launch.json');
  const args = ['export', '1', '--format', 'trace', '--output', file, '--db', seed];
  const made = spawnSync(process.execPath, [join(ROOT, 'src-main/cli/lockstep.mjs'), ...args], { encoding: 'utf8' });
  expect([made.status, made.stderr]).toEqual([0, expect.stringMatching(/^Wrote /m)]);

  const said: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'warning' && !DRAWING.test(message.text())) said.push(message.text());
  });
  page.on('dialog', (dialog) => {
    said.push(dialog.message());
    void dialog.dismiss();
  });
  await page.route(`${PAGE}**`, (route) => {
    const { pathname } = new URL(route.request().url());
    return route.fulfill({ path: join(findTool('speedscope')!, pathname === '/' ? 'index.html' : pathname) });
  });
  await page.goto(PAGE);
  await page.locator('input[type=file]').setInputFiles(file);
  await expect(page).toHaveTitle('launch.json - speedscope');
  // The file has one profile for the launches, and one for each block slot of the drawn multiprocessors.
  await expect(page.getByText(/^Device, simulated \(pid 1\), Launches \(tid 1\) \(1\/\d{2,}\)$/)).toBeVisible();
  expect(said).toEqual([]);
  folder.remove();
});
