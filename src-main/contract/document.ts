import { unwrap, type Result } from '../../src-workers/domain/result.ts';
import type { ExportDocument, ExportPart } from './api.ts';

interface ExportDoor {
  call(name: 'export.next', input: { readonly part: number }): Promise<Result<ExportPart>>;
}

/** Yields a document in parts, because the whole may exceed the longest string. Throws a `FailureError`. */
export async function* documentParts(engine: ExportDoor, document: ExportDocument): AsyncGenerator<string, void> {
  let part: ExportPart = document;
  while (part.next !== undefined) {
    yield part.text;
    part = unwrap(await engine.call('export.next', { part: part.next }));
  }
  yield part.text;
}
