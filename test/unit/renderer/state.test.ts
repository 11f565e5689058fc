import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { StudyRecord } from '../../../src-main/contract/api.ts';
import { mergeEdits } from '../../../src-main/contract/merge.ts';
import type { Study } from '../../../src-main/contract/study.ts';
import type { App } from '../../../src-renderer/state/app.svelte.ts';
import { checkAddress } from '../../../src-renderer/state/arrival.ts';
import { CoarseFirst, type Look } from '../../../src-renderer/state/coarse-first.ts';
import { StudyEditor } from '../../../src-renderer/state/editor.svelte.ts';
import type { Engine } from '../../../src-renderer/state/engine.svelte.ts';
import { ALL_DEVICES, deviceInView } from '../../../src-renderer/state/location.svelte.ts';
import { fail, ok, type Result } from '../../../src-workers/domain/result.ts';

it.each([
  ['the chosen one', 'ab', 'b', 'a', 'b'],
  ['all of them', 'ab', ALL_DEVICES, 'a', null],
  ['the given one if none was chosen', 'ab', null, 'a', 'a'],
  ['the given one if the run does not have the chosen one', 'ab', 'x', 'a', 'a'],
  ['not known yet', 'ab', null, undefined, undefined],
  ['the only one of a run', 'a', ALL_DEVICES, undefined, 'a'],
])('the device that the views show is %s', (_, ids, chosen, otherwise, expected) =>
  expect(
    deviceInView(
      Array.from(ids, (id) => ({ id })),
      chosen,
      otherwise,
    ),
  ).toBe(expected),
);

describe('an address with the name of a missing thing', () => {
  /** Opens an address, and returns the message about it and the fields that were dropped. */
  async function arrive(view: string, query: string, { unknownView = null as string | null, loaded = true } = {}) {
    const dropped: string[] = [];
    const said: string[] = [];
    const params = new URLSearchParams(query);
    const drop = (...fields: string[]) => dropped.push(...fields);
    const openStudy = (id: number | null) => dropped.push(`study → ${id}`);
    const studies = [{ id: 1, name: 'One', updatedAt: '2026' }];
    await checkAddress({
      location: { view, params, unknownView, studyId: Number(params.get('study')), drop, openStudy },
      library: { loaded, studies, runs: [{ id: 1 }], devices: [{ id: 'nvidia-a' }] },
      run: { id: 1, kind: 'sweep', enumerated: 100 },
      engine: { call: () => Promise.resolve(fail('not-found', '')) },
      refuse: ({ title }: { title: string }) => said.push(title),
    } as unknown as App);
    return { said, dropped };
  }

  it.each([
    ['ranking', 'study=9', 'There is no study 9', ['study → 1']],
    ['ranking', 'study=1&run=7', 'There is no run 7', ['run', 'design', 'baseline']],
    ['runs', 'study=1&selected=7', 'There is no run 7', ['selected', 'design', 'baseline']],
    ['ranking', 'study=1&device=x', 'There is no device x', ['device']],
    ['ranking', 'study=1&design=100', 'There is no design 100 in run 1', ['design']],
    ['ranking', 'study=1&design=-1', 'There is no design -1 in run 1', ['design']],
  ])('#/%s?%s', async (view, query, title, fields) =>
    expect(await arrive(view, query)).toEqual({ said: [title], dropped: fields }),
  );
  it('is left unchanged if everything in it exists, and before the library is loaded', async () => {
    const untouched = { said: [], dropped: [] };
    expect(await arrive('ranking', 'study=1&run=1&device=nvidia-a&design=99')).toEqual(untouched);
    expect(await arrive('ranking', 'study=1&device=all')).toEqual(untouched);
    expect(await arrive('landscape', 'study=1&selected=7')).toEqual(untouched);
    expect(await arrive('ranking', 'study=9&run=7', { loaded: false })).toEqual(untouched);
  });
  it('is reported if it names an unknown view', async () => {
    const { said } = await arrive('study', 'study=1', { unknownView: 'rankings' });
    expect(said).toEqual(['There is no view “rankings”']);
  });
});

describe('an edit', () => {
  const named = (name: string, description = ''): Study => ({ name, description }) as Study;
  let kept: Map<string, string>;
  beforeEach(() => {
    kept = new Map();
    // Outside a page, the rune only needs to return its value.
    const itself = <T>(value: T) => value;
    vi.stubGlobal('$state', Object.assign(itself, { raw: itself }));
    vi.stubGlobal('localStorage', {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => kept.set(key, value),
      removeItem: (key: string) => kept.delete(key),
    });
  });
  afterEach(() => vi.unstubAllGlobals());

  /** Makes a page that edits a study on a server, which may be unreachable. The browser's storage outlives the page. */
  function page(stored: { study: Study }) {
    const state = { up: true, unload: () => {} };
    vi.stubGlobal('window', { addEventListener: (_: string, listener: () => void) => (state.unload = listener) });
    const record = (): StudyRecord => ({ id: 5, example: false, study: stored.study }) as StudyRecord;
    const call = (name: string, { study, known = stored.study }: { readonly study: Study; readonly known?: Study }) => {
      if (!state.up) return Promise.resolve(fail('cancelled', 'The server is not running'));
      if (name === 'studies.save') stored.study = mergeEdits(known, study, stored.study);
      return Promise.resolve(ok(record()));
    };
    const told: string[] = [];
    const engine = { call, on: () => () => {} } as unknown as Engine;
    const editor = new StudyEditor(engine, (label) => told.push(label));
    editor.take(record());
    return { editor, state, told };
  }

  /** Makes a server that stopped while a page had an edit. */
  async function lost(): Promise<{ study: Study }> {
    const server = { study: named('before') };
    const { editor, state } = page(server);
    state.up = false;
    editor.edit('name', 'the name', () => named('edited'));
    state.unload();
    await editor.save();
    expect(server.study.name).toBe('before');
    return server;
  }

  it('is kept, with those of another window, and the later edit of the same field wins', async () => {
    const server = { study: named('before') };
    const [{ editor: one, told }, { editor: other, told: toldOther }] = [page(server), page(server)];
    one.edit('name', 'the name', () => named('one'));
    other.edit('description', 'the description', () => named('before', 'other'));
    await Promise.all([one.save(), other.save(), other.save()]);
    await one.follow();
    expect([one.study, other.study, server.study]).toEqual(Array(3).fill(named('one', 'other')));
    one.undo();
    one.undo();
    await one.save();
    await other.follow();
    expect([server.study, told, toldOther]).toEqual([named('before'), [], []]);
    other.edit('name', 'the name', () => named('other'));
    one.edit('name', 'the name', () => named('one'));
    for (const editor of [one, other]) await editor.save();
    await one.follow();
    expect([one.study?.name, told, toldOther]).toEqual(['other', ['the name'], []]);
  });

  it('that could not be saved is restored when the page is opened again, as a step that can be undone, and is saved', async () => {
    const server = await lost();
    const { editor } = page(server);
    expect([editor.study?.name, editor.undoLabel]).toEqual(['edited', 'an edit that was not saved']);
    await editor.save();
    expect([server.study.name, kept.size]).toEqual(['edited', 0]);
    expect(page(server).editor.undoLabel).toBeNull();
  });

  it('that could not be saved is not applied to a study that has changed in the meantime', async () => {
    const server = await lost();
    server.study = named('from another window or another file is not applied');
    expect(page(server).editor.study).toBe(server.study);
  });
});

describe('an input that changes with every frame', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());
  const rest = (ms = 200) => vi.advanceTimersByTimeAsync(ms);

  /** Makes a follower of the inputs. The test answers its calls, and reads what it has asked and shown. */
  function follower(...inputs: readonly string[]) {
    const answers: ((result: Result<string>) => void)[] = [];
    const asked: string[] = [];
    const shown: string[] = [];
    const following = new CoarseFirst<string, string>({
      ask: (input, look: Look) => {
        asked.push(`${look} ${input}`);
        return new Promise((resolve) => answers.push(resolve));
      },
      show: (result, input, look) => shown.push(`${look} ${result.ok ? input : result.error.code}`),
    });
    for (const input of inputs) following.follow(input);
    /** Answers the call with this number, or else the newest one. */
    const answer = async (at = answers.length - 1, result: Result<string> = ok('')) => {
      answers[at](result);
      await rest(0);
    };
    return { asked, shown, following, answer };
  }

  it('has one glance at a time, for the newest input, and at rest a coarse call and then an exact one', async () => {
    const { asked, shown, answer } = follower('a', 'b', 'c');
    expect(asked).toEqual(['glance a']);
    await answer();
    expect(asked).toEqual(['glance a', 'glance c']);
    await answer();
    await rest(1000);
    expect(asked).toEqual(['glance a', 'glance c', 'coarse c']);
    await answer();
    expect(asked.slice(3)).toEqual(['fastest c']);
    expect(shown).toEqual(['glance a', 'glance c', 'coarse c']);
  });

  it('drops a coarse answer for an outdated input', async () => {
    const { asked, shown, following, answer } = follower('a');
    await answer();
    following.follow('b');
    expect(asked).toEqual(['glance a', 'coarse a', 'glance b']);
    await answer(2);
    await answer(1);
    expect(shown).toEqual(['glance a', 'glance b']);
  });

  it('gets an exact call once it rests, however slow the coarse answer is', async () => {
    const { asked, shown, following, answer } = follower('a');
    await rest(100);
    following.follow('b');
    await rest(5100);
    expect(asked).toEqual(['glance a']);
    await rest(60);
    expect(asked.at(-1)).toBe('fastest b');
    await answer();
    expect(asked.at(-1)).toBe('all b');
    await answer();
    await answer(0);
    expect(shown).toEqual(['fastest b', 'all b']);
  });

  it('does not rest while it is held', async () => {
    const { asked, following, answer } = follower();
    following.held = true;
    following.follow('a');
    await answer();
    await answer();
    await rest(1000);
    expect(asked).toEqual(['glance a', 'coarse a']);
    following.held = false;
    await rest();
    expect(asked.at(-1)).toBe('fastest a');
    await answer();
    await answer();
    following.held = true;
    following.held = false;
    await rest(1000);
    expect(asked).toHaveLength(4);
  });

  it('drops the exact answer for an outdated input', async () => {
    const { asked, shown, following, answer } = follower('a');
    await answer();
    await answer();
    await rest();
    expect(asked.at(-1)).toBe('fastest a');
    following.follow('b');
    await answer(2);
    await answer(3);
    expect(shown).toEqual(['glance a', 'coarse a', 'glance b']);
  });

  it('shows the failure of an exact call, but not of a first one', async () => {
    const { asked, shown, answer } = follower('a');
    const failure = fail('conflict', 'No design is valid');
    for (const call of [0, 1]) await answer(call, failure);
    await rest();
    await answer(2, failure);
    expect(shown).toEqual(['fastest conflict']);
    expect(asked).toHaveLength(3);
  });

  it('drops the whole answer for an outdated input, and repeats a call that another one replaced', async () => {
    const { asked, shown, following, answer } = follower('a');
    await answer();
    await answer();
    await rest();
    await answer(2);
    await answer(3, fail('cancelled', 'A newer call has replaced this call, or it was cancelled.'));
    await rest();
    expect(asked).toEqual(['glance a', 'coarse a', 'fastest a', 'all a', 'fastest a']);
    await answer(4);
    following.follow('b');
    await answer(5);
    await answer(6);
    expect(shown).toEqual(['glance a', 'coarse a', 'fastest a', 'fastest a', 'glance b']);
  });

  it('shows nothing more once it is stopped', async () => {
    const { asked, shown, following, answer } = follower('a');
    following.stop();
    await answer(0);
    await rest(500);
    expect([asked, shown]).toEqual([['glance a'], []]);
  });
});
