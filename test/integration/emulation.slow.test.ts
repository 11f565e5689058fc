import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { EMULATION_NOTE } from '../../src-workers/bench/cuda/emulation.ts';
import { lockstep, type Outcome } from '../command-line.ts';
import { lacks } from '../tools.mjs';
import { smallStudy } from '../unit/export-runs.ts';
import { testFolder } from '../workplace.ts';
import { dataText } from '../data.ts';

const folder = testFolder();
beforeAll(() => {
  vi.stubEnv('XDG_CACHE_HOME', join(folder, 'cache'));
  writeFileSync(join(folder, 'unused.h'), 'static int unusedFunction(int x) { int y; return 1; }\n');
});
afterAll(() => vi.unstubAllEnvs());

const app = join(folder, 'app');
function emulate(name: string, source: string, ...more: readonly string[]): Promise<Outcome> {
  const program = join(folder, name);
  writeFileSync(`${program}.cu`, source);
  return lockstep('emulate', `${program}.cu`, '-o', program, ...more);
}

/** This program uses every feature of launches, shared memory, groups and the runtime. The test knows its result. */
const PROGRAM = dataText('cuda/every-feature.cu');

describe.skipIf(lacks('g++') || process.platform !== 'linux')('a CUDA program without a GPU', () => {
  beforeAll(async () => {
    const { status, out, err } = await emulate('app', PROGRAM);
    expect([status, err]).toEqual([0, '']);
    expect(out).toMatch(/its times mean nothing/);
  });

  it('runs its launches, and says that it has no times', () => {
    const ran = spawnSync(app, { encoding: 'utf8' });
    expect(ran.stderr).toBe(`${EMULATION_NOTE}\n`);
    expect(ran.stdout).toBe('sum 9900 counted 100 ms 0 <<<1, 2>>>(0)\nvotes 249 up 4 4\ninvalid configuration argument\n{"timeNs": 5}\n'); // prettier-ignore
  });

  it('writes the lengths of its units', async () => {
    const source = dataText('cuda/steps.cu');
    expect((await emulate('steps', source, '-DLOCKSTEP_TRACE', '-D', 'UNITS=50')).err).toBe('');
    const lengths = join(folder, 'lengths.csv');
    const traced = await lockstep('trace', '--json', '-o', lengths, '--', join(folder, 'steps'));
    expect(traced.status).toBe(0);
    expect(readFileSync(lengths, 'utf8').split('\n').slice(1, 7)).toEqual(['0', '1', '2', '3', '4', '0']);
  });

  it.each([
    ['int main() { asm volatile("bar.sync 0;"); }', /wrong\.cu has inline PTX \(bar\.sync\), which the emulation cannot run\. Put it between #ifndef LOCKSTEP_EMULATION and #endif/], // prettier-ignore
    [
      '#include <mma.h>\nint main() {}',
      /wrong\.cu includes mma\.h, which was not found\. .* has only these headers of CUDA: cooperative_groups\.h/,
    ],
    ['int main() { cudaGraph_t graph; }', /wrong\.cu:1:\d+: error: .*cudaGraph_t.* the emulation lacks it: exclude it in wrong\.cu/], // prettier-ignore
    ['__global__ void f();\nint main() { f<<<1, 2>>>; }', /a launch cannot be read: f<<<1, 2>>>; .*\. Write kernel<<</],
  ])('is refused with advice: %s', async (source, words) => {
    const { status, out, err } = await emulate('wrong', source);
    expect([status, out]).toEqual([1, '']);
    expect(err).toMatch(words);
  });

  it('cannot be measured', async () => {
    const database = join(folder, 'test.db');
    writeFileSync(join(folder, 'study.json'), JSON.stringify(smallStudy({ axes: { blockThreads: [64] } })));
    expect((await lockstep('sweep', join(folder, 'study.json'), '--db', database)).status).toBe(0);
    const { status, out, err } = await lockstep('bench', '1', '--exec', app, '--device', 'nvidia-rtx-4090', '--top', '1', '--repeats', '1', '--warm-ups', '0', '--units', 'all', '--db', database, '--json'); // prettier-ignore
    expect([status, err]).toEqual([1, expect.not.stringContaining('lockstep: Run')]);
    const [one] = (JSON.parse(out) as { cases: { medianMs: number | null; failure: string }[] }).cases;
    expect(one).toMatchObject({ medianMs: null, failure: expect.stringMatching(/CPU emulation of CUDA, whose times mean nothing/) }); // prettier-ignore
    expect((await lockstep('bench', '1', '--target', 'emulation', '--db', database)).err).toMatch(/Specify its manifest \(--kernel\)/); // prettier-ignore
  });
});
