import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RankPage } from '../../src-main/contract/api.ts';
import type { ImportedFile } from '../../src-main/contract/measuring.ts';
import type { Design } from '../../src-workers/domain/design.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { findTool, lacks } from '../tools.mjs';
import { smallStudy } from '../unit/export-runs.ts';
import { testFolder, useBench } from '../workplace.ts';

/** Trials: the first are the best designs of the sweep, the others are chosen by Optuna's sampler. */
const [FIRST, TRIALS] = [8, 14];

/** Runs a study of Optuna with the exported file, and prints the designs of its trials. */
const PROGRAM = `
import json, optuna, sys, exported

optuna.logging.set_verbosity(optuna.logging.ERROR)
kind, file = sys.argv[1:]
storage = (
    f"sqlite:///{file}" if kind == "sqlite" else optuna.storages.JournalStorage(optuna.storages.JournalFileStorage(file))
)
study = optuna.create_study(storage=storage, sampler=optuna.samplers.RandomSampler(seed=1))
exported.enqueue(study, ${FIRST})

def measure(trial):
    design = exported.suggest(trial)
    if trial.number == ${TRIALS - 1}:
        raise RuntimeError("does not launch")
    return design["threads_per_unit"] + design["block_threads"] / 1000

study.optimize(measure, n_trials=${TRIALS}, catch=(RuntimeError,))
trials = [(trial.state.name, trial.user_attrs["lockstep"]) for trial in study.trials]
print(json.dumps(dict(trials=trials, wanted=[design for design, _ in exported.DESIGNS[:${FIRST}]])))
`;

describe.skipIf(lacks('optuna'))('Optuna itself', () => {
  const bench = useBench();
  const folder = testFolder();

  it.each(['sqlite', 'journal'])('begins with the best designs, and its %s storage comes back', async (kind) => {
    const axes = { ...smallStudy().axes, unitsPerThread: [1, 2, 4] };
    const devices = ['nvidia-a100-sxm4-40gb', 'nvidia-h100-sxm5-80gb'];
    const run = await bench.run(smallStudy({ devices, axes }));
    const document = await bench.render(run, 'optuna', { limit: 30 });
    writeFileSync(join(folder, 'exported.py'), document.text);
    const file = join(folder, `measured.${kind}`);
    const said = execFileSync(findTool('optuna')!, ['-c', PROGRAM, kind, file], {
      encoding: 'utf8',
      env: { ...process.env, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { trials, wanted } = JSON.parse(said) as {
      readonly trials: readonly (readonly [string, Readonly<Record<string, unknown>>])[];
      readonly wanted: readonly object[];
    };
    // The trials of the warm start come first and in their order.
    expect(trials.slice(0, FIRST).map(([, design]) => design)).toMatchObject(wanted);
    expect(trials.map(([state]) => state)).toEqual([...Array<string>(TRIALS - 1).fill('COMPLETE'), 'FAIL']);

    const imported = await bench.call<ImportedFile>('import.file', {
      fileName: `measured.${kind}`,
      bytes: new Uint8Array(readFileSync(file)),
      runId: run,
      timeUnit: 'ms',
    });
    expect(imported).toMatchObject({ kind: 'optuna', failed: 1, linked: { runId: run } });
    const measured = unwrap(await bench.engine.context.store.listMeasurements(imported.runId));
    const linked = new Map(measured.map(({ designIndex, design, timesMs }) => [designIndex, { design, timesMs }]));
    const page = await bench.call<RankPage>('ranking.page', { runId: run, limit: 1000 });
    const deviceOf = (name: string): boolean => document.text.includes(`"device": "${name}"`);
    const best = page.rows.filter(({ deviceId }) => deviceOf(deviceId)).slice(0, FIRST);
    expect(best).toHaveLength(FIRST);
    for (const { designIndex } of best) {
      const { design, timesMs } = linked.get(designIndex)!;
      const { threadsPerUnit, blockThreads } = design as Design;
      expect(timesMs[0]).toBeCloseTo(threadsPerUnit + blockThreads / 1000, 9);
    }
  });
});
