import type { Recommendation, Uncertainty, WorthKnowing } from '../../src-main/contract/advice.ts';
import type { RunSummary } from '../../src-main/contract/api.ts';
import { assumedFacts } from '../../src-workers/domain/provenance.ts';
import { bytes, counted } from '../format/numbers.ts';
import { chooseKernelFile } from '../shell/files/intake.ts';
import type { Advice } from '../state/advice.svelte.ts';
import type { App } from '../state/app.svelte.ts';

const MAX_SIMULATED = 20;

/** Returns a complete sweep of the current study with all designs, or makes one; `null` if that fails. */
async function freshRun(app: App): Promise<RunSummary | null> {
  const { studyId } = app.location;
  if (studyId === null) return null;
  const title = 'Nothing was predicted';
  if (!(await app.editor.save())) {
    if (app.editor.failure) app.refuse({ title, failure: app.editor.failure });
    return null;
  }
  const newest = app.runs.find(({ kind, state, kept }) => kind === 'sweep' && state === 'complete' && !kept);
  if (newest) {
    const detail = await app.engine.call('runs.get', { id: newest.id });
    if (detail.ok && detail.value.staleFields.length === 0) return newest;
  }
  if (app.running) {
    app.notices.show(`Run ${app.running.id} is still running; wait for it, or cancel it`);
    return null;
  }
  app.notices.announce('Prediction started');
  const started = await app.engine.call('runs.start', { studyId });
  const ended = started.ok ? await app.engine.call('runs.wait', { id: started.value.runId }) : started;
  if (ended.ok) return ended.value;
  app.refuse({ title, failure: ended.error });
  return null;
}

export async function copyCode(app: App, { answer, answered }: Advice, as: 'header' | 'Python'): Promise<void> {
  const studyId = app.editor.id;
  if (!answer || !answered || studyId === null) return;
  const write = async (): Promise<string | null> => {
    const made = await app.engine.call('advice.code', {
      studyId,
      study: answered,
      deviceId: answer.device.id,
      designIndex: answer.designIndex,
      format: as === 'Python' ? 'python' : app.preferences.vocabulary === 'webgpu' ? 'wgsl' : 'cuda',
    });
    if (made.ok) return made.value.text;
    app.refuse({ title: `The ${as} was not copied`, failure: made.error });
    return null;
  };
  const assumed = assumedFacts(answer.inputs).length;
  const named = assumed === 0 ? 'nothing is assumed' : `it names ${counted(assumed, 'assumption')}`;
  await app.notices.copyMade(
    write(),
    `Writing the ${as}`,
    (text) => `${as === 'Python' ? as : 'Header'} copied, ${bytes(new TextEncoder().encode(text).length)}: ${named}`,
  );
}

export function toSimulate({ designIndex }: Recommendation, known: Uncertainty | null): number[] {
  return [...new Set([designIndex, ...(known?.separation?.designs ?? [])])].slice(0, MAX_SIMULATED);
}

export async function simulate(app: App, { answer, uncertainty }: Advice): Promise<void> {
  if (!answer) return;
  const designs = toSimulate(answer, uncertainty);
  const run = await freshRun(app);
  if (!run) return;
  const result = await app.engine.call('simulations.start', { runId: run.id, designs });
  if (!result.ok) return app.refuse({ title: 'Nothing was simulated', failure: result.error });
  app.notices.announce(`Simulating ${counted(designs.length, 'design')}`);
  await app.library.load('runs');
  app.location.openRun(run.id, 'ranking');
  app.location.go('ranking', { device: answer.device.id, sort: 'simulatedMs' });
}

export async function openLandscape(app: App, advice: Advice, map: number): Promise<void> {
  const { answer, answered } = advice;
  if (!answer || !answered) return;
  const bestDesign = answer.landscape.maps?.[map].bestDesign ?? null;
  const run = await freshRun(app);
  if (!run) return;
  const free = (['loop', 'balancing', 'registerCap'] as const).filter((axis) => answered.axes[axis].length > 1);
  advice.open = false;
  app.location.openRun(run.id, 'landscape');
  app.location.go('landscape', {
    ...{ device: answer.device.id, design: bestDesign, x: null, y: null, facet: null },
    ...{ free: free.length === 0 ? null : free.join(','), shape: null },
  });
}

export const LEARN = {
  inspect: 'Import the kernel from code…',
  probe: 'Measure the device…',
  ask: 'Enter it',
} as const;

export function learn(app: App, { learn: by, input }: WorthKnowing): void {
  if (by === 'inspect') return chooseKernelFile(app);
  if (by === 'probe') return app.location.go('measure');
  const field = document.querySelector<HTMLElement>(`[aria-label=${JSON.stringify(input.label)}]`);
  if (field) field.focus();
  else app.commands.run('study.K');
}

export async function measure(app: App, { answer }: Advice, others: readonly number[] = []): Promise<void> {
  if (!answer) return;
  const designs = [...new Set([answer.designIndex, ...others])];
  const run = await freshRun(app);
  if (!run) return;
  app.location.openRun(run.id, 'measure');
  app.location.go('measure', { choose: 'named', designs: designs.join(','), device: answer.device.id, tab: 'setup' });
}
