import type { Study } from '../../src-main/contract/study.ts';

/** A longer name may not fit into the 255 bytes of a file name, because a letter takes up to four. */
const MAX_LETTERS = 60;

export function fileStem({ name }: Study): string {
  const start = Array.from(name.toLowerCase()).slice(0, MAX_LETTERS).join('');
  return (start.match(/[\p{L}\p{M}\p{N}]+/gu) ?? ['study']).join('-');
}

/** Whether the lengths are in the database or in a file, and not in the text of the study. */
export const hasLengthsApart = ({ workload }: Study): boolean => /\b(stored|file|mtx)\s*:/.test(workload.lengths);

/** Names a file as lengths of a workload: `file:a.csv`, or `file:"a b.csv"` if the name has spaces or signs. */
function lengthsOf(path: string): string {
  const name = path.split(/[/\\]/).at(-1)!;
  return `file:${/^[\p{L}\p{M}\p{N}._-]+$/u.test(name) ? name : `"${name.replaceAll('"', '""')}"`}`;
}

/** @param lengthsFile path of the CSV of the lengths, which will be in the folder of the study's file */
export function studyText(study: Study, lengthsFile: string | null): string {
  const { workload } = study;
  const written =
    lengthsFile === null ? study : { ...study, workload: { ...workload, lengths: lengthsOf(lengthsFile) } };
  return `${JSON.stringify(written, null, 2)}\n`;
}

const member = (lengths: string): string => `"lengths": ${JSON.stringify(lengths)}`;

/** Whether the text of a study, as `studyText` writes it, names this file of lengths. */
export const namesLengths = (text: string, fileName: string): boolean => text.includes(member(lengthsOf(fileName)));

/** Replaces a file of lengths in the text of a study by the same lengths in the database. */
export const withStoredLengths = (text: string, fileName: string, stored: string): string =>
  text.replace(member(lengthsOf(fileName)), () => member(stored));
