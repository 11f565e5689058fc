import { exampleStudy } from '../catalogue.ts';
import { expect, open, test } from './fixtures/browser.ts';
import { choose, drop, predicted, press, tabTo } from './fixtures/page.ts';

const MIXED = {
  ...exampleStudy('spmv-cpu'),
  name: 'Mixed',
  workload: { lengths: 'geometric(0.05)', units: 65_536 },
  devices: ['nvidia-a100-sxm4-40gb', 'nvidia-grace-gh200'],
  axes: {
    threadsPerUnit: [1, 2],
    balancing: ['none', 'row-split', 'merge-path'],
    blockThreads: [64, 128, 256],
    unitsPerThread: [1, 4],
    blocksPerMultiprocessor: [1, 4],
    cores: { from: 1, to: 72, step: 8 },
  },
};

test('a map shows the launches of its own device, and keeps launches of one number apart', async ({ page, own }) => {
  await open(page, own);
  await drop(page.getByRole('region', { name: 'Workload' }), 'mixed.json', JSON.stringify(MIXED));
  await expect(page).toHaveTitle(/^Mixed –/);
  await page.keyboard.press('Control+Enter');
  await predicted(page, 2);
  await page.keyboard.press('2');
  const map = page.getByRole('application', { name: /^Predicted time over/ });
  await expect(map).toHaveAccessibleName(/over block size, threads and launch/);
  await page.getByRole('radio', { name: 'Slices' }).click();
  const launches = page.getByRole('region', { name: 'Along launch' });
  await expect(launches.getByText('1/SM', { exact: true })).toBeVisible();
  await expect(launches.getByText(/^1\/s/)).toBeVisible();

  await page.getByRole('radio', { name: 'Heat map' }).click();
  await choose(page, /^Device: /, 'Grace GH200');
  await expect(map).toHaveAccessibleName(/over balancing and cores; best [\d.]+\s[mµ]s/);
  const numbers = page.getByRole('table', { name: 'The design against the baseline' });
  // The baseline is a design of the same device.
  await expect(numbers.getByRole('row', { name: /^Cores \d+ \d+/ })).toBeVisible();
});

test('ranges and a map filter every view, by keys and pointer, and can be cleared', async ({ page, host }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await open(page, host, '#/landscape');
  await predicted(page, 1);
  const ranges = page.getByRole('group', { name: /^Ranges of the axes/ });
  await tabTo(ranges.getByRole('slider').first());
  // Tab stops once for all handles together, and the arrow keys move between them.
  await expect(ranges.locator('[tabindex="0"]')).toHaveCount(1);
  const block = ranges.getByRole('slider', { name: 'Block size, lower end' });
  for (let i = 0; i < 12 && !(await block.evaluate((end) => end === document.activeElement)); i += 1)
    await page.keyboard.press('ArrowRight');
  await expect(block).toBeFocused();
  await expect(block).toHaveAttribute('aria-valuetext', '32');
  await press(page, 'ArrowUp', 'ArrowUp');
  await expect(block).toHaveAttribute('aria-valuetext', '96');
  const narrowed = page.getByRole('button', { name: /^Remove the filter block size 96/ });
  await expect(narrowed).toBeVisible();
  await expect(page).toHaveURL(/blockThreads/);
  await expect(block).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(narrowed).toBeHidden();
  await expect(block).toHaveAttribute('aria-valuetext', '32');
  await expect(page).not.toHaveURL(/blockThreads/);

  const map = page.getByRole('application', { name: /^Predicted time over/ });
  const whole = page.getByRole('button', { name: /^\d\.\d ×/ });
  const widthOf = async () => Number(await map.locator('image').getAttribute('width'));
  // Elements beside the map reduce its width when they arrive.
  await expect(page.getByRole('table', { name: 'The design against the baseline' })).toBeVisible();
  const before = await widthOf();
  const box = (await map.boundingBox())!;
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.wheel(0, -300);
  await expect(whole).toBeVisible();
  await expect.poll(widthOf).toBeGreaterThan(1.5 * before);
  await page.keyboard.press('z');
  await expect(whole).toBeHidden();
  expect(await widthOf()).toBe(before);
  await page.keyboard.press('+');
  await expect(whole).toBeVisible();
  await page.keyboard.press('-');
  await expect(whole).toBeHidden();

  // The rectangle covers about the first three of twelve columns, over most of the rows.
  await page.mouse.move(box.x + 62, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 4, box.y + box.height - 120, { steps: 4 });
  await page.mouse.up();
  const chip = page.getByRole('button', { name: /^Remove the filter block size 32 to/ });
  await expect(chip).toBeVisible();
  await page.keyboard.press('3');
  await expect(chip).toBeVisible();
  const listed = page.getByRole('group', { name: 'Filter', exact: true }).locator('.hint');
  await expect(listed).toContainText(/ of [\d,]+ valid designs of 5 devices/);
  // A rank counts all designs of the device.
  const ranks = page.getByRole('grid', { name: 'Designs, ranked' }).locator('[aria-colindex="1"]').nth(4);
  await expect(ranks).not.toHaveText('3');

  // Only the fast GPU satisfies this filter, so the slow GPU has no design left.
  await page.evaluate(() => {
    const [path, query] = location.hash.split('?');
    const params = new URLSearchParams(query);
    params.set('filter', JSON.stringify({ timeMs: { from: 0, to: 1 } }));
    location.hash = `${path}?${params}`;
  });
  await expect(page.getByRole('button', { name: /^Remove the filter time/ })).toBeVisible();
  await choose(page, /^Device: /, /^V100/);
  await expect(page.getByRole('contentinfo')).toContainText('No design of V100 SXM2 16 GB passes the filter');
  await expect(page.getByRole('button', { name: /^Remove the filter/ })).toBeHidden();
  await expect(page).toHaveURL(/device=nvidia-v100/);
  await page.keyboard.press('4');
  await expect(page.getByRole('combobox', { name: /^Reference: V100/ })).toBeVisible();
});
