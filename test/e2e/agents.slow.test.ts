import { startAgent, startRedis } from '../redis.ts';
import { lacks } from '../tools.mjs';
import { expect, open, test } from './fixtures/browser.ts';
import { enter, predicted, smallStudy } from './fixtures/page.ts';
import { temporaryFolder } from './fixtures/program.ts';

test.skip(lacks('redis-server'), 'redis-server is missing');

test('the settings take the Redis of agents, and the Runs view shows which agents work', async ({ page, own }) => {
  const folder = temporaryFolder();
  const redis = await startRedis(folder.path);
  const agent = await startAgent(redis, 'lockstep', 'gpu-host', '--devices', 'cpu');
  try {
    await open(page, own);
    await predicted(page, 1);
    await page.keyboard.press('Control+,');
    const address = page.getByRole('textbox', { name: 'Redis of the agents' });
    await enter(address, 'redis://user:hunter2@127.0.0.1');
    await expect(page.getByText(/must not hold a password/)).toBeVisible();
    await enter(address, redis.url);
    const password = page.getByRole('textbox', { name: 'File with the password' });
    await enter(password, redis.passwordFile);
    await expect(page.getByText(/^Connected to redis:\/\/127\.0\.0\.1:\d+, 1 agent\./)).toBeVisible();
    await page.keyboard.press('Escape');

    await smallStudy(page);
    await page.keyboard.press('6');
    const agents = page.getByRole('region', { name: 'Agents' });
    const idle = /^1 agent at redis:\/\/127\.0\.0\.1:\d+; tasks under way: 0, waiting: 0$/;
    await expect(agents.getByText(idle)).toBeVisible();
    await expect(agents.getByRole('listitem')).toHaveText(/gpu-host\s*1 worker\s*idle\s*[1-9]\d* done\s*cpu@gpu-host/);
  } finally {
    await agent.kill();
    await redis.kill();
    folder.remove();
  }
});
