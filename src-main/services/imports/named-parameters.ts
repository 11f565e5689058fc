import { DESIGN_FIELDS, type NamedParameters } from '../../../src-workers/domain/design-names.ts';
import type { Context } from '../context.ts';

const MAX_IMPORTS = 50;

/**
 * Maps parameters to fields of a design, as the user states now or has stated in earlier imports for the same study. If
 * several imports map a parameter, the newest counts.
 */
export async function parametersOfStudy(
  { store }: Context,
  runId: number | undefined,
  given: NamedParameters,
): Promise<NamedParameters> {
  const run = runId === undefined ? null : await store.getRun(runId);
  if (!run?.ok || run.value.studyId === null) return given;
  const page = await store.listRuns({ studyId: run.value.studyId, kind: 'import', limit: MAX_IMPORTS });
  const earlier: Record<string, NamedParameters[string]> = {};
  for (const { id } of page.ok ? page.value.rows.toReversed() : []) {
    const imported = await store.getRun(id);
    if (imported.ok) Object.assign(earlier, keptParameters(imported.value.study));
  }
  return { ...earlier, ...given };
}

function keptParameters(study: unknown): NamedParameters {
  const { file } = (study ?? {}) as { readonly file?: { readonly parameters?: unknown } };
  const entries = Object.entries((file?.parameters ?? {}) as NamedParameters);
  return Object.fromEntries(entries.filter(([, field]) => field === null || DESIGN_FIELDS.includes(field)));
}
