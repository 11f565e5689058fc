/**
 * `npm run bench renderer`, after a build: measures how long a user waits for the page, with a run of a million
 * designs. Needs a Chromium; without one it measures nothing. Times include Playwright's own, a few milliseconds.
 */
import { chromium, type Locator, type Page } from '@playwright/test';
import { join } from 'node:path';
import { findChromium } from '../e2e/fixtures/chromium.ts';
import { startHost } from '../e2e/fixtures/host.ts';
import { temporaryFolder } from '../e2e/fixtures/program.ts';

const FRAMES = 180;
/** 10 block sizes × 1,600 grids × 64 register caps. The latter two give a heat map of 102,400 cells. */
const MILLION = {
  lockstep: 1,
  name: 'Million',
  description: '',
  workload: { lengths: 'geometric(0.05)', units: 1_048_576 },
  kernel: { name: 'k', registersPerThread: 224, instructionsPerIteration: 30 },
  devices: ['nvidia-a100-sxm4-40gb'],
  axes: {
    threadsPerUnit: [4],
    registerCap: Array.from({ length: 64 }, (_, i) => 40 + 2 * i),
    blockThreads: { from: 32, to: 320, step: 32 },
    gridBlocks: { from: 10, to: 16_000, step: 10 },
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

/** Runs `step` on an element once a frame, and prints the durations of frames. */
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
  const at = (fraction: number) => times[Math.min(times.length - 1, Math.floor(fraction * times.length))].toFixed(1);
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

/** Measures frames while σ changes with every frame, and how often the recommendation updates. */
async function sigmaDragged(page: Page): Promise<void> {
  const card = page.getByRole('region', { name: 'Recommendation' });
  await card.and(page.locator('[aria-busy=false]')).waitFor();
  await card.evaluate((element) => {
    let said = element.textContent;
    new MutationObserver(() => {
      if (said === element.textContent) return;
      said = element.textContent;
      element.setAttribute('data-answers', String(Number(element.getAttribute('data-answers')) + 1));
    }).observe(element, { subtree: true, childList: true, characterData: true });
  });
  const start = performance.now();
  const slider = page.getByRole('slider', { name: /^Serial fraction/ });
  // Exact answers wait until the slider is released.
  await slider.dispatchEvent('pointerdown');
  await frames('frames while σ moves', slider, (element, frame) => {
    (element as HTMLInputElement).value = String(20 + 3 * frame);
    element.dispatchEvent(new Event('input', { bubbles: true }));
  });
  const seconds = (performance.now() - start) / 1000;
  const answers = Number(await card.getAttribute('data-answers'));
  print('recommendations while σ moves', `${(answers / seconds).toFixed(1)} per second`);
  await slider.dispatchEvent('pointerup');
  await time('exact recommendation after σ is let go', () => card.and(page.locator('[aria-busy=false]')).waitFor());
}

async function measure(executablePath: string): Promise<void> {
  const folder = temporaryFolder();
  const host = await startHost(join(folder.path, 'bench.db'));
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const browser = await chromium.launch({ executablePath, args });
  try {
    // The pages' own policy forbids evaluating text, which `frames` needs.
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

    await sigmaDragged(page);
    await dropStudy(page, MILLION);
    await page
      .getByRole('button', { name: /^Million/ })
      .first()
      .waitFor();
    await predict.waitFor();
    const finished = page.getByText(/^Run 2: [\d,]+ designs predicted/);
    await time('1,024,000 designs predicted and saved', async () => {
      await page.keyboard.press('Control+Enter');
      await finished.waitFor({ timeout: 300_000 });
    });

    const first = page.getByRole('row', { name: /^1 / });
    await time('ranking opened, first time', async () => {
      await page.keyboard.press('3');
      await first.waitFor();
    });
    await page.keyboard.press('1');
    await time('ranking opened again', async () => {
      await page.keyboard.press('3');
      await first.waitFor();
    });
    // A list in the reverse order starts at its top.
    const top = page.locator('[role=grid] [role=row][aria-rowindex="3"]');
    const block = page.getByRole('columnheader', { name: 'Block', exact: true }).getByRole('button');
    await block.click();
    await page.waitForTimeout(2000);
    const before = (await top.textContent())!;
    await time('sorted in another order', async () => {
      await block.click();
      await top.filter({ hasNotText: before }).waitFor();
    });
    await time('filtered to a tenth of it', async () => {
      await page.goto(`${page.url()}&filter=${encodeURIComponent('{"blockThreads":{"from":64,"to":64}}')}`);
      await page.getByText('102,400 of 1,024,000 designs').first().waitFor();
    });
    await frames('frames while the ranking scrolls', page.locator('[role=grid] [role=rowgroup]'), (element, frame) => {
      element.scrollTop += 40 + frame;
    });

    const study = /study=\d+/.exec(page.url())![0];
    const map = page.getByRole('application', { name: /^Predicted time over/ });
    for (const how of ['first time', 'again']) {
      await page.keyboard.press('1');
      await predict.waitFor();
      await time(`heat map of 102,400 cells, ${how}`, async () => {
        await page.goto(`${new URL(page.url()).origin}/#/landscape?${study}&x=launch&y=registerCap`);
        await page.getByText(/^102,400 cells/).waitFor();
        await map.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      });
    }
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
