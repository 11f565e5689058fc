/**
 * `npm run bench -- start`, after a build: measures when a user sees the page and when it is usable, in the browser
 * host and in the desktop window, with an existing database. Prints the fastest and the median of several starts. A
 * part whose program (Chromium, an Electron) is missing is skipped. The time of an empty window is Electron's own part.
 */
import { chromium, type Page } from '@playwright/test';
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findElectron } from '../../src-main/hosts/runtimes.mjs';
import { desktopCommand } from '../e2e/fixtures/desktop.ts';
import { startHost } from '../e2e/fixtures/host.ts';
import { ROOT, temporaryFolder } from '../e2e/fixtures/program.ts';
import { findTool } from '../tools.mjs';

const STARTS = 7;

/** The page is usable when it shows the study with the button to predict. */
const usable = (page: Page) =>
  page.getByRole('button', { name: /^Predict [\d,]+ designs/, disabled: false }).waitFor({ timeout: 120_000 });

async function report(what: string, targetMs: number | null, measure: () => Promise<number>): Promise<void> {
  const times: number[] = [];
  for (let i = 0; i < STARTS; i++) times.push(await measure());
  times.sort((a, b) => a - b);
  const [fastest, median] = [times[0], times[STARTS >> 1]].map(Math.round);
  process.stdout.write(
    `${what.padEnd(44)} ${fastest} ms, median ${median} ms${targetMs === null ? '' : ` (target ${targetMs} ms)`}\n`,
  );
}

async function browserHost(executablePath: string): Promise<void> {
  const folder = temporaryFolder();
  const host = await startHost(join(folder.path, 'bench.db'));
  const browser = await chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
  try {
    const first = await browser.newPage();
    await first.goto(host.address);
    await first.getByText(/^Run 1: [\d,]+ designs predicted/).waitFor({ timeout: 120_000 });
    await first.close();
    /** A new context has an empty browser cache. */
    const opened = async (seen: (page: Page) => Promise<number>): Promise<number> => {
      const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
      await page.goto(host.address);
      const time = await seen(page);
      await page.close();
      return time;
    };
    await report('browser host: first paint with content', 800, () =>
      opened(async (page) => {
        await usable(page);
        return page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
      }),
    );
    await report('browser host: usable', null, () =>
      opened(async (page) => {
        await usable(page);
        return page.evaluate(() => performance.now());
      }),
    );
  } finally {
    await browser.close();
    await host.interrupt();
    folder.remove();
  }
}

/**
 * The time starts when the process is created. The creation time that the system reports is not used, because it is
 * wrong by all adjustments of the clock since the system started.
 */
function desktopStart({ file, args, env }: ReturnType<typeof desktopCommand>): Promise<number> {
  const began = Date.now();
  // Nothing controls the application from outside, because that would slow it down.
  const child = spawn(file, ['-r', join(import.meta.dirname, 'start-watch.cjs'), ...args], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  return new Promise((resolve, reject) =>
    child.on('exit', () => {
      const usableAt = /^usable (\d+)$/m.exec(said)?.[1];
      if (usableAt === undefined) reject(new Error(`the desktop window did not become usable: ${said}`));
      else resolve(Number(usableAt) - began);
    }),
  );
}

async function desktop(): Promise<void> {
  const folder = temporaryFolder();
  const command = desktopCommand(null, folder.path);
  await desktopStart(command); // creates the database and the cached code
  await report('desktop: from the start to a usable window', 1500, () => desktopStart(command));
  const empty = join(folder.path, 'empty');
  mkdirSync(empty);
  writeFileSync(join(empty, 'package.json'), '{"main":"main.cjs"}');
  writeFileSync(
    join(empty, 'main.cjs'),
    `const { app, BrowserWindow } = require('electron');
     app.whenReady().then(() => new BrowserWindow().loadURL('data:text/html,<button>Predict 1 designs</button>'));`,
  );
  await report('desktop: an empty window of this Electron', null, () =>
    desktopStart({ ...command, args: command.args.map((one) => (one === ROOT ? empty : one)) }),
  );
  folder.remove();
}

const browser = findTool('chromium');
if (browser) await browserHost(browser);
else process.stdout.write('browser host: not measured, Chromium is missing\n');
const electron = findElectron(ROOT);
if ('file' in electron) await desktop();
else process.stdout.write(`desktop: not measured, ${electron.missing}\n`);
