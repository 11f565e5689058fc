import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExportDocument, ExportFormat, RunSummary } from '../../src-main/contract/api.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { openEngine, type OpenEngine as Engine } from '../../src-main/services/engine.ts';
import { unwrap } from '../../src-workers/domain/result.ts';

/** An engine over an empty database, for tests that need finished runs. */
export interface Bench {
  readonly engine: Engine;
  /** Saves a study, predicts its space and returns the run's id. */
  run(study: StudyFile): Promise<number>;
  render(runId: number, format: ExportFormat, more?: object): Promise<ExportDocument>;
  close(): Promise<void>;
}

export async function openBench(): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), 'lockstep-export-'));
  const engine = unwrap(
    await openEngine({
      databaseFile: join(folder, 'test.db'),
      resourceFolder: join(import.meta.dirname, '..', '..'),
      host: 'cli',
      workers: 1,
    }),
  );
  return {
    engine,
    async run(study) {
      const { id } = unwrap(await engine.call('studies.save', { study })) as { id: number };
      const finished = new Promise<RunSummary>((resolve) => {
        const off = engine.subscribe((event, payload) => {
          if (event !== 'run.finished') return;
          off();
          resolve(payload as RunSummary);
        });
      });
      unwrap(await engine.call('runs.start', { studyId: id }));
      const run = await finished;
      if (run.state !== 'complete') throw new Error(`run ${run.id} is ${run.state}: ${run.error ?? ''}`);
      return run.id;
    },
    async render(runId, format, more = {}) {
      return unwrap(await engine.call('export.render', { runId, format, ...more }));
    },
    async close() {
      await engine.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Origins of a kernel that does its iterations and nothing else. */
export const NOTHING_ELSE = {
  prologue: 'given',
  unit: 'given',
  chainInstructions: 'given',
  cooperationCost: 'given',
  flattenedCost: 'given',
  dependentLoadsPerIteration: 'given',
  bytesPerIteration: 'given',
} as const;

/** A small space: two devices, six granularities, two balancings, eight blocks. */
export function smallStudy(change: Partial<StudyFile> = {}): StudyFile {
  return {
    lockstep: 1,
    name: 'Small',
    workload: { lengths: 'geometric(0.05)', units: 100_000 },
    kernel: { name: 'walk', registersPerThread: 40, instructionsPerIteration: 60, serialFraction: 0.05 },
    devices: ['nvidia-a100-sxm4-40gb', 'nvidia-rtx-4090'],
    axes: {
      threadsPerUnit: [1, 2, 4, 8, 16, 32],
      balancing: ['none', 'dynamic-fetch'],
      blockThreads: { from: 64, to: 512, step: 64 },
      blocksPerMultiprocessor: [2, 4],
      registerCap: [null, 32],
    },
    ...change,
  };
}

/** Everything a name could try to do to a document it is written into. */
export const HOSTILE =
  '=HYPERLINK("http://x") <script>alert(1)</script><img src=x onerror=alert(1)> */ int evil; /* --> ]]> ```\n# head\n| a | b |\r\n"quoted\' \\ ??/ ${x} `code` **bold** [l](javascript:1) \u2028\u202e&amp;\u0000';
