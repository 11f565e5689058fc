import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { chromium, type CDPSession, type Locator, type Page } from '@playwright/test';
import { decodeMessage } from '../../src-main/contract/transport.ts';
import type { UniformSource } from '../../src-workers/numeric/random.ts';
import { median } from '../../src-workers/numeric/statistics.ts';
import { inFolder } from '../db/sample.ts';
import { chromiumOptions } from '../e2e/fixtures/chromium.ts';
import { makeSeed, startHost } from '../e2e/fixtures/host.ts';
import { drop } from '../e2e/fixtures/page.ts';
import { complaints, ROOT } from '../e2e/fixtures/program.ts';
import { findTool } from '../tools.mjs';
import { HOSTILE } from '../unit/export-runs.ts';
import { memoryOf } from './host.ts';
import { inMegabytes, inSeconds, oneOf, wholeBelow, type Report, type Section } from './report.ts';

const MINUTE_MS = 60_000;
/** Minutes after which memory must be constant, because all views and charts have been loaded. */
const WARM_MINUTES = 5;
const GROWTH = { fraction: 1.25, bytes: 10 * 2 ** 20 };
/** Longest wait for an answer of the page, ms. A page that takes longer hangs, even on a busy machine. */
const SILENCE_MS = 90_000;
const ACTION_MS = 1500;
/** Time after which all started sweeps must have ended, ms. */
const SETTLED_MS = 300_000;

const KEYS = ['Tab', 'Shift+Tab', 'Enter', 'Escape', 'Space', 'ArrowDown', 'ArrowUp', 'ArrowLeft', 'ArrowRight', 'Home', 'End', 'PageDown', 'Delete', 'Backspace', 'Control+k', 'Control+z', 'Control+Shift+z', 'Control+Enter', 'Control+s', 'p', '?', '/', '1', '2', '3', '4', '5', '6', '7', '8', '9']; // prettier-ignore
const TEXTS = ['', '0', '1', '64', '-1', '1e308', '3.5', '999999999', 'NaN', 'geometric(0.05)', 'zipf(1.2,500)', 'file:none.csv', '1, 2, 4', '32..1024 step 32', 'a', HOSTILE]; // prettier-ignore
const NUMBERS = ['1', '2', '8', '24', '32', '48', '100', '0.5', '0', '3000'];
const VIEWS = ['study', 'landscape', 'landscape?shape=slices', 'landscape?shape=designs', 'ranking', 'compare', 'measure', 'runs', 'runs?selected=1', 'models', 'export', 'export?format=html', 'nothing', 'ranking?selected=99999999']; // prettier-ignore
const FILES = ['db/examples/acts.json', 'db/examples/spmv-uniform.json', 'db/examples/acts-propagation-steps.csv', 'test/data/loops/spmv-times-ms.csv', 'test/data/measured/cpu-xeon-2-cores.jsonl', 'test/data/inspect/kernels.ptx', 'package.json']; // prettier-ignore
const SIZES = [[1440, 900], [900, 900], [1000, 600], [1920, 1200]].map(([width, height]) => ({ width, height })); // prettier-ignore

/** Returns a visible and usable element, or null. Links to other sites are left out. */
async function anyOf(page: Page, uniform: UniformSource, selector: string): Promise<Locator | null> {
  const all = page.locator(`:is(${selector}):not([disabled]):not([href^="http"])`).filter({ visible: true });
  const count = await all.count();
  return count === 0 ? null : all.nth(wholeBelow(uniform, count));
}

const CLICKED = 'button, a[href], summary, [role=row], [role=tab], [role=option], [role=menuitem], [role=radio], [role=checkbox], [role=combobox], [role=slider], [role=columnheader], input[type=checkbox], input[type=radio]'; // prettier-ignore
const TYPED = 'input:not([type=checkbox]):not([type=radio]):not([type=file]):not([type=range]), textarea';

type Action = (page: Page, uniform: UniformSource, tell: (what: string) => void) => Promise<unknown>;
type Weighted = readonly [share: number, action: Action];
const weighted = (share: number, action: Action): Weighted => [share, action];
/** Actions with their shares. Each action describes itself before it acts. */
const ACTIONS: readonly Weighted[] = [
  weighted(45, async (page, uniform, tell) => {
    const target = await anyOf(page, uniform, CLICKED);
    const name = await target?.evaluate((element) => `${element.tagName} ${element.textContent.trim().slice(0, 40)}`);
    tell(`click ${name}`);
    const button = uniform() < 0.03 ? 'right' : 'left';
    await target?.click({ timeout: ACTION_MS, button, clickCount: uniform() < 0.1 ? 2 : 1 });
  }),
  weighted(15, async (page, uniform, tell) => {
    const target = await anyOf(page, uniform, TYPED);
    const text = oneOf(uniform, TEXTS);
    const name = await target?.evaluate((element) => element.getAttribute('aria-label') ?? (element as HTMLInputElement).labels?.[0]?.textContent.trim()); // prettier-ignore
    tell(`type ${JSON.stringify(text.slice(0, 30))} in ${name}`);
    await target?.fill(text, { timeout: ACTION_MS });
    if (uniform() < 0.6) await page.keyboard.press(oneOf(uniform, ['Enter', 'Tab', 'Escape']));
  }),
  weighted(20, async (page, uniform, tell) => {
    const key = oneOf(uniform, KEYS);
    tell(`press ${key}`);
    await page.keyboard.press(key);
  }),
  weighted(6, async (page, uniform, tell) => {
    const { width, height } = page.viewportSize()!;
    const move = (): Promise<void> => page.mouse.move(wholeBelow(uniform, width), wholeBelow(uniform, height));
    const wheel = uniform() < 0.5;
    tell(wheel ? 'wheel' : 'drag');
    await move();
    if (wheel) return page.mouse.wheel(0, 600 * (uniform() - 0.5));
    await page.mouse.down();
    await move();
    await page.mouse.up();
  }),
  weighted(7, (page, uniform, tell) => {
    const view = oneOf(uniform, VIEWS);
    tell(`go to ${view}`);
    return page.evaluate((hash) => void (location.hash = hash), `#/${view}`);
  }),
  weighted(3, async (page, uniform, tell) => {
    const size = oneOf(uniform, SIZES);
    tell(`window of ${size.width} × ${size.height}`);
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme: uniform() < 0.5 ? 'dark' : 'light' });
  }),
  weighted(2, (page, uniform, tell) => {
    const path = oneOf(uniform, FILES);
    tell(`drop ${path}`);
    return drop(page.locator('main'), path.replace(/^.*\//, ''), readFileSync(join(ROOT, path), 'utf8'));
  }),
  weighted(2, (page, uniform, tell) => {
    const steps = uniform() < 0.7 ? -1 : 1;
    tell(steps < 0 ? 'back' : 'forward');
    // Going back beyond the first view would show a browser page that is not ours.
    return page.evaluate((by) => {
      if (by > 0 ? navigation.canGoForward : navigation.canGoBack) history.go(by);
    }, steps);
  }),
];

function anyAction(actions: readonly Weighted[], uniform: UniformSource): Action {
  let left = actions.reduce((sum, [share]) => sum + share, 0) * uniform();
  return actions.find(([share]) => (left -= share) < 0)![1];
}

function actionsOn(studyId: number): readonly Weighted[] {
  const open = (page: Page): Promise<void> =>
    page.evaluate((hash) => void (location.hash = hash), `#/study?study=${studyId}`);
  return [
    ...ACTIONS,
    weighted(25, async (page, uniform, tell) => {
      tell('open the study');
      await open(page);
      const field = await anyOf(page, uniform, 'input[inputmode=decimal], input[inputmode=numeric], input[type=number]'); // prettier-ignore
      const text = oneOf(uniform, NUMBERS);
      tell(`edit a number to ${text}`);
      await field?.fill(text, { timeout: ACTION_MS });
      await page.keyboard.press('Enter');
    }),
    weighted(8, async (page, _uniform, tell) => {
      tell('sweep the study');
      await open(page);
      await page.keyboard.press('Control+Enter');
    }),
    weighted(10, async (_page, uniform, tell) => {
      tell('wait');
      await setTimeout(4000 * uniform());
    }),
  ];
}

interface Memory {
  readonly heap: number;
  readonly nodes: number;
  readonly host: number;
}

function studyOf(databaseFile: string, name: string): number {
  const database = new Database(databaseFile, { readonly: true });
  const found = database.prepare<[string], { id: number }>('SELECT id FROM studies WHERE name = ?').get(name);
  database.close();
  if (!found) throw new Error(`no study is called ${name}`);
  return found.id;
}

async function memory(page: Page, cdp: CDPSession, pid: number): Promise<Memory> {
  await page.keyboard.press('Escape');
  await page.setViewportSize(SIZES[0]);
  await page.evaluate(() => void (location.hash = '#/models'));
  await setTimeout(2000);
  await cdp.send('HeapProfiler.collectGarbage');
  const { metrics } = await cdp.send('Performance.getMetrics');
  const metric = (name: string): number => metrics.find((one) => one.name === name)?.value ?? NaN;
  return { heap: metric('JSHeapUsedSize'), nodes: metric('Nodes'), host: memoryOf(pid) };
}

export async function verifyMonkey(report: Report, minutes: number, name?: string): Promise<void> {
  if (findTool('chromium') === null) return report.figure('random actions', 'skipped: Chromium is missing');
  await inFolder(async (folder) => {
    const databaseFile = join(folder, 'monkey.db');
    copyFileSync(makeSeed(folder), databaseFile);
    const studyId = name === undefined ? null : studyOf(databaseFile, name);
    const actionsHere = studyId === null ? ACTIONS : actionsOn(studyId);
    const host = await startHost(databaseFile);
    const browser = await chromium.launch(chromiumOptions());
    try {
      const page = await browser.newPage({ viewport: SIZES[0], reducedMotion: 'reduce' });
      const heard = complaints(page);
      const trail: string[] = [];
      const fail = (what: string): void =>
        report.fail(`${what}\n  seed ${report.seed}, after: ${trail.slice(-25).join('; ')}`);
      page.on('dialog', (dialog) => void dialog.dismiss());
      page.on('download', (download) => void download.cancel());
      page.on('popup', (popup) => void popup.close());
      page.on('crash', () => fail('The page crashed.'));
      page.on('websocket', (socket) =>
        socket.on('framereceived', ({ payload }) => {
          const message = typeof payload === 'string' ? null : decodeMessage(payload);
          const reply = (message?.ok ? message.value : null) as { readonly ok?: boolean; readonly error?: { readonly code: string; readonly message: string } } | null; // prettier-ignore
          if (reply?.error?.code === 'internal') fail(`An internal error: ${reply.error.message}`);
        }),
      );
      await page.goto(host.address);
      await page.locator('main').getByRole('heading', { level: 1 }).waitFor();
      const cdp = await page.context().newCDPSession(page);
      await cdp.send('Performance.enable');

      const byMinute: Memory[] = [];
      let [actions, done, failures, slowestMs] = [0, 0, 0, 0];
      const start = performance.now();
      const end = start + minutes * MINUTE_MS;
      while (performance.now() < end && report.failures.length < 10) {
        actions++;
        // An impossible action, for example on a hidden or covered element, fails within its time limit.
        const acted = await Promise.race([
          anyAction(actionsHere, report.uniform)(page, report.uniform, (what) => void trail.push(what)).then(
            () => true,
            () => false,
          ),
          setTimeout(SILENCE_MS, 'silent' as const, { ref: false }),
        ]);
        if (acted === true) done++;
        if (trail.length > 100) trail.splice(0, 50);
        const asked = performance.now();
        const alive = await Promise.race([page.evaluate(() => true).catch(() => true), setTimeout(SILENCE_MS, false, { ref: false })]); // prettier-ignore
        slowestMs = Math.max(slowestMs, performance.now() - asked);
        if (!alive || acted === 'silent') return fail(`The page hangs: no answer in ${inSeconds(SILENCE_MS)}`);
        if (!page.url().startsWith(new URL(host.address).origin))
          return fail(`The page left the program for ${page.url()}`);
        for (; failures < heard.length; failures++) fail(`The page reports an error: ${heard[failures]}`);
        if (performance.now() - start > MINUTE_MS * (byMinute.length + 1)) {
          const now = await memory(page, cdp, host.pid);
          byMinute.push(now);
          report.say(`minute ${byMinute.length}: ${actions} actions, heap ${inMegabytes(now.heap)}, ${now.nodes} nodes, engine ${inMegabytes(now.host)}`); // prettier-ignore
        }
      }
      if (studyId !== null) {
        // If a worker hangs, no recommendation can be computed any more.
        await page.evaluate((hash) => void (location.hash = hash), `#/study?study=${studyId}`);
        const card = page.getByRole('region', { name: 'Recommendation' });
        const settled = card.and(page.locator('[aria-busy=false]')).waitFor({ timeout: SETTLED_MS });
        await settled.catch(() => fail(`No recommendation of ${name} in ${inSeconds(SETTLED_MS)} after the last action`)); // prettier-ignore
      }
      if (await page.getByText('The engine is not answering.').isVisible()) fail('The engine is not answering.');

      const warm = Float64Array.from(byMinute.slice(WARM_MINUTES), ({ heap }) => heap);
      if (warm.length >= 4) {
        const third = Math.ceil(warm.length / 3);
        const [early, late] = [median(warm.slice(0, third)), median(warm.slice(-third))];
        if (late > GROWTH.fraction * early + GROWTH.bytes) report.fail(`The heap of the page grows: ${inMegabytes(early)}, then ${inMegabytes(late)}.`); // prettier-ignore
        report.figure('heap of the page after five minutes, at the end', `${inMegabytes(early)}, ${inMegabytes(late)}`);
      }
      report.figure('random actions', `${actions.toLocaleString('en')}, ${done.toLocaleString('en')} of them possible`);
      report.figure('errors of the page', heard.length);
      const byMinutes = (of: 'heap' | 'host'): string =>
        byMinute.map((one) => (one[of] / 2 ** 20).toFixed(0)).join(' ') || '–';
      report.figure('heap by minute, MB', byMinutes('heap'));
      report.figure('engine by minute, MB', byMinutes('host'));
      report.figure('longest time to an answer of the page', inSeconds(slowestMs));
    } finally {
      await browser.close();
      const code = await host.interrupt();
      if (code !== 0) report.fail(`The host ended with ${code}: ${host.output().slice(-2000)}`);
    }
  });
}

export const section: Section = {
  what: 'random actions in the real interface: no error, and constant memory after five minutes',
  amount: { full: 30, quick: 1, unit: 'minutes' },
  run: verifyMonkey,
};
