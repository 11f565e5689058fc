import type { Study } from '../../src-main/contract/study.ts';
import { lengthsText } from '../../src-workers/domain/provenance.ts';

/** Returns the name and the text of a study's file, and what the file lacks: imported lengths are in the database. */
export function studyFile(study: Study): { readonly name: string; readonly text: string; readonly lacks: string } {
  const words = study.name.toLowerCase().match(/[a-z0-9]+/g) ?? ['study'];
  const { lengths } = study.workload;
  return {
    name: `${words.join('-')}.study.json`,
    text: `${JSON.stringify(study, null, 2)}\n`,
    lacks: lengths.startsWith('stored:')
      ? `without its lengths: in another database, also import ${lengthsText(lengths)}`
      : '',
  };
}
