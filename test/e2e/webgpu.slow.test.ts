import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { build, type Rolldown } from 'vite';
import type * as Measuring from '../../src-workers/bench/webgpu/measure.ts';
import type { BenchPlan, BenchRecord } from '../../src-workers/domain/benchmark.ts';
import { PROFILE } from '../integration/bench-cuda-plans.ts';
import { benchPlan, unitLoop } from '../measuring.ts';
import { expect, test } from './fixtures/browser.ts';

/* Tests the WebGPU backend in a page without the application. The page bundles the same module that runs under Node. */

const MODULE = join(import.meta.dirname, '../../src-workers/bench/webgpu/measure.ts');
const PAGE = 'http://localhost/';

async function openPage(page: Page): Promise<void> {
  const built = (await build({
    configFile: false,
    logLevel: 'error',
    build: { write: false, lib: { entry: MODULE, formats: ['es'], fileName: 'measure' } },
  })) as Rolldown.RolldownOutput[];
  const { code } = built[0].output[0];
  await page.route(`${PAGE}**`, (route) =>
    route.request().url().endsWith('.js')
      ? route.fulfill({ contentType: 'text/javascript', body: code })
      : route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>WebGPU</title>' }),
  );
  await page.goto(PAGE);
}

type Ending = 'run' | 'destroy' | 'abort';

const CASES = [1, 2, 4].flatMap((threadsPerUnit) =>
  ['none', 'full-sort', 'dynamic-fetch'].map((balancing) => {
    const launch = { unitsPerThread: 2, loop: 'flattened', blockThreads: 32, gridBlocks: 20 } as const;
    return unitLoop(`u${threadsPerUnit}-${balancing}`, { threadsPerUnit, balancing, ...launch });
  }),
);
/** Plan without its units, which the page makes. */
const PLAN = benchPlan(CASES, { backend: 'webgpu', seed: 1, caseTimeLimitMs: 30_000 });

/** Measures in the page, and ends as requested after the first counted sample. */
function measureInPage(page: Page, ending: Ending): Promise<BenchRecord[]> {
  return page.evaluate(
    async ({ ending, plan: empty, profile }) => {
      const { describeWebGpu, measureWebGpu, measuringDeviceDescriptor } = (await import(
        `${location.origin}/measure.js`
      )) as typeof Measuring;
      const adapter = (await navigator.gpu.requestAdapter())!;
      const device = await adapter.requestDevice(measuringDeviceDescriptor(adapter));
      const info = describeWebGpu(adapter, device, { versions: { browser: 'test' }, processor: null });
      const lengths = Uint32Array.from({ length: 1200 }, (_, unit) => (unit * 7919) % 40);
      const plan: BenchPlan = { ...empty, workload: { label: 'page', lengths, profile, traffic: null } };
      const stop = new AbortController();
      const records: BenchRecord[] = [];
      const take = (record: BenchRecord): void => {
        records.push(record);
        if (record.type !== 'sample' || record.warmUp) return;
        if (ending === 'destroy') device.destroy();
        if (ending === 'abort') stop.abort();
      };
      await measureWebGpu(device, info, plan, take, stop.signal, () => Promise.reject(new Error('no laws here')));
      return records;
    },
    { ending, plan: PLAN, profile: { ...PROFILE, fp64Share: 0 } },
  );
}

test('a page measures with its own GPU, and its results equal those of the CPU bit by bit', async ({ page }) => {
  await openPage(page);
  const records = await measureInPage(page, 'run');
  expect(records[0]).toMatchObject({ type: 'device', backend: 'webgpu' });
  expect(records.at(-1)).toMatchObject({ type: 'done' });
  for (const { id } of CASES) {
    const types = records.filter((record) => 'case' in record && record.case === id);
    expect(types.map(({ type }) => type)).toEqual(['sample', 'sample', 'sample', 'check']);
    expect(types.at(-1)).toMatchObject({ correct: true });
  }
});

test('a page reports the loss of its device, and stops when asked to', async ({ page }) => {
  await openPage(page);
  const lost = await measureInPage(page, 'destroy');
  expect(lost.map(({ type }) => type)).toEqual(['device', 'sample', 'sample', 'lost']);
  expect((await measureInPage(page, 'abort')).map(({ type }) => type)).toEqual(['device', 'sample', 'sample']);
});
