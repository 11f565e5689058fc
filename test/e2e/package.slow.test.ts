import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from './fixtures/browser.ts';
import { builtFile, ROOT, temporaryFolder, type TemporaryFolder } from './fixtures/program.ts';

// Tests the output of `npm pack`, installed from its archive alone. Node would not run the sources of a package.
const run = promisify(execFile);
const db = ['--db', 'installed.db'];
let folder: TemporaryFolder;
let cwd: string;

test.beforeAll(async () => {
  builtFile('out/main/library.js');
  folder = temporaryFolder();
  cwd = folder.path;
  await run(process.execPath, [join(ROOT, 'src-main/packaging/declarations.ts')]);
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', cwd], { cwd: ROOT });
  writeFileSync(join(cwd, 'package.json'), '{"private":true}');
  const archive = readdirSync(cwd).find((name) => name.endsWith('.tgz'))!;
  await run('npm', ['install', '--omit=optional', '--prefer-offline', '--no-audit', `./${archive}`], { cwd });
});
test.afterAll(() => folder.remove());

test('npx lockstep predicts a bundled example, saves the run and reads it', async () => {
  expect(readdirSync(join(cwd, 'node_modules/lockstep/src-main')).toSorted()).toEqual(['cli', 'hosts', 'packaging']);
  const study = 'node_modules/lockstep/db/examples/software.json';
  const { stdout } = await run('npx', ['lockstep', 'sweep', study, '--json', ...db], { cwd });
  const swept = JSON.parse(stdout) as { runId: number; designs: { valid: number }; best: readonly object[] };
  const ranked = await run('npx', ['lockstep', 'rank', `${swept.runId}`, '--top', '3', '--json', ...db], { cwd });
  expect(swept.designs.valid).toBeGreaterThan(0);
  expect((JSON.parse(ranked.stdout) as { rows: unknown }).rows).toEqual(swept.best.slice(0, 3));
});

test('lockstep python writes the module, which knows the installed program', async () => {
  const { stdout } = await run('npx', ['lockstep', 'python'], { cwd });
  expect(stdout).toContain(join(cwd, 'node_modules/lockstep/src-main/cli/lockstep.mjs'));
});

test('import gives the library, with types that need nothing else', async () => {
  const study = 'node_modules/lockstep/db/examples/software.json';
  writeFileSync(
    join(cwd, 'use.mts'),
    `import { lengthLaw, LockstepError, meanLoss, occupancy, openEngine, sweep, type Recommendation } from 'lockstep';

    const law = await lengthLaw('geometric(0.05)');
    const swept = await sweep('${study}', { database: 'library.db', top: 3 });
    await using engine = await openEngine({ database: 'library.db' });
    const advice: Recommendation = await engine.recommend(swept.runId);
    const simulated = await engine.simulate(swept.runId, { top: 1 });
    const failed = await engine.rank(99).catch((error: unknown) => error);
    // @ts-expect-error no such procedure
    const missing = await engine.call('devices.gett', {}).catch(String);
    const wrong = ((): unknown => { try { return meanLoss([1, 2.5], 2); } catch (error) { return error; } })();
    console.log(JSON.stringify({
      pair: meanLoss([1, 3], 2),
      losses: [2, 32].map((n) => meanLoss(law, n)),
      blocks: occupancy('9.0', { blockThreads: 256, registersPerThread: 40 }).blocksPerSm,
      rows: swept.rows.map(({ designIndex, predictedMs }) => [designIndex, predictedMs]),
      again: (await engine.rank(swept.runId, { top: 3 })).map(({ designIndex, predictedMs }) => [designIndex, predictedMs]),
      recommended: [advice.designIndex, swept.recommended?.row.designIndex],
      simulated: simulated.length,
      failures: [failed, wrong].map((error) => error instanceof LockstepError && error.failure.code),
      missing,
    }));`,
  );
  const target = '--module nodenext --target es2024 --lib ES2024,DOM,ESNext.Disposable';
  const options = [...`${target} --strict --noEmit --ignoreConfig --types`.split(' '), ''];
  await run(join(ROOT, 'node_modules/.bin/tsc'), [...options, 'use.mts'], { cwd });
  // The program ends by itself, which shows that nothing is left open.
  const { stdout } = await run(process.execPath, ['use.mts'], { cwd });
  const command = async (...words: string[]) =>
    JSON.parse((await run('npx', ['lockstep', ...words, '--json', ...db], { cwd })).stdout) as never;
  const asked = ['loss', '--workload', 'geometric(0.05)', '--n', '2,32'];
  const losses: { rows: { meanLoss: number }[] } = await command(...asked);
  type Design = { designIndex: number; predictedMs: number };
  const swept: { best: Design[]; recommended: Design } = await command('sweep', study, '--top', '3');
  const { best, recommended } = swept;
  const rows = best.map(({ designIndex, predictedMs }) => [designIndex, predictedMs]);
  expect(JSON.parse(stdout)).toEqual({
    pair: expect.closeTo(1.25, 9),
    // The rule of integration depends on all requested n, so both sides must compute the same list.
    losses: losses.rows.map(({ meanLoss }) => expect.closeTo(meanLoss, 12)),
    blocks: 6,
    rows,
    again: rows,
    recommended: [recommended.designIndex, recommended.designIndex],
    simulated: 1,
    failures: ['not-found', 'bad-input'],
    missing: expect.stringContaining('LockstepError: The engine has no procedure'),
  });
});

test('lockstep serve answers with its page', async ({ page }) => {
  const command = join(cwd, 'node_modules/.bin/lockstep');
  const host = spawn(command, ['serve', '--port', '0', '--json', ...db], { cwd, stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(host, 'exit');
  const [served] = (await once(host.stdout, 'data')) as [Buffer];
  const { address } = JSON.parse(served.toString()) as { address: string };
  expect((await page.goto(address))?.status()).toBe(200);
  // The page gets the name of the study from the engine.
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await page.close();
  host.kill('SIGINT');
  expect(await ended).toEqual([0, null]);
});
