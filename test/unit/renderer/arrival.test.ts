import { describe, expect, it } from 'vitest';
import type { App } from '../../../src-renderer/state/app.svelte.ts';
import { checkAddress } from '../../../src-renderer/state/arrival.ts';
import { ALL_DEVICES, deviceInView } from '../../../src-renderer/state/location.svelte.ts';

/** Opens an address, and returns the message about it and the fields that were dropped. */
async function arrive(view: string, query: string, { unknownView = null as string | null, loaded = true } = {}) {
  const dropped: string[] = [];
  const said: string[] = [];
  const params = new URLSearchParams(query);
  await checkAddress({
    location: {
      view,
      params,
      unknownView,
      studyId: Number(params.get('study')),
      drop: (...fields: string[]) => dropped.push(...fields),
      openStudy: (id: number | null) => dropped.push(`study → ${id}`),
    },
    library: {
      loaded,
      studies: [{ id: 1, name: 'One', updatedAt: '2026' }],
      runs: [{ id: 1 }],
      devices: [{ id: 'nvidia-a' }],
    },
    run: { id: 1, kind: 'sweep', enumerated: 100 },
    engine: { call: () => Promise.resolve({ ok: false, error: { code: 'not-found', message: '' } }) },
    refuse: ({ title }: { title: string }) => said.push(title),
  } as unknown as App);
  return { said, dropped };
}

describe('the device that the views show', () => {
  const devices = [{ id: 'a' }, { id: 'b' }];
  it.each([
    ['the chosen one', 'b', 'a', 'b'],
    ['all of them', ALL_DEVICES, 'a', null],
    ['the given one if none was chosen', null, 'a', 'a'],
    ['the given one if the run does not have the chosen one', 'x', 'a', 'a'],
    ['not known yet', null, undefined, undefined],
  ])('is %s', (_, chosen, otherwise, expected) => expect(deviceInView(devices, chosen, otherwise)).toBe(expected));
  it('is the only one of a run', () => expect(deviceInView([{ id: 'a' }], ALL_DEVICES, undefined)).toBe('a'));
});

describe('an address with the name of a missing thing', () => {
  const untouched = { said: [], dropped: [] };
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
    expect(await arrive('ranking', 'study=1&run=1&device=nvidia-a&design=99')).toEqual(untouched);
    expect(await arrive('ranking', 'study=1&device=all')).toEqual(untouched);
    expect(await arrive('landscape', 'study=1&selected=7')).toEqual(untouched);
    expect(await arrive('ranking', 'study=9&run=7', { loaded: false })).toEqual(untouched);
  });
  it('is reported if it names an unknown view', async () =>
    expect((await arrive('study', 'study=1', { unknownView: 'rankings' })).said).toEqual([
      'There is no view “rankings”',
    ]));
});
