import ArrowRight from '@lucide/svelte/icons/arrow-right';
import Play from '@lucide/svelte/icons/play';
import Settings2 from '@lucide/svelte/icons/settings-2';
import { lengthsText } from '../../src-workers/domain/provenance.ts';
import { fileStem, listText } from '../../src-workers/domain/text.ts';
import { VOCABULARIES } from '../../src-workers/domain/terms.ts';
import { BEST_DESIGNS } from '../../src-main/contract/counts.ts';
import { count } from '../format/numbers.ts';
import { saveText } from '../components/save.ts';
import { DENSITIES, THEMES } from '../state/preferences.svelte.ts';
import type { App } from '../state/app.svelte.ts';
import type { Command } from './commands.svelte.ts';
import { chooseLengthFile, chooseStudyFile, takeStudy } from './files/intake.ts';
import { compareSpmvKernels, createStudy, isMatrix } from './new-study.ts';
import { deviceText, hasLengthsApart, ownDevices, studyText } from './study-file.ts';
import { VIEWS, type Icon } from './views.ts';

const SET = Settings2 as Icon;

export function globalCommands(app: App): Command[] {
  return [
    ...fileCommands(app),
    ...editCommands(app),
    ...runCommands(app),
    ...viewCommands(app),
    ...goCommands(app),
    ...helpCommands(app),
  ];
}

function pickStudyFile(app: App): void {
  if (app.desktop) {
    void app.desktop.openStudy().then((file) => file && takeStudy(app, file));
    return;
  }
  chooseStudyFile(app);
}

export function openHandedFiles(app: App): (() => void) | undefined {
  return app.desktop?.onOpenFile((file) => void takeStudy(app, file));
}

async function duplicateStudy(app: App, id: number): Promise<void> {
  await app.editor.save();
  const result = await app.engine.call('studies.duplicate', { id });
  if (!result.ok) return app.report(result.error);
  await app.library.load('studies');
  app.location.openStudy(result.value.id, 'study');
}

async function deleteStudy(app: App, id: number, name: string): Promise<void> {
  await app.editor.save();
  const result = await app.engine.call('studies.delete', { id });
  if (!result.ok) return app.report(result.error);
  await app.library.load('studies');
  app.location.openStudy(app.library.studies.find((study) => study.id !== id)?.id ?? null, 'study');
  app.notices.show(`“${name}” deleted`, async () => {
    const restored = await app.engine.call('studies.restore', { id });
    if (!restored.ok) return app.report(restored.error);
    await app.library.load('studies');
    app.location.openStudy(id, 'study');
  });
}

async function saveStudy({ editor, notices }: App): Promise<void> {
  notices.show((await editor.save()) ? 'Study saved' : (editor.failure?.message ?? 'Study not saved'));
}

async function saveStudyAs({ editor: { id, study }, engine, library, notices }: App): Promise<void> {
  if (id === null || !study) return;
  const { workload } = study;
  const stem = fileStem(study.name, 'study');
  let lengthsFile: string | null = null;
  let lacking = '';
  const beside: string[] = [];
  const parts: string[] = [];
  if (hasLengthsApart(study)) {
    const found = await engine.call('workload.csv', { studyId: id, workload });
    if (found.ok && found.value.csv !== null) {
      lengthsFile = await saveText(`${stem}.lengths.csv`, 'text/csv', found.value.csv);
      if (lengthsFile === null) return;
      beside.push(lengthsFile);
      parts.push('its lengths');
    } else lacking = found.ok ? 'which are too many for a CSV' : 'which cannot be read';
  }
  for (const device of ownDevices(study, library.devices)) {
    const file = await saveText(`${device.id}.device.json`, 'application/json', deviceText(device));
    if (file === null) return;
    beside.push(file);
    parts.push(`your device ${device.id}`);
  }
  const saved = await saveText(`${stem}.study.json`, 'application/json', studyText(study, lengthsFile));
  if (saved === null) return;
  // A narrow window cuts off the end of a notice, so long paths come last.
  if (lacking !== '')
    notices.show(`Saved without its lengths, ${lacking}. Take ${lengthsText(workload.lengths)} along with ${saved}`);
  else if (beside.length > 0)
    notices.show(
      `Saved with ${listText(parts)}. Keep ${beside.length === 1 ? 'both' : 'all'} files in one folder and open them together: ${[saved, ...beside].join(', ')}`,
    );
  else notices.show(`Saved ${saved}`);
}

function fileCommands(app: App): Command[] {
  const { study } = app;
  const open = study !== null;
  return [
    {
      id: 'study.new',
      label: 'New study',
      keys: 'Mod+Alt+N',
      menu: 'File',
      detail: 'in four steps, which can be skipped',
      run: () => void createStudy(app).then((created) => created && (app.overlay = 'guide')),
    },
    {
      id: 'study.open',
      label: 'Open study file…',
      keys: 'Mod+O',
      menu: 'File',
      words: 'import',
      run: () => pickStudyFile(app),
    },
    {
      id: 'workload.choose',
      label: 'Import lengths from a file…',
      keys: 'Mod+I',
      menu: 'File',
      detail: 'CSV, graphs, Matrix Market, NPY, NPZ, Parquet, Arrow; drop and paste work too',
      words: 'csv tsv mtx npy npz parquet arrow feather snap graph gz matrix table data workload open load',
      run: () => chooseLengthFile(app),
    },
    {
      id: 'workload.spmv',
      label: 'SpMV: compare the eight kernels',
      detail: 'a new study with the matrix of this study',
      words: 'sparse matrix vector product csr implementations mtx',
      enabled: isMatrix(app.editor.study?.workload.lengths ?? ''),
      run: () => void compareSpmvKernels(app),
    },
    {
      id: 'study.duplicate',
      label: 'Duplicate study',
      menu: 'File',
      section: true,
      enabled: open,
      run: () => study && void duplicateStudy(app, study.id),
    },
    {
      id: 'study.save',
      label: 'Save study',
      keys: 'Mod+S',
      menu: 'File',
      detail: 'saved automatically as you edit',
      enabled: open,
      run: () => void saveStudy(app),
    },
    {
      id: 'study.exportAs',
      label: 'Save study as file…',
      keys: 'Mod+Shift+S',
      menu: 'File',
      words: 'export json',
      enabled: open,
      run: () => void saveStudyAs(app),
    },
    {
      id: 'study.delete',
      label: 'Delete study',
      menu: 'File',
      section: true,
      detail: 'can be undone for 10 s',
      enabled: open,
      run: () => study && void deleteStudy(app, study.id, study.name),
    },
  ];
}

function editCommands(app: App): Command[] {
  const { editor, notices } = app;
  const undo = notices.current?.undo ? notices.current.text : editor.undoLabel;
  return [
    {
      id: 'edit.undo',
      label: undo ? `Undo: ${undo}` : 'Undo',
      keys: 'Mod+Z',
      menu: 'Edit',
      enabled: undo !== null,
      run: () => {
        if (!notices.undo()) editor.undo();
      },
    },
    {
      id: 'edit.redo',
      label: editor.redoLabel ? `Redo: ${editor.redoLabel}` : 'Redo',
      keys: 'Mod+Shift+Z',
      menu: 'Edit',
      enabled: editor.redoLabel !== null,
      run: () => editor.redo(),
    },
    {
      id: 'edit.copy-link',
      label: 'Copy link to what is on screen',
      menu: 'Edit',
      section: true,
      words: 'address url share',
      run: () => void notices.copy(window.location.href, 'Link copied'),
    },
  ];
}

function runCommands(app: App): Command[] {
  const { running, study } = app;
  const resumable = app.runs.find(({ state }) => state === 'interrupted' || state === 'cancelled');
  return [
    {
      id: 'run.start',
      label: 'Predict the design space',
      icon: Play,
      keys: 'Mod+Enter',
      menu: 'Run',
      words: 'run sweep start',
      enabled: study !== null && running === null,
      run: () => void app.predict(),
    },
    {
      id: 'run.bestOnly',
      label: `Keep only the best ${count(BEST_DESIGNS)} designs of a prediction`,
      group: 'Set',
      words: 'sweep large space answer alone',
      checked: app.bestOnly,
      run: () => (app.bestOnly = !app.bestOnly),
    },
    {
      id: 'run.cancel',
      label: running ? `Cancel run ${running.id}` : 'Cancel the run',
      keys: 'Escape',
      menu: 'Run',
      words: 'stop abort',
      enabled: running !== null,
      run: () => running && void app.cancel(running.id),
    },
    {
      id: 'run.resume',
      label: resumable ? `Resume run ${resumable.id}` : 'Resume the interrupted run',
      menu: 'Run',
      enabled: resumable !== undefined && running === null,
      run: () => {
        if (!resumable) return;
        void app.engine.call('runs.resume', { id: resumable.id }).then((result) => {
          if (result.ok) void app.library.load('runs');
          else app.report(result.error);
        });
      },
    },
  ];
}

function viewCommands(app: App): Command[] {
  const { preferences } = app;
  return [
    ...VIEWS.map((view): Command => ({
      id: `view.${view.id}`,
      label: view.label,
      group: 'Go to',
      icon: view.icon,
      keys: view.key,
      menu: 'View',
      checked: app.location.view === view.id,
      run: () => app.location.go(view.id),
    })),
    {
      id: 'view.palette',
      label: 'Search or run a command',
      keys: 'Mod+K',
      menu: 'View',
      section: true,
      run: () => (app.overlay = app.overlay === 'palette' ? null : 'palette'),
    },
    {
      id: 'view.settings',
      label: 'Settings',
      group: 'Go to',
      keys: 'Mod+,',
      menu: 'View',
      icon: SET,
      words: 'preferences theme',
      run: () => (app.overlay = 'settings'),
    },
    ...THEMES.map((theme): Command => ({
      id: `set.theme.${theme}`,
      label: `Use the ${theme === 'system' ? 'system’s' : theme} theme`,
      group: 'Set',
      icon: SET,
      detail: preferences.theme === theme ? 'now' : undefined,
      words: 'appearance colour dark light mode',
      run: () => preferences.set({ theme }),
    })),
    ...DENSITIES.map((density): Command => ({
      id: `set.density.${density}`,
      label: `Use ${density} rows`,
      group: 'Set',
      icon: SET,
      detail: preferences.density === density ? 'now' : undefined,
      run: () => preferences.set({ density }),
    })),
    ...VOCABULARIES.map(({ id, label }): Command => ({
      id: `set.terms.${id}`,
      label: `Use ${label} terms`,
      group: 'Set',
      icon: SET,
      detail:
        preferences.vocabulary === id
          ? 'now'
          : `${preferences.term('threadGroup')} and ${preferences.term('block')} in ${label}'s words`,
      words: 'terms vocabulary warp wavefront subgroup work-group block',
      run: () => preferences.set({ vocabulary: id }),
    })),
  ];
}

function goCommands(app: App): Command[] {
  return app.library.studies.map((study): Command => ({
    id: `go.study.${study.id}`,
    label: `Study: ${study.name}`,
    group: 'Go to',
    icon: ArrowRight as Icon,
    detail: study.id === app.location.studyId ? 'open' : study.example ? 'example' : `${study.runs} runs`,
    run: () => app.location.openStudy(study.id),
  }));
}

function helpCommands(app: App): Command[] {
  const example = app.library.studies.find((study) => study.example);
  return [
    {
      id: 'help.shortcuts',
      label: 'Show all keys',
      keys: '?',
      menu: 'Help',
      words: 'keyboard shortcuts',
      run: () => (app.overlay = 'keys'),
    },
    {
      id: 'help.glossary',
      label: 'Open the glossary',
      menu: 'Help',
      words: 'terms words definitions meaning',
      run: () => app.openGlossary(),
    },
    {
      id: 'help.guide',
      label: 'Go through the open study in four steps',
      menu: 'Help',
      words: 'guide start wizard',
      enabled: app.study !== null,
      run: () => (app.overlay = 'guide'),
    },
    {
      id: 'help.example',
      label: 'Open the example study',
      group: 'Go to',
      menu: 'Help',
      enabled: example !== undefined,
      run: () => example && app.location.openStudy(example.id, 'study'),
    },
    {
      id: 'help.about',
      label: 'About Lockstep and this machine',
      menu: 'Help',
      section: true,
      words: 'doctor version',
      run: () => (app.overlay = 'about'),
    },
  ];
}
