import { fail, type Result } from '../../src-workers/domain/result.ts';
import { parseJson } from '../contract/json.ts';
import { parseStudy } from '../contract/parse.ts';
import type { Study } from '../contract/study.ts';
import { readText, writeFor } from '../services/app/files.ts';

/** A study as its file has it: what it leaves out is left out here. */
export type WrittenStudy = Readonly<Record<string, unknown>> & { readonly kernel: object };

/**
 * Changes a study file and leaves the rest of it as the person wrote it. Fails where the file is no study, the change fails, or its result
 * is no study; the file is then as it was.
 */
export async function changeStudyFile(
  file: string,
  change: (study: Study, written: WrittenStudy) => Result<WrittenStudy>,
): Promise<Result<null>> {
  const text = await readText(file, 'a study file (JSON)');
  if (!text.ok) return text;
  const study = parseStudy(text.value, file);
  if (!study.ok) return study;
  const written = parseJson(text.value, file);
  if (!written.ok) return written;
  const changed = change(study.value, written.value as WrittenStudy);
  if (!changed.ok) return changed;
  const result = `${JSON.stringify(changed.value, null, 2)}\n`;
  const after = parseStudy(result, file);
  return after.ok
    ? writeFor(file, result)
    : fail(after.error.code, `The study would not be valid: ${after.error.message}`);
}
