import type { Study } from '../../src-main/contract/study.ts';
import { glossary } from '../../src-workers/domain/glossary.ts';
import { sentenceCase, type Term } from '../../src-workers/domain/terms.ts';
import { MODEL_NAMES } from '../views/models/names.ts';
import type { App } from '../state/app.svelte.ts';
import { fieldNames, spelledLetters } from '../views/study/field-names.ts';
import type { Command } from './commands.svelte.ts';
import { openAndFocus } from './open.ts';

interface Concept extends Omit<Command, 'run'> {
  readonly open: (app: App) => void;
}

export function concepts(say: Term, axes: Study['axes'] | null): readonly Concept[] {
  return [
    ...(axes === null ? [] : fieldNames(say, axes)).map((field): Concept => ({
      id: field.id,
      label: field.label,
      words: field.words,
      group: 'Fields',
      detail: 'of the study',
      open: (app) => openAndFocus(app, field),
    })),
    ...MODEL_NAMES.map(({ id, label, words }): Concept => ({
      id: `go.model.${id}`,
      label: `Models: ${label}`,
      words,
      group: 'Go to',
      open: (app) => app.location.go('models', { page: id }),
    })),
    ...glossary(say).map(({ id, term, definition }): Concept => ({
      id: `glossary.${id}`,
      label: sentenceCase(term),
      words: `${id} ${spelledLetters(term)}`,
      group: 'Glossary',
      detail: definition,
      open: (app) => app.openGlossary(id),
    })),
    {
      id: 'go.runs.manage',
      label: 'Delete, rename or compare runs',
      words: 'remove history',
      group: 'Go to',
      open: (app) => app.location.go('runs', { selected: app.runId }),
    },
  ];
}
