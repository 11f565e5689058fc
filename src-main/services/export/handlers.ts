import { setImmediate } from 'node:timers/promises';
import { ok, type Result, notFound } from '../../../src-workers/domain/result.ts';
import { keep } from '../../../src-workers/numeric/kept.ts';
import type { ExportDocument, ExportPart } from '../../contract/api.ts';
import { isMeasuring } from '../../contract/counts.ts';
import type { Context, Handlers, ProceduresOf } from '../context.ts';
import type { Rendered } from './exporter.ts';
import { EXPORTERS, exporterOf } from './formats.ts';
import { measuredDocument } from './measured.ts';
import { renderExport } from './render.ts';

/** A reply has about this many characters. A document may have a gigabyte, which is twice the limit of a string. */
const PART_CHARACTERS = 4_000_000;
const MAX_UNFINISHED = 16;
/** How long an unfinished document and its run are kept without a request for a part, ms. */
const UNFINISHED_MS = 60_000;

export function exportHandlers(context: Context, partCharacters = PART_CHARACTERS): Handlers<ProceduresOf<'export'>> {
  const { views, store } = context;
  // Parts are rendered and sent one at a time, because a page may request many documents at once.
  let before: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = before.then(work);
    before = done.then(
      () => setImmediate(),
      () => {},
    );
    return done;
  };
  const unfinished = new Map<number, Rendered['parts']>();
  let last = 0;
  const nextPart = async (parts: Rendered['parts']): Promise<ExportPart> => {
    let text = '';
    while (text.length < partCharacters) {
      const { done, value } = await parts.next();
      if (done) return { text };
      text += value;
      await setImmediate();
    }
    const next = ++last;
    keep(unfinished, MAX_UNFINISHED, next, parts);
    setTimeout(() => unfinished.delete(next), UNFINISHED_MS).unref();
    return { text, next };
  };
  return {
    'export.formats': async () =>
      ok(
        EXPORTERS.map(({ id, label, text, words, about, rows, gpus, weighs }) => ({
          ...{ id, label, text, about, rows, gpus },
          ...(words !== undefined && { words }),
          ...(weighs && { weighs }),
        })),
      ),
    'export.render': (input) =>
      inTurn(async () => {
        const exporter = exporterOf(input.format);
        if (!exporter.ok) return exporter;
        const { plain } = exporter.value;
        const written = async (rendered: Result<Rendered>): Promise<Result<ExportDocument>> => {
          if (!rendered.ok) return rendered;
          const { parts, ...document } = rendered.value;
          return ok({ ...document, ...(plain && { plain }), ...(await nextPart(parts)) });
        };
        const run = await store.getRun(input.runId);
        if (run.ok && run.value.deletedAt !== null)
          return notFound(
            `Run ${input.runId} was deleted, so it is not exported. lockstep runs restore ${input.runId} takes it out of the bin; lockstep runs list, or Runs in the app, shows the other runs.`,
          );
        if (run.ok && isMeasuring(run.value))
          return written(await measuredDocument({ store }, run.value, exporter.value));
        return views.read(input.runId, async (view) =>
          written(await renderExport(context, view, exporter.value, input)),
        );
      }),
    'export.next': ({ part }) =>
      inTurn(async () => {
        const parts = unfinished.get(part);
        unfinished.delete(part);
        return parts
          ? ok(await nextPart(parts))
          : notFound(`Part ${part} of the document is no longer available. Export the document again.`);
      }),
  };
}
