import { fail, type Result, badInput } from '../../src-workers/domain/result.ts';
import { timeText } from '../../src-workers/domain/times.ts';
import type { RunProgress, RunSummary } from '../contract/api.ts';
import type { Engine } from '../services/engine.ts';
import { agentsText } from './agents.ts';
import { plain, progressBar, type Streams } from './output.ts';

export function runId(text: string | undefined): Result<number> {
  if (text !== undefined && /^[1-9]\d{0,14}$/.test(text)) return { ok: true, value: Number(text) };
  return badInput(`Specify the number of a run${text === undefined ? '' : `, not "${text}"`} (lockstep runs list).`);
}

/** A run in the bin can still be ranked, so that it can be judged before it is removed for good. */
export async function sayIfDeleted(engine: Engine, terminal: Pick<Streams, 'err'>, id: number): Promise<void> {
  const run = await engine.call('runs.get', { id });
  if (run.ok && run.value.deletedAt !== null)
    terminal.err(`lockstep: Run ${id} is in the bin. lockstep runs restore ${id} takes it out.\n`);
}

const AGENTS_MS = 3000;

const RESUME = 'lockstep runs resume';

/** Ctrl-C cancels the run and keeps what was saved. `begun` returns the lines to print when the run has begun. */
export async function followRun(
  engine: Engine,
  terminal: Streams,
  label: string,
  start: () => Promise<Result<{ readonly runId: number }>>,
  begun: (runId: number) => Promise<string> = async () => '',
): Promise<Result<RunSummary>> {
  const bar = progressBar(terminal, label);
  let said: string | null = null;
  const sayAgents = async (): Promise<void> => {
    const state = await engine.call('agents.state', {});
    const text = state.ok ? agentsText(state.value) : null;
    if (text === null || text === said) return;
    said = text;
    bar.clear();
    terminal.err(`lockstep: ${plain(text)}\n`);
  };
  let saved = 0;
  const unsubscribe = engine.subscribe((event, payload) => {
    if (event !== 'run.progress') return;
    const { done, total, remainingMs, bestTimeMs } = payload as RunProgress;
    saved = done;
    bar.update(done, total, remainingMs, bestTimeMs === null ? '' : `best ${timeText(bestTimeMs)}`);
  });
  const started = await start();
  const stop = (): void => {
    if (started.ok) void engine.call('runs.cancel', { id: started.value.runId });
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  const news = started.ok ? await begun(started.value.runId) : '';
  if (news !== '') {
    bar.clear();
    terminal.err(news);
  }
  await sayAgents();
  const timer = setInterval(() => void sayAgents(), AGENTS_MS);
  const run = started.ok ? await engine.call('runs.wait', { id: started.value.runId }) : started;
  clearInterval(timer);
  process.removeListener('SIGINT', stop);
  process.removeListener('SIGTERM', stop);
  unsubscribe();
  bar.clear();
  // The message of a failed measurement may already say how to resume.
  if (!run.ok && started.ok && !run.error.message.includes(RESUME)) {
    const { code, message, context } = run.error;
    return fail(
      code,
      `${message.replace(/\.$/, '')}. Saved results are kept. ${RESUME} ${started.value.runId} continues the run.`,
      context,
    );
  }
  if (!run.ok || run.value.state !== 'cancelled') return run;
  const { id, kind, enumerated, kept } = run.value;
  if (kept)
    return fail(
      'cancelled',
      `Run ${id} stopped before the best designs were found, so none is saved. ${RESUME} ${id} starts the run again.`,
    );
  const done = kind === 'bench' ? 'measured' : kind === 'simulate' ? 'simulated' : 'predicted';
  const things = kind === 'bench' ? 'cases' : 'designs';
  return fail(
    'cancelled',
    `Run ${id} stopped after ${saved.toLocaleString('en')} of ${enumerated.toLocaleString('en')} ${things}. What was ${done} is saved. ${RESUME} ${id} continues the run.`,
  );
}
