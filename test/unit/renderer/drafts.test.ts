import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Study } from '../../../src-main/contract/study.ts';
import type { StudyRecord } from '../../../src-main/contract/api.ts';
import { fail, ok } from '../../../src-workers/domain/result.ts';
import type { Engine } from '../../../src-renderer/state/engine.svelte.ts';
import { StudyEditor } from '../../../src-renderer/state/editor.svelte.ts';

const named = (name: string): Study => ({ name }) as Study;

/** Makes a page that edits a study on a server, which may be unreachable. The browser's storage outlives the page. */
function page(stored: { study: Study }) {
  const state = { up: true, unload: () => {} };
  vi.stubGlobal('window', { addEventListener: (_: string, listener: () => void) => (state.unload = listener) });
  const record = (): StudyRecord => ({ id: 5, example: false, study: stored.study }) as StudyRecord;
  const call = (name: string, input: { readonly study: Study }) => {
    if (!state.up) return Promise.resolve(fail('cancelled', 'The server is not running'));
    if (name === 'studies.save') stored.study = input.study;
    return Promise.resolve(ok(record()));
  };
  const editor = new StudyEditor({ call, on: () => () => {} } as unknown as Engine);
  editor.take(record());
  return { editor, state };
}

describe('an edit that could not be saved', () => {
  let kept: Map<string, string>;
  beforeEach(() => {
    kept = new Map();
    // Outside a page, the rune only needs to return its value.
    const itself = <T>(value: T) => value;
    vi.stubGlobal(
      '$state',
      Object.assign(<T>(value: T) => value, { raw: itself }),
    );
    vi.stubGlobal('localStorage', {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => kept.set(key, value),
      removeItem: (key: string) => kept.delete(key),
    });
  });
  afterEach(() => vi.unstubAllGlobals());

  async function lost(server: { study: Study }): Promise<void> {
    const { editor, state } = page(server);
    state.up = false;
    editor.edit('name', 'the name', () => named('edited'));
    state.unload();
    await editor.save();
  }

  it('is restored when the page is opened again, as a step that can be undone, and is saved', async () => {
    const server = { study: named('before') };
    await lost(server);
    expect(server.study.name).toBe('before');
    const { editor } = page(server);
    expect([editor.study?.name, editor.undoLabel]).toEqual(['edited', 'an edit that was not saved']);
    await editor.save();
    expect([server.study.name, kept.size]).toEqual(['edited', 0]);
    expect(page(server).editor.undoLabel).toBeNull();
  });

  it('is not applied to a study that has changed in the meantime', async () => {
    const server = { study: named('before') };
    await lost(server);
    server.study = named('from another window or another file is not applied');
    expect(page(server).editor.study).toBe(server.study);
  });
});
