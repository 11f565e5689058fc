import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunSummary } from '../../src-main/contract/api.ts';
import type { MeasuringDetail } from '../../src-main/contract/measuring.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { ask, expect, test } from './fixtures/desktop.ts';
import { offered, predicted, statusBar } from './fixtures/page.ts';
import { readPdf } from './fixtures/pdf.ts';
import { exampleStudy } from '../catalogue.ts';

test('the window opens without errors', { tag: '@packed' }, async ({ desktop: { app, window: page, complaints } }) => {
  await expect(page).toHaveTitle(/Lockstep/);
  await expect(page.locator('#app')).not.toBeEmpty();
  expect(new URL(page.url()).protocol).toBe('app:');
  await page.screenshot({ path: 'test-results/desktop.png' });
  expect(await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length)).toBe(1);
  expect(complaints).toEqual([]);
});

test('the engine answers the page, also in typed arrays', { tag: '@packed' }, async ({ desktop: { window: page } }) => {
  await expect(page.locator('#app')).not.toBeEmpty();
  const info = await ask<{ host: string }>(page, 'app.info', {});
  expect(info).toMatchObject({ ok: true, value: { host: 'desktop' } });
  const workload = { lengths: 'geometric(0.05)', units: 1000 };
  const resolved = await ask<{ support: unknown }>(page, 'workload.resolve', { workload });
  expect(resolved.value.support).toBeInstanceOf(Float64Array);
});

test('the engine predicts, saves and measures', { tag: '@packed' }, async ({ desktop: { window: page } }) => {
  const example = exampleStudy('spmv-cpu');
  const study: StudyFile = {
    ...example,
    workload: { lengths: 'geometric(0.05)', units: 4096 },
    axes: { ...example.axes, threadsPerUnit: [1], unitsPerThread: [1], blockThreads: [128], cores: [1] },
  };
  const ended = async (name: string, input: unknown) => {
    const started = await ask<{ runId: number }>(page, name, input);
    expect(started).toMatchObject({ ok: true });
    const { value: run } = await ask<RunSummary>(page, 'runs.wait', { id: started.value.runId });
    expect(run).toMatchObject({ state: 'complete' });
    return run.id;
  };
  const runId = await ended('runs.start', { study });
  const deviceId = 'amd-epyc-7302p';
  const measuredId = await ended('bench.start', { runId, deviceId, target: 'cpu', count: 1, repeats: 1, warmUps: 0 });
  const measured = await ask<MeasuringDetail>(page, 'bench.detail', { id: measuredId });
  expect(measured.value.cases).toMatchObject([{ correct: true, failure: null }]);
});

test('the first start predicts the example, and saves reports by the native dialog', async ({ desktop }) => {
  const { app, window: page, complaints, folder } = desktop;
  await expect(page.getByRole('heading', { name: 'Study', level: 1 })).toBeVisible();
  const whole = await predicted(page, 1);
  expect(await offered(page)).toBe(whole);
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

test('the page has no Node, no other window, no way out of its origin', async ({ desktop: { app, window: page } }) => {
  const seen = await page.evaluate(async () => ({
    node: 'require' in globalThis || 'process' in globalThis,
    opened: window.open('https://example.com/') !== null,
    fetched: await fetch('https://example.com/').catch(() => null),
    outside: (await fetch('app://lockstep/..%2fmain%2fdesktop.js')).status,
    notifications: await Notification.requestPermission(),
  }));
  expect(seen).toEqual({ node: false, opened: false, fetched: null, outside: 404, notifications: 'denied' });
  await page.evaluate(() => void (location.href = 'https://example.com/'));
  await page.waitForTimeout(300);
  expect(page.url()).toMatch(/^app:\/\/lockstep\//);
  expect(await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length)).toBe(1);
});

test('a second start hands its study to the first and ends', async ({ desktop: { window: page, command, folder } }) => {
  const file = join(folder, 'second.json');
  writeFileSync(file, '{"lockstep":1}');
  type Opening = { lockstep: { onOpenFile(listener: (file: unknown) => void): void }; opened?: unknown };
  await page.evaluate(() => {
    const host = window as unknown as Opening;
    host.lockstep.onOpenFile((opened) => (host.opened = opened));
  });
  const second = spawn(command.file, [...command.args, file], { env: command.env, stdio: 'ignore' });
  expect(await new Promise((resolve) => second.on('exit', resolve))).toBe(0);
  const opened = () => page.evaluate(() => (window as unknown as Opening).opened);
  await expect.poll(opened).toEqual({ fileName: 'second.json', folder, text: '{"lockstep":1}' });
});

test('an engine that dies is started again, and the page is told', async ({ desktop: { app, window: page } }) => {
  type Losing = { lockstep: { onEngineLost(listener: (message: string) => void): void }; lost: string[] };
  await page.evaluate(() => {
    const host = window as unknown as Losing;
    host.lost = [];
    host.lockstep.onEngineLost((message) => host.lost.push(message));
  });
  const killed = await app.evaluate(async ({ app: electron }) => {
    const { readFileSync, readdirSync } = process.getBuiltinModule('node:fs');
    const ofElectron = electron.getAppMetrics().find(({ name }) => name === 'Lockstep engine')?.pid;
    // With LOCKSTEP_ENGINE_NODE, the engine is a child process. The test finds it by its command line (on Linux).
    const ofNode = () =>
      readdirSync('/proc')
        .map(Number)
        .find((pid) => {
          if (!(pid > 0)) return false;
          try {
            const parent = Number(/\nPPid:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
            return parent === process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('engine-process.js');
          } catch {
            return false;
          }
        });
    const pid = ofElectron ?? ofNode();
    return pid !== undefined && process.kill(pid, 'SIGKILL');
  });
  expect(killed).toBe(true);
  await expect.poll(() => page.evaluate(() => (window as unknown as Losing).lost)).toHaveLength(1);
  expect(await ask(page, 'app.info', {})).toMatchObject({ ok: true });
});

test('a page that crashed can be reloaded', async ({ desktop: { app, window: page } }) => {
  await expect(page.locator('#app')).not.toBeEmpty();
  // The dialog that offers to reload the page is native, so the test answers it.
  const shown = await app.evaluate(async ({ dialog, BrowserWindow }) => {
    let asked = '';
    dialog.showMessageBox = (...sent: unknown[]) => {
      asked = (sent.at(-1) as { message: string }).message;
      return Promise.resolve({ response: 0, checkboxChecked: false });
    };
    const contents = BrowserWindow.getAllWindows()[0].webContents;
    const loaded = new Promise((resolve) => contents.once('did-finish-load', () => resolve(null)));
    contents.forcefullyCrashRenderer();
    await loaded;
    return { asked, url: contents.getURL(), crashed: contents.isCrashed() };
  });
  expect(shown).toMatchObject({ asked: 'The page stopped working.', crashed: false });
  expect(shown.url).toMatch(/^app:\/\/lockstep\//);
});

test('closing saves the window’s position and ends the engine', async ({ desktop: { app, window: page, folder } }) => {
  await expect(page.locator('#app')).not.toBeEmpty();
  const closed = app.waitForEvent('close');
  await app.evaluate(({ BrowserWindow }) => {
    const window = BrowserWindow.getAllWindows()[0];
    window.setBounds({ x: 40, y: 30, width: 1100, height: 700 });
    setTimeout(() => window.close(), 300); // The window closes before this call is answered.
  });
  await closed;
  const kept: unknown = JSON.parse(readFileSync(join(folder, 'window.json'), 'utf8'));
  expect(kept).toEqual({ bounds: { x: 40, y: 30, width: 1100, height: 700 }, maximised: false });
  // SQLite removes its write-ahead log when the last connection closes. Without it, the engine was not killed.
  expect(readdirSync(folder).filter((name) => name.startsWith('lockstep.db'))).toEqual(['lockstep.db']);
});
