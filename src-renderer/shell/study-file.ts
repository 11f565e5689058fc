import type { Study } from '../../src-main/contract/study.ts';
import { lengthsText } from '../../src-workers/domain/provenance.ts';

/** A longer name may not fit into the 255 bytes of a file name, because a letter takes up to four. */
const MAX_LETTERS = 60;

/** Returns the name and the text of a study's file, and what the file lacks: imported lengths are in the database. */
export function studyFile(study: Study): { readonly name: string; readonly text: string; readonly lacks: string } {
  const name = Array.from(study.name.toLowerCase()).slice(0, MAX_LETTERS).join('');
  const words = name.match(/[\p{L}\p{M}\p{N}]+/gu) ?? ['study'];
  const { lengths } = study.workload;
  return {
    name: `${words.join('-')}.study.json`,
    text: `${JSON.stringify(study, null, 2)}\n`,
    lacks: lengths.startsWith('stored:')
      ? `without its lengths: in another database, also import ${lengthsText(lengths)}`
      : '',
  };
}
