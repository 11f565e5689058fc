/**
 * `npm run bench renderer`, after a build: what a person waits for in the page, with a run of 1,000,000 designs. Needs a
 * Chromium; without one it says so and measures nothing. Times include Playwright's own, a few milliseconds.
 */
import { chromium, type Locator, type Page } from '@playwright/test';
import { join } from 'node:path';
import { findChromium } from '../e2e/fixtures/chromium.ts';
import { startHost } from '../e2e/fixtures/host.ts';
import { temporaryFolder } from '../e2e/fixtures/program.ts';

const FRAMES = 180;
/** 200 block sizes × 500 grids × 5 × 2. */
const MILLION = {
  lockstep: 1,
  name: 'Million',
  description: '',
  workload: { lengths: 'geometric(0.05)', units: 1_048_576 },
  kernel: { name: 'k', registersPerThread: 40, instructionsPerIteration: 30 },
  devices: ['nvidia-a100-sxm4-40gb'],
  axes: {
    threadsPerUnit: [1, 2, 4, 8, 16],
    registerCap: [null, 32],
    blockThreads: { from: 29, to: 1024, step: 5 },
    gridBlocks: { from: 20, to: 10_000, step: 20 },
  },
};

function print(what: string, value: string): void {
  process.stdout.write(`${what.padEnd(48)} ${value}\n`);
}
async function time(what: string, act: () => Promise<unknown>): Promise<void> {
  const start = performance.now();
  await act();
  print(what, `${Math.round(performance.now() - start)} ms`);
}

/** Runs `step` on an element once a frame, and prints how long frames took. */
async function frames(what: string, target: Locator, step: (element: Element, frame: number) => void): Promise<void> {
  const times = await target.evaluate(
    async (element, { source, count }) => {
      const act = new Function(`return (${source})`)() as (element: Element, frame: number) => void;
      const out: number[] = [];
      let last = await new Promise<number>(requestAnimationFrame);
      for (let i = 0; i < count; i++) {
        act(element, i);
        const now = await new Promise<number>(requestAnimationFrame);
        out.push(now - last);
        last = now;
      }
      return out.sort((a, b) => a - b);
    },
    { source: step.toString(), count: FRAMES },
  );
  const at = (fraction: number) => times[Math.min(times.length - 1, Math.floor(fraction * times.length))]!.toFixed(1);
  print(what, `median ${at(0.5)}, p95 ${at(0.95)}, longest ${at(1)} ms`);
}

async function dropStudy(page: Page, study: object): Promise<void> {
  const transfer = await page.evaluateHandle((text) => {
    const data = new DataTransfer();
    data.items.add(new File([text], 'study.json'));
    return data;
  }, JSON.stringify(study));
  const target = page.getByRole('region', { name: 'Workload' });
  await target.dispatchEvent('dragover', { dataTransfer: transfer });
  await target.dispatchEvent('drop', { dataTransfer: transfer });
}

async function measure(executablePath: string): Promise<void> {
  const folder = temporaryFolder();
  const host = await startHost(join(folder.path, 'bench.db'));
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const browser = await chromium.launch({ executablePath, args });
  try {
    // The pages' own policy forbids making functions of text, which `frames` does.
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, bypassCSP: true });
    await page.goto(host.address);
    const predict = page.getByRole('button', { name: /^Predict [\d,]+ designs/ });
    await page.getByText(/^Run 1: [\d,]+ designs predicted/).waitFor({ timeout: 120_000 });
    await time('interactive after a reload', async () => {
      await page.reload();
      await predict.waitFor();
    });

    const slider = page.getByRole('slider', { name: /^p: / });
    await page.getByRole('radio', { name: 'Distribution' }).click();
    await slider.waitFor();
    await frames('frames while the distribution slider moves', slider, (element, frame) => {
      (element as HTMLInputElement).value = String(300 + 2 * frame);
      element.dispatchEvent(new Event('input', { bubbles: true }));
    });

    await dropStudy(page, MILLION);
    await page
      .getByRole('button', { name: /^Million/ })
      .first()
      .waitFor();
    await predict.waitFor();
    const finished = page.getByText(/^Run 2: [\d,]+ designs predicted/);
    await time('1,000,000 designs predicted and saved', async () => {
      await page.keyboard.press('Control+Enter');
      await finished.waitFor({ timeout: 300_000 });
    });

    const first = page.getByRole('row', { name: /^1 / });
    const place = (element: Locator) => element.getByRole('gridcell').first();
    await time('ranking opened, first time', async () => {
      await page.keyboard.press('3');
      await first.waitFor();
    });
    await page.keyboard.press('1');
    await time('ranking opened again', async () => {
      await page.keyboard.press('3');
      await first.waitFor();
    });
    const sorted = page.getByRole('columnheader', { name: 'Waves' });
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('checkbox', { name: 'Waves' }).check({ force: true });
    await page.keyboard.press('Escape');
    const top = await place(first).textContent();
    await time('sorted by another column', async () => {
      await sorted.getByRole('button').click();
      await page.waitForFunction((before) => {
        const cells = document.querySelectorAll('[role=rowgroup] [role=row][aria-rowindex="2"] [role=gridcell]');
        return cells.length > 0 && cells[0]!.textContent !== before;
      }, top);
    });
    await time('filtered to half of it', async () => {
      await page.goto(`${page.url()}&filter=${encodeURIComponent('{"registerCap":[32]}')}`);
      await page.getByRole('group', { name: 'Filter', exact: true }).getByText('designs').waitFor();
    });
    await frames('frames while the ranking scrolls', page.locator('[role=grid] [role=rowgroup]'), (element, frame) => {
      element.scrollTop += 40 + frame;
    });

    await time('heat map, 200 × 500, first time', async () => {
      await page.keyboard.press('2');
      await page.getByText(/100,000 cells/).waitFor();
    });
    await page.keyboard.press('1');
    await time('heat map again', async () => {
      await page.keyboard.press('2');
      await page.getByText(/100,000 cells/).waitFor();
    });
    const map = page.getByRole('application', { name: /^Predicted time over/ });
    await frames('frames while the pointer crosses the heat map', map, (element, frame) => {
      const { left, top: y, width, height } = element.getBoundingClientRect();
      const clientX = left + width * (0.1 + frame / 250);
      element.dispatchEvent(
        new PointerEvent('pointermove', { clientX, clientY: y + height / 2, pointerType: 'mouse', bubbles: true }),
      );
    });
  } finally {
    await browser.close();
    await host.interrupt();
    folder.remove();
  }
}

let executablePath: string | null = null;
try {
  executablePath = findChromium();
} catch (error) {
  process.stdout.write(`not measured: ${error instanceof Error ? error.message : String(error)}\n`);
}
if (executablePath !== null) await measure(executablePath);
