import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll } from 'vitest';
import type { EngineOptions, OpenEngine } from '../src-main/services/engine.ts';
import type { ExportDocument, RunSummary } from '../src-main/contract/api.ts';
import type { ProcedureName, ProcedureOutput } from '../src-main/contract/procedures.ts';
import type { StudyFile } from '../src-main/contract/study.ts';
import { unwrap } from '../src-workers/domain/result.ts';
import { call, ended, testEngine } from './unit/engine-calls.ts';

export { testEngine };

/** Makes a folder for the tests of the calling file or `describe`, and removes it after them. */
export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'lockstep-test-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Makes a cache in a folder, for XDG_CACHE_HOME. All tests share its programs, because compiling takes seconds. */
export function cacheIn(folder: string): string {
  const kept = join(import.meta.dirname, '../node_modules/.cache/lockstep-cuda');
  mkdirSync(kept, { recursive: true });
  mkdirSync(join(folder, 'cache/lockstep'), { recursive: true });
  symlinkSync(kept, join(folder, 'cache/lockstep/cuda'));
  return join(folder, 'cache');
}

/** Returns the ids of processes on Linux whose command line contains `command`. */
export function processesThatRun(command: string): readonly string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() === command;
    } catch {
      return false; // There is no such process, or it has ended.
    }
  });
}

/** Makes a function that opens engines in a test, each on its own database unless named, and closes them after it. */
export function useEngines(more: Partial<EngineOptions> = {}) {
  const folder = testFolder();
  let databases = 0;
  const open: OpenEngine[] = [];
  const closeAll = async (): Promise<void> => {
    for (const engine of open.splice(0).reverse()) await engine.close();
  };
  afterEach(closeAll);
  const temporaryFile = (): string => join(folder, `${(databases += 1)}.db`);
  return {
    folder,
    closeAll,
    temporaryFile,
    async engineOn(databaseFile = temporaryFile(), options: Partial<EngineOptions> = {}): Promise<OpenEngine> {
      const engine = await testEngine(databaseFile, { ...more, ...options });
      open.push(engine);
      return engine;
    },
  };
}

export async function sweep(engine: OpenEngine, study: StudyFile): Promise<RunSummary> {
  const { id } = unwrap(await engine.call('studies.save', { study }));
  return ended(engine, 'runs.start', { studyId: id });
}

/** An engine on an empty database. It is open while the tests of a file or of a `describe` run. */
export interface Bench {
  readonly engine: OpenEngine;
  call<Name extends ProcedureName>(name: Name, input: unknown): Promise<ProcedureOutput<Name>>;
  run(study: StudyFile): Promise<number>;
  render(runId: number, format: string, more?: object): Promise<ExportDocument>;
}

export function useBench(more: Partial<EngineOptions> = {}): Bench {
  let folder: string;
  let open: OpenEngine;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'lockstep-test-'));
    open = await testEngine(join(folder, 'test.db'), more);
  });
  afterAll(async () => {
    await open.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const engine: OpenEngine = {
    call: (name, input) => open.call(name, input),
    dispatch: (name, input, gone) => open.dispatch(name, input, gone),
    subscribe: (listener) => open.subscribe(listener),
    close: () => open.close(),
    get context() {
      return open.context;
    },
  };
  return {
    engine,
    call: (name, input) => call(engine, name, input),
    async run(study) {
      const run = await sweep(engine, study);
      if (run.state !== 'complete') throw new Error(`run ${run.id} is ${run.state}: ${run.error ?? ''}`);
      return run.id;
    },
    render: async (runId, format, limits = {}) =>
      unwrap(await engine.call('export.render', { runId, format, ...limits })),
  };
}
