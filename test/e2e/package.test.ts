import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from './fixtures/browser.ts';
import { builtFile, ROOT, temporaryFolder, type TemporaryFolder } from './fixtures/program.ts';

// What `npm pack` makes, installed from its archive alone: it runs from its built files, which Node would not do from the sources.
const run = promisify(execFile);
const db = ['--db', 'installed.db'];
let folder: TemporaryFolder;
let cwd: string;

test.beforeAll(async () => {
  builtFile('out/main/cli.js');
  folder = temporaryFolder();
  cwd = folder.path;
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', cwd], { cwd: ROOT });
  writeFileSync(join(cwd, 'package.json'), '{"private":true}');
  const archive = readdirSync(cwd).find((name) => name.endsWith('.tgz'))!;
  await run('npm', ['install', '--omit=optional', '--prefer-offline', '--no-audit', `./${archive}`], { cwd });
});
test.afterAll(() => folder.remove());

test('npx lockstep predicts an example that comes with it, saves the run and reads it', async () => {
  expect(readdirSync(join(cwd, 'node_modules/lockstep/src-main')).toSorted()).toEqual(['cli', 'hosts']);
  const study = 'node_modules/lockstep/db/examples/software.json';
  const { stdout } = await run('npx', ['lockstep', 'sweep', study, '--json', ...db], { cwd });
  const swept = JSON.parse(stdout) as { runId: number; designs: { valid: number }; best: readonly object[] };
  const ranked = await run('npx', ['lockstep', 'rank', `${swept.runId}`, '--top', '3', '--json', ...db], { cwd });
  expect(swept.designs.valid).toBeGreaterThan(0);
  expect((JSON.parse(ranked.stdout) as { rows: unknown }).rows).toEqual(swept.best.slice(0, 3));
});

test('lockstep serve answers with its page', async ({ page }) => {
  const command = join(cwd, 'node_modules/.bin/lockstep');
  const host = spawn(command, ['serve', '--port', '0', '--json', ...db], { cwd, stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(host, 'exit');
  const [served] = (await once(host.stdout, 'data')) as [Buffer];
  const { address } = JSON.parse(served.toString()) as { address: string };
  expect((await page.goto(address))?.status()).toBe(200);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible(); // the name of the study comes from the engine
  host.kill('SIGINT');
  expect(await ended).toEqual([0, null]);
});
