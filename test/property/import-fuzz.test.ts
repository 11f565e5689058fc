import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { BenchRecord } from '../../src-workers/domain/benchmark.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { parseBenchResults } from '../../src-workers/parse/bench-results.ts';
import { eachJsonMember, type JsonMember } from '../../src-workers/parse/json-members.ts';
import { DEVICE, PLAN } from '../verify/parsers.ts';
import { forAllAsync } from '../for-all.ts';
import { encode } from '../data.ts';

it('reading an object member by member returns the same object', async () => {
  const container = fc.oneof(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue()));
  await forAllAsync(500)(
    fc.dictionary(fc.string(), fc.jsonValue()),
    container,
    fc.constantFrom(0, 1, '\t'),
    async (head, apart, indent) => {
      const text = JSON.stringify({ ...head, ' apart': apart }, null, indent);
      const members: JsonMember[] = [];
      const { whole } = await eachJsonMember(encode(text), 'x', [' apart'], (member) => void members.push(member));
      expect(whole).toBe(true);
      const parsed = JSON.parse(text) as Record<string, unknown>;
      const found = members.filter((member) => member.container === null);
      expect(found.map(({ key, value }) => [key, value])).toEqual(
        Object.entries(parsed).filter(([key]) => key !== ' apart'),
      );
      const entries = members.filter((member) => member.container !== null);
      expect(entries.map(({ key, value }) => [key, value])).toEqual(Object.entries(parsed[' apart'] as object));
    },
  );
});

it('the start of an object contains the start of its entries', async () =>
  await forAllAsync(500)(
    fc.array(fc.jsonValue(), { minLength: 1 }),
    fc.double({ min: 0, max: 1, noNaN: true }),
    async (list, part) => {
      const bytes = encode(JSON.stringify({ list }));
      const entries: unknown[] = [];
      const cut = bytes.subarray(0, Math.min(bytes.length - 1, Math.floor(part * bytes.length)));
      const { whole } = await eachJsonMember(cut, 'x', ['list'], ({ value }) => void entries.push(value));
      expect(whole).toBe(false);
      expect(entries).toEqual((JSON.parse(JSON.stringify(list)) as unknown[]).slice(0, entries.length));
    },
  ));

it('a result file returns the written times, even if the script stopped and continued', async () => {
  const sessions = fc.array(
    fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.array(fc.nat(1e9), { minLength: 1, maxLength: 4 })), {
      maxLength: 4,
    }),
    { minLength: 1, maxLength: 4 },
  );
  await forAllAsync(500)(sessions, async (runs) => {
    const last = new Map<string, readonly number[]>();
    const lines: unknown[] = [];
    for (const measured of runs) {
      lines.push(PLAN, DEVICE);
      for (const [id, times] of measured) {
        last.set(id, times);
        times.forEach((timeNs, repeat) =>
          lines.push({ type: 'sample', case: id, repeat, warmUp: false, timeNs, clockMhz: null } satisfies BenchRecord),
        );
      }
    }
    const text = lines.map((line) => JSON.stringify(line)).join('\n');
    const { cases } = unwrap(await parseBenchResults(encode(text), 'x'));
    expect(new Map(cases.map((one) => [one.case.id, one.timesMs]))).toEqual(
      new Map(['a', 'b'].filter((id) => last.has(id)).map((id) => [id, last.get(id)!.map((ns) => ns / 1e6)])),
    );
  });
});
