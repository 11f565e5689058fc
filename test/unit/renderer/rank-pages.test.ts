import { expect, it, vi } from 'vitest';
import type { Engine } from '../../../src-renderer/state/engine.svelte.ts';
import { RankPages, type ListInput } from '../../../src-renderer/views/ranking/pages.svelte.ts';
import { ok } from '../../../src-workers/domain/result.ts';

it.each(['refreshed', 'read further'])(
  'rows of a list are not replaced by those of the list before, if it is %s while the new one opens',
  async (way) => {
    const itself = <T>(value: T): T => value;
    const effects: (() => void)[] = [];
    vi.stubGlobal('$state', Object.assign(itself, { raw: itself }));
    vi.stubGlobal('$effect', (effect: () => void) => (effects.push(effect), effect()));
    const asked: { readonly descending: boolean; readonly answer: (value: unknown) => void }[] = [];
    const call = (_name: string, { sort }: ListInput) =>
      new Promise((answer) => asked.push({ descending: sort.descending, answer }));
    let [descending, withDetail] = [false, false];
    const pages = new RankPages(
      { state: 'ready', generation: 0, call } as unknown as Engine,
      () => ({ runId: 1, filter: {}, sort: { column: 'timeMs', descending }, opened: [] }),
      () => withDetail,
      () => {},
      () => null,
    );
    const answer = async (at: number): Promise<void> => {
      const rows = [{ designIndex: asked[at].descending ? 9 : 1 }];
      asked[at].answer(ok({ rows, equal: [1], listed: 200, order: null, foundAt: null }));
      await new Promise(setImmediate);
    };
    await answer(0);
    expect(pages.row(0)!.designIndex).toBe(1);
    await answer(1);
    descending = true;
    effects[0]();
    withDetail = way === 'read further';
    if (withDetail) effects[1]();
    else void pages.refresh();
    for (let at = 2; at < asked.length; at += 1) await answer(at);
    expect([pages.row(0), pages.summary!.rows[0]]).toMatchObject([{ designIndex: 9 }, { designIndex: 9 }]);
    vi.unstubAllGlobals();
  },
);
