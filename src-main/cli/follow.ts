import { fail, type Result } from '../../src-workers/domain/result.ts';
import type { RunProgress } from '../contract/api.ts';
import type { Engine } from '../services/engine.ts';
import type { RunRecord } from '../services/runs/runs.ts';
import type { SweepHandle } from '../services/sweeps/sweeps.ts';
import { progressBar, type Terminal } from './output.ts';

/** The number of a run, as typed. */
export function runId(text: string | undefined): Result<number> {
  if (text !== undefined && /^[1-9]\d{0,14}$/.test(text)) return { ok: true, value: Number(text) };
  const got = text === undefined ? 'nothing' : `"${text}"`;
  return fail('bad-input', `run: got ${got}, expected the number of a run (lockstep runs list)`);
}

const RESUME = 'lockstep runs resume';

/**
 * Shows the progress of a run until it ends; Ctrl-C stops it and keeps what was saved.
 * @param begun what there is to say of a run that has just begun, line by line
 */
export async function followRun(
  engine: Engine,
  terminal: Terminal,
  label: string,
  start: () => Promise<Result<SweepHandle>>,
  begun: (runId: number) => Promise<string> = async () => '',
): Promise<Result<RunRecord>> {
  const bar = progressBar(terminal, label);
  let saved = 0;
  const unsubscribe = engine.subscribe((event, payload) => {
    if (event !== 'run.progress') return;
    const { done, total, remainingMs, bestTimeMs } = payload as RunProgress;
    saved = done;
    bar.update(done, total, remainingMs, bestTimeMs === null ? '' : `best ${bestTimeMs.toPrecision(4)} ms`);
  });
  const handle = await start();
  const stop = (): void => {
    if (handle.ok) handle.value.cancel();
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  const said = handle.ok ? await begun(handle.value.runId) : '';
  if (said !== '') {
    bar.clear();
    terminal.err(said);
  }
  const run = handle.ok ? await handle.value.finished : handle;
  process.removeListener('SIGINT', stop);
  process.removeListener('SIGTERM', stop);
  unsubscribe();
  bar.clear();
  // A measurement may have said so itself.
  if (!run.ok && handle.ok && !run.error.message.includes(RESUME)) {
    const { code, message, context } = run.error;
    return fail(
      code,
      `${message}; what was saved before is kept, and ${RESUME} ${handle.value.runId} goes on`,
      context,
    );
  }
  if (!run.ok || run.value.state !== 'cancelled') return run;
  const { id, kind, enumeratedCount } = run.value;
  const done = kind === 'bench' ? 'measured' : kind === 'simulate' ? 'simulated' : 'predicted';
  const things = kind === 'bench' ? 'cases' : 'designs';
  return fail(
    'cancelled',
    `run ${id} stopped after ${saved.toLocaleString('en')} of ${enumeratedCount.toLocaleString('en')} ${things}; what was ${done} is saved, and ${RESUME} ${id} goes on`,
  );
}
