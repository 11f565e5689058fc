import ArrowRight from '@lucide/svelte/icons/arrow-right';
import Cpu from '@lucide/svelte/icons/cpu';
import { shortDeviceName } from '../format/devices.ts';
import { count, counted } from '../format/numbers.ts';
import { RUN_PARTICIPLES, RUN_VERBS } from '../format/runs.ts';
import type { App } from '../state/app.svelte.ts';
import { withDevice } from '../views/study/edit.ts';
import type { Command } from './commands.svelte.ts';
import { concepts } from './concepts.ts';
import { openAndAct } from './open.ts';
import { viewLabel, type ViewId } from './views.ts';

type ViewCommand = readonly [view: ViewId, id: string, label: string, words?: string | undefined];

/** Commands that exist only while their view is open. The palette always finds them, and opens their view first. */
const OF_VIEWS: readonly ViewCommand[] = [
  ['study', 'study.W', 'Edit the workload'],
  ['study', 'study.K', 'Edit the kernel profile'],
  ['study', 'study.D', 'Choose the devices'],
  ['study', 'study.A', 'Edit the axes'],
  ['landscape', 'landscape.map', 'Show the heat map'],
  ['landscape', 'landscape.slices', 'Show slices along every axis'],
  ['landscape', 'landscape.designs', 'Show all designs as lines', 'parallel coordinates'],
  ['landscape', 'landscape.swap', 'Swap the axes of the map'],
  ['landscape', 'landscape.best', 'Select the best design of the map'],
  ['ranking', 'ranking.filter', 'Filter the designs'],
  ['ranking', 'ranking.columns', 'Choose the columns of the ranking'],
  ['ranking', 'ranking.mode', 'Show values, differences or both'],
  ['ranking', 'ranking.simulate', 'Simulate the best designs', 'event simulation check'],
  ['compare', 'compare.devices', 'Choose devices to compare'],
  ['compare', 'compare.mode', 'Compare all devices at the same design'],
  ['measure', 'measure.import', 'Import measured results…', 'file csv kernel tuner cache t4 json'],
  ['measure', 'measure.bundle', 'Bundle a measurement for another machine…', 'tar cuda remote'],
  ['measure', 'measure.save', 'Save the table of measured designs as CSV'],
  ['measure', 'measure.copy', 'Copy the table of measured designs'],
  ['measure', 'measure.calibrate', 'Calibrate the device from a measurement', 'fit parameters'],
  ['models', 'models.find', 'Search the reproduced tables', 'papers figures'],
];

export function openAndRun(app: App, view: ViewId, id: string): void {
  const act = () => {
    const command = app.commands.find(id);
    if (!command || command.enabled === false) return false;
    command.run();
    return true;
  };
  openAndAct(app, view, act, `${viewLabel(view)} has no data for this command yet`);
}

function ofViews(app: App): Command[] {
  return OF_VIEWS.filter(([view, id]) => view !== app.location.view && !app.commands.find(id)).map(
    ([view, id, label, words]): Command => ({
      id,
      label,
      words,
      detail: viewLabel(view),
      run: () => openAndRun(app, view, id),
    }),
  );
}

function exports(app: App): Command[] {
  if (app.location.view === 'export') return [];
  return app.library.formats.map(({ id, label, words }) => ({
    id: `export.format.${id}`,
    label: `Export as ${label}`,
    words,
    detail: viewLabel('export'),
    run: () => app.location.go('export', { format: id }),
  }));
}

function conceptCommands(app: App): Command[] {
  return concepts(app.preferences.term, app.editor.study?.axes ?? null).map(({ open, ...concept }) => ({
    ...concept,
    ...(concept.group === 'Go to' && { icon: ArrowRight }),
    run: () => open(app),
  }));
}

function devices(app: App): Command[] {
  const chosen = app.editor.study?.devices ?? [];
  return app.library.devices.flatMap((device): Command[] => {
    const short = shortDeviceName(device.name);
    const words = `device ${device.id} ${short}`;
    const isChosen = chosen.includes(device.id);
    const show: Command = {
      id: `go.device.${device.id}`,
      label: device.name,
      words,
      group: 'Devices',
      icon: Cpu,
      detail: isChosen ? 'of this study; show in Compare' : 'show in Compare',
      run: () => app.location.go('compare', isChosen ? { device: device.id } : { also: device.id }),
    };
    if (isChosen || !app.editor.study) return [show];
    const add: Command = {
      id: `study.add.${device.id}`,
      label: `Add ${device.name} to the study`,
      words,
      group: 'Devices',
      icon: Cpu,
      run: () => {
        app.editor.edit(`devices.${device.id}`, `add ${device.name}`, (study) => withDevice(study, device.id, device));
        app.location.go('study');
        app.notices.show(`${short} added to the study`, () => app.editor.undo());
      },
    };
    return [show, add];
  });
}

function runs(app: App): Command[] {
  return app.library.runs.map((run): Command => ({
    id: `go.run.${run.id}`,
    label: `Run ${run.id}: ${run.name}`,
    words: RUN_VERBS[run.kind],
    group: 'Go to',
    icon: ArrowRight,
    detail: `${counted(run.valid, 'design')} ${RUN_PARTICIPLES[run.kind]}${run.state === 'complete' ? '' : `, ${run.state}`}`,
    run: () => app.openRun(run, app.location.view === 'study' ? 'ranking' : app.location.view),
  }));
}

function designs(app: App, query: string): Command[] {
  const { run } = app;
  const asked = /^(rank|design|#)?\s*#?\s*([\d,]+)$/i.exec(query.trim());
  if (!asked || !run || run.valid === 0) return [];
  const number = Number(asked[2].replaceAll(',', ''));
  const kind = asked[1]?.toLowerCase() ?? '';
  const go = (design: number) => app.location.go('ranking', { design });
  const byRank: Command = {
    id: 'go.rank',
    label: `Rank ${count(number)} of run ${run.id}`,
    words: query,
    group: 'Designs',
    icon: ArrowRight,
    run: () =>
      void app.engine.call('ranking.page', { runId: run.id, offset: number - 1, limit: 1 }).then((page) => {
        if (page.ok && page.value.rows[0]) go(page.value.rows[0].designIndex);
        else app.notices.show(`Run ${run.id} has no rank ${count(number)}`);
      }),
  };
  const byIndex: Command = {
    id: 'go.design',
    label: `Design ${count(number)} of run ${run.id}`,
    words: query,
    group: 'Designs',
    icon: ArrowRight,
    run: () => go(number),
  };
  return [
    ...(kind !== 'design' && number >= 1 && number <= run.valid ? [byRank] : []),
    ...(kind !== 'rank' && number < run.enumerated ? [byIndex] : []),
  ];
}

export function paletteEntries(app: App, query: string): readonly Command[] {
  return [
    ...ofViews(app),
    ...exports(app),
    ...(query.trim() === '' ? [] : [...designs(app, query), ...conceptCommands(app), ...devices(app)]),
    ...runs(app),
  ];
}
