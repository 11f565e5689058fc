import { isObject } from '../../src-workers/domain/json.ts';
import { fail, type Result, badInput } from '../../src-workers/domain/result.ts';
import { parseJson } from '../contract/json.ts';
import { parseStudy } from '../contract/parse.ts';
import type { Study } from '../contract/study.ts';
import { readText, writeFor } from '../services/files/files.ts';

export type WrittenStudy = Readonly<Record<string, unknown>> & { readonly kernel: object };

/** Fills in no defaults. If the file or the result is not a study, or `change` fails, the file stays unchanged. */
export async function changeStudyFile(
  file: string,
  change: (study: Study, written: WrittenStudy) => Result<WrittenStudy>,
): Promise<Result<null>> {
  return changeFile(file, (text, written) => {
    const study = parseStudy(text, file);
    return study.ok ? change(study.value, written as WrittenStudy) : study;
  });
}

/** The file may still lack required fields that the change adds. */
export async function completeStudyFile(
  file: string,
  change: (written: Readonly<Record<string, unknown>>) => Result<WrittenStudy>,
): Promise<Result<null>> {
  return changeFile(file, (text, written) => {
    if (isObject(written)) return change(written);
    const study = parseStudy(text, file);
    return study.ok ? badInput(`${file} holds no study.`) : study;
  });
}

async function changeFile(
  file: string,
  change: (text: string, written: unknown) => Result<WrittenStudy>,
): Promise<Result<null>> {
  const text = await readText(file, 'a study file (JSON)');
  if (!text.ok) return text;
  const written = parseJson(text.value, file);
  if (!written.ok) return written;
  const changed = change(text.value, written.value);
  if (!changed.ok) return changed;
  const result = `${JSON.stringify(changed.value, null, 2)}\n`;
  const after = parseStudy(result, file);
  return after.ok
    ? writeFor(file, result)
    : fail(after.error.code, `The study would not be valid: ${after.error.message}`);
}
