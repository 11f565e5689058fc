import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CoarseFirst, type Look } from '../../../src-renderer/state/coarse-first.ts';
import { fail, ok, type Result } from '../../../src-workers/domain/result.ts';

type Call = { readonly input: string; readonly look: Look; answer(result?: Result<string>): Promise<void> };

/** Makes a follower of the inputs. The test answers its calls, and reads what it has shown. */
function follower(...inputs: readonly string[]) {
  const calls: Call[] = [];
  const shown: string[] = [];
  const following = new CoarseFirst<string, string>({
    ask: (input, look) =>
      new Promise((resolve) => {
        calls.push({
          input,
          look,
          answer: async (result = ok(input)) => {
            resolve(result);
            await vi.advanceTimersByTimeAsync(0);
          },
        });
      }),
    show: (result, input, look) => shown.push(`${look} ${result.ok ? input : result.error.code}`),
  });
  for (const input of inputs) following.follow(input);
  return { calls, shown, following };
}

describe('an input that changes with every frame', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it('has one glance at a time, always for the newest input, and a coarse call when that has not changed', async () => {
    const { calls, shown } = follower('a', 'b', 'c');
    expect(calls.map(({ input }) => input)).toEqual(['a']);
    await calls[0].answer();
    expect(calls.map(({ input }) => input)).toEqual(['a', 'c']);
    await calls[1].answer();
    expect(calls.map(({ look }) => look)).toEqual(['glance', 'glance', 'coarse']);
    await calls[2].answer();
    expect(calls).toHaveLength(3);
    expect(shown).toEqual(['glance a', 'glance c', 'coarse c']);
  });

  it('drops a coarse answer for an outdated input', async () => {
    const { calls, shown, following } = follower('a');
    await calls[0].answer();
    following.follow('b');
    expect(calls.map(({ input, look }) => `${look} ${input}`)).toEqual(['glance a', 'coarse a', 'glance b']);
    await calls[2].answer();
    await calls[1].answer();
    expect(shown).toEqual(['glance a', 'glance b']);
  });

  it('gets an exact call once it rests, however slow the coarse answer is', async () => {
    const { calls, shown, following } = follower('a');
    await vi.advanceTimersByTimeAsync(100);
    following.follow('b');
    await vi.advanceTimersByTimeAsync(100);
    expect(calls.every(({ look }) => look === 'glance')).toBe(true);
    await vi.advanceTimersByTimeAsync(60);
    expect(calls.at(-1)).toMatchObject({ input: 'b', look: 'fastest' });
    await calls.at(-1)!.answer();
    expect(calls.at(-1)).toMatchObject({ input: 'b', look: 'all' });
    await calls.at(-1)!.answer();
    await calls[0].answer();
    expect(shown).toEqual(['fastest b', 'all b']);
  });

  it('does not rest while it is held', async () => {
    const { calls, following } = follower();
    following.held = true;
    following.follow('a');
    await calls[0].answer();
    await calls[1].answer();
    await vi.advanceTimersByTimeAsync(1000);
    expect(calls.map(({ look }) => look)).toEqual(['glance', 'coarse']);
    following.held = false;
    await vi.advanceTimersByTimeAsync(200);
    expect(calls.at(-1)).toMatchObject({ input: 'a', look: 'fastest' });
    await calls.at(-1)!.answer();
    await calls.at(-1)!.answer();
    following.held = true;
    following.held = false;
    await vi.advanceTimersByTimeAsync(1000);
    expect(calls).toHaveLength(4);
  });

  it('drops the exact answer for an outdated input', async () => {
    const { calls, shown, following } = follower('a');
    await calls[0].answer();
    await vi.advanceTimersByTimeAsync(200);
    const exact = calls.at(-1)!;
    expect(exact.look).toBe('fastest');
    following.follow('b');
    await exact.answer();
    await calls.at(-1)!.answer();
    expect(shown).toEqual(['glance a', 'glance b']);
  });

  it('shows the failure of an exact call, but not of a first one', async () => {
    const { calls, shown } = follower('a');
    for (const call of [0, 1]) await calls[call].answer(fail('conflict', 'No design is valid'));
    await vi.advanceTimersByTimeAsync(200);
    await calls[2].answer(fail('conflict', 'No design is valid'));
    expect(shown).toEqual(['fastest conflict']);
    expect(calls).toHaveLength(3);
  });

  it('drops the whole answer for an outdated input, and repeats a call that another one replaced', async () => {
    const { calls, shown, following } = follower('a');
    await calls[0].answer();
    await vi.advanceTimersByTimeAsync(200);
    await calls[2].answer();
    await calls[3].answer(fail('cancelled', 'A newer call of the same client has replaced this call.'));
    await vi.advanceTimersByTimeAsync(200);
    expect(calls.map(({ look }) => look)).toEqual(['glance', 'coarse', 'fastest', 'all', 'fastest']);
    await calls[4].answer();
    following.follow('b');
    await calls[5].answer();
    await calls[6].answer();
    expect(shown).toEqual(['glance a', 'fastest a', 'fastest a', 'glance b']);
  });

  it('shows nothing more once it is stopped', async () => {
    const { calls, shown, following } = follower('a');
    following.stop();
    await calls[0].answer();
    await vi.advanceTimersByTimeAsync(500);
    expect(calls).toHaveLength(1);
    expect(shown).toEqual([]);
  });
});
