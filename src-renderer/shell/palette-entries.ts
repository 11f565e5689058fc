import ArrowRight from '@lucide/svelte/icons/arrow-right';
import Cpu from '@lucide/svelte/icons/cpu';
import { shortDeviceName } from '../format/devices.ts';
import { count } from '../format/numbers.ts';
import { RUN_PARTICIPLES, RUN_VERBS } from '../format/runs.ts';
import type { App } from '../state/app.svelte.ts';
import { withCores } from '../views/study/edit.ts';
import type { Command } from './commands.svelte.ts';
import { viewLabel, type ViewId } from './views.ts';

/** Commands of views, which are there only while their view is: found from everywhere, they open it first. */
const OF_VIEWS: readonly {
  readonly view: ViewId;
  readonly id: string;
  readonly label: string;
  readonly words?: string;
}[] = [
  { view: 'study', id: 'study.W', label: 'Edit the workload' },
  { view: 'study', id: 'study.K', label: 'Edit the kernel profile' },
  { view: 'study', id: 'study.D', label: 'Choose the devices' },
  { view: 'study', id: 'study.A', label: 'Edit the axes' },
  { view: 'landscape', id: 'landscape.map', label: 'Show the heat map' },
  { view: 'landscape', id: 'landscape.surface', label: 'Show the surface', words: '3-d' },
  { view: 'landscape', id: 'landscape.slices', label: 'Show slices along every axis' },
  { view: 'landscape', id: 'landscape.swap', label: 'Swap the axes of the map' },
  { view: 'landscape', id: 'landscape.best', label: 'Select the best design of the map' },
  { view: 'ranking', id: 'ranking.filter', label: 'Filter the designs' },
  { view: 'ranking', id: 'ranking.columns', label: 'Choose the columns of the ranking' },
  { view: 'ranking', id: 'ranking.mode', label: 'Show values, differences or both' },
  { view: 'ranking', id: 'ranking.simulate', label: 'Simulate the best designs', words: 'event simulation check' },
  { view: 'compare', id: 'compare.devices', label: 'Choose devices to compare' },
  { view: 'compare', id: 'compare.mode', label: 'Compare all devices at the same design' },
  {
    view: 'measure',
    id: 'measure.import',
    label: 'Import measured results…',
    words: 'file csv kernel tuner cache t4 json',
  },
  {
    view: 'measure',
    id: 'measure.bundle',
    label: 'Bundle a measurement for another machine…',
    words: 'tar cuda remote',
  },
  { view: 'measure', id: 'measure.save', label: 'Save the table of measured designs as CSV' },
  { view: 'measure', id: 'measure.copy', label: 'Copy the table of measured designs' },
  {
    view: 'measure',
    id: 'measure.calibrate',
    label: 'Calibrate the device from a measurement',
    words: 'fit parameters',
  },
  { view: 'models', id: 'models.find', label: 'Search the reproduced figures', words: 'papers tables' },
  { view: 'export', id: 'export.format.html', label: 'Export as HTML report', words: 'send share landscape' },
  { view: 'export', id: 'export.format.markdown', label: 'Export as Markdown report' },
  { view: 'export', id: 'export.format.csv', label: 'Export as CSV', words: 'table spreadsheet' },
  { view: 'export', id: 'export.format.json', label: 'Export as JSON' },
  { view: 'export', id: 'export.format.t4', label: 'Export as Kernel Tuner T4' },
  { view: 'export', id: 'export.format.cuda', label: 'Export as CUDA header', words: 'c++ launch bounds' },
  { view: 'export', id: 'export.format.wgsl', label: 'Export as WGSL constants', words: 'webgpu shader' },
  {
    view: 'export',
    id: 'export.format.python',
    label: 'Export as Python launch parameters',
    words: 'cupy numba pycuda dict',
  },
];

const WAIT_MS = 4000;
const LOOK_AGAIN_MS = 50;

/** Opens a view and runs its command as soon as it can. */
function openAndRun(app: App, view: ViewId, id: string): void {
  app.location.go(view);
  const until = performance.now() + WAIT_MS;
  const look = () => {
    const command = app.commands.find(id);
    if (command && command.enabled !== false) return command.run();
    if (performance.now() < until) setTimeout(look, LOOK_AGAIN_MS);
    else app.notices.show(`${viewLabel(view)} has nothing to do this with yet`);
  };
  setTimeout(look);
}

function ofViews(app: App): Command[] {
  return OF_VIEWS.filter(({ view, id }) => view !== app.location.view && !app.commands.find(id)).map(
    ({ view, id, label, words }): Command => ({
      id,
      label,
      words,
      group: 'Commands',
      detail: viewLabel(view),
      run: () => openAndRun(app, view, id),
    }),
  );
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
      run: () => app.location.go('compare', isChosen ? { reference: device.id } : { also: device.id }),
    };
    if (isChosen || !app.editor.study) return [show];
    const add: Command = {
      id: `study.add.${device.id}`,
      label: `Add ${device.name} to the study`,
      words,
      group: 'Devices',
      icon: Cpu,
      run: () => {
        app.editor.edit(`devices.${device.id}`, `add ${device.name}`, (study) => {
          const added = { ...study, devices: [...study.devices, device.id] };
          return device.kind === 'cpu' ? withCores(added, device.cores) : added;
        });
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
    detail: `${count(run.valid)} designs ${RUN_PARTICIPLES[run.kind]}${run.state === 'complete' ? '' : `, ${run.state}`}`,
    run: () => app.openRun(run, app.location.view === 'study' ? 'ranking' : app.location.view),
  }));
}

/** `rank 3`, `design 1,234`, `#12`, `12`: a design of the run on screen, by its rank or its index. */
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

/** What the palette finds beside the commands of the moment: other views' commands, devices, runs, designs. */
export function paletteEntries(app: App, query: string): readonly Command[] {
  return [...ofViews(app), ...(query.trim() === '' ? [] : [...designs(app, query), ...devices(app)]), ...runs(app)];
}
