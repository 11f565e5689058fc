import type { Study } from '../../src-main/contract/study.ts';
import { glossary, type GlossaryId } from '../../src-workers/domain/glossary.ts';
import { sentenceCase, type Term } from '../../src-workers/domain/terms.ts';
import { MODEL_NAMES } from '../views/models/names.ts';
import { fieldNames, spelledLetters, type FieldName } from '../views/study/field-names.ts';

/** A word of the interface, its meaning, and the place that the palette opens for it. */
export interface Concept {
  readonly id: string;
  readonly label: string;
  readonly words: string;
  readonly group: 'Fields' | 'Go to' | 'Glossary';
  readonly detail?: string;
  readonly to:
    | { readonly kind: 'field'; readonly field: FieldName }
    | { readonly kind: 'model'; readonly page: string }
    | { readonly kind: 'term'; readonly id: GlossaryId }
    | { readonly kind: 'runs' };
}

/** Returns the concepts that the palette finds. The axes belong to the open study; null if none is open. */
export function concepts(say: Term, axes: Study['axes'] | null): readonly Concept[] {
  return [
    ...(axes === null ? [] : fieldNames(say, axes)).map((field): Concept => ({
      id: field.id,
      label: field.label,
      words: field.words,
      group: 'Fields',
      detail: 'of the study',
      to: { kind: 'field', field },
    })),
    ...MODEL_NAMES.map(({ id, label, words }): Concept => ({
      id: `go.model.${id}`,
      label: `Models: ${label}`,
      words,
      group: 'Go to',
      to: { kind: 'model', page: id },
    })),
    ...glossary(say).map(({ id, term, definition }): Concept => ({
      id: `glossary.${id}`,
      label: sentenceCase(term),
      words: `${id} ${spelledLetters(term)}`,
      group: 'Glossary',
      detail: definition,
      to: { kind: 'term', id },
    })),
    {
      id: 'go.runs.manage',
      label: 'Delete, rename or compare runs',
      words: 'remove history',
      group: 'Go to',
      to: { kind: 'runs' },
    },
  ];
}
