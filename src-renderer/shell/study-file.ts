import type { Study } from '../../src-main/contract/study.ts';
import { findWhole } from '../../src-workers/domain/device-part.ts';
import { isObject } from '../../src-workers/domain/json.ts';
import type { CatalogueDevice } from '../state/library.svelte.ts';

/** Whether the lengths are in the database or in a file, and not in the text of the study. */
export const hasLengthsApart = ({ workload }: Study): boolean => /\b(stored|file|mtx)\s*:/.test(workload.lengths);

/** Names a file as lengths of a workload: `file:a.csv`, or `file:"a b.csv"` if the name has spaces or signs. */
function lengthsOf(path: string): string {
  const name = path.split(/[/\\]/).at(-1)!;
  return `file:${/^[\p{L}\p{M}\p{N}._-]+$/u.test(name) ? name : `"${name.replaceAll('"', '""')}"`}`;
}

/**
 * Returns the text of a study's file, without the path of the schema, which is relative to another file.
 * @param lengthsFile path of the CSV of the lengths, which will be in the folder of the study's file
 */
export function studyText({ $schema: _schema, ...study }: Study, lengthsFile: string | null): string {
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

/** The devices of a study that other databases lack, because the user has added them. */
export function ownDevices({ devices }: Study, known: readonly CatalogueDevice[]): readonly CatalogueDevice[] {
  const ids = new Set(devices.map((id) => findWhole(id) ?? id));
  return known.filter(({ id, own }) => own && ids.has(id));
}

/** Writes a device as `lockstep devices add` reads it. */
export const deviceText = ({ own: _own, ...device }: CatalogueDevice): string => `${JSON.stringify(device, null, 2)}\n`;

/** Returns the device that a text of JSON has; `null` if it has something else, such as a study. */
export function readDevice(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const json: unknown = JSON.parse(text);
    return isObject(json) && 'kind' in json && 'id' in json && !('lockstep' in json) ? json : null;
  } catch {
    return null;
  }
}
