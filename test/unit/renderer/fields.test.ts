import { isPhase } from '../../../src-workers/domain/provenance.ts';
import { expect, it } from 'vitest';
import { parseStudy } from '../../../src-main/contract/parse.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { term } from '../../../src-workers/domain/terms.ts';
import { changeText, fieldLabel, fieldValue, type FieldWords } from '../../../src-renderer/format/fields.ts';
import { readFileSync } from 'node:fs';
import * as v from 'valibot';
import { studyFileSchema } from '../../../src-main/contract/study.ts';
import { kernelFields } from '../../../src-renderer/views/study/kernel-fields.ts';

const words: FieldWords = {
  say: (key, form) => term(key, 'cuda', form),
  devices: [{ id: 'nvidia-a.b', name: 'GeForce RTX 4090' }] as unknown as FieldWords['devices'],
};

it.each([
  ['kernel.serialFraction', '0.047619047619047616', 'Serial fraction σ', '0.04762'],
  ['axes.registerCap', '[null,64,128]', 'Register cap', 'none, 64 128'],
  ['axes.blockThreads', '{"from":32,"to":1024,"step":32}', 'Block size', '32 … 1,024, step 32'],
  ['workload.lengths', `"stored:${'0'.repeat(64)}:jobs.csv#steps"`, 'Lengths', 'jobs.csv#steps'],
  ['workload.truncation', '', 'Probability cut', '–'],
  ['devices', '["nvidia-a.b","gone"]', 'Devices', 'RTX 4090, gone'],
  ['kernel.lengthsKnownBeforeLaunch', 'true', 'Lengths known before launch', 'yes'],
  ['kernel.sharedMemoryBytesPerBlock', '49152', 'Shared memory', '48 KiB'],
  ['pipeline.nvidia-a.b.latencyCycles', '412.5', 'Latency floor of RTX 4090', '412.5'],
  ['constraints', '[{"quantity":"waves","atMost":2}]', 'Constraints', 'Waves ≤ 2'],
  ['axes.balancing', '["none","dynamic-fetch"]', 'Balancing', 'none, dynamic-fetch'],
])('fields of a study in words of the interface %s', (field, json, label, value) =>
  expect([fieldLabel(field, words), fieldValue(field, json, words).replaceAll('\u00a0', ' ')]).toEqual([label, value]),
);

it('fields of a study in words of the interface have a name for every field of the example studies', () => {
  const study = unwrap(parseStudy(readFileSync('db/examples/acts.json', 'utf8')));
  for (const part of ['workload', 'kernel', 'axes'] as const)
    for (const [key, value] of Object.entries(study[part])) {
      if (value === undefined || key === 'origins') continue;
      expect(fieldLabel(`${part}.${key}`, words)).not.toContain('.');
      expect(fieldValue(`${part}.${key}`, JSON.stringify(value), words)).not.toMatch(/[[{"]/);
    }
});

it('fields of a study in words of the interface describe a change in one sentence', () =>
  expect(changeText({ field: 'workload.units', was: '20000', is: '4' }, words)).toBe('Units was 20,000 and is now 4'));

it('fields of the kernel accept exactly the values that a study may have', () => {
  const { kernel } = studyFileSchema.entries;
  for (const { id, min, max } of kernelFields(words.say)) {
    const accepts = (value: number) =>
      v.safeParse(kernel.entries[id], isPhase(id) ? { instructions: value } : value).success;
    expect([id, accepts(min === 0 && !accepts(0) ? Number.MIN_VALUE : min)]).toEqual([id, true]);
    expect([id, accepts(max), accepts(max * 1.001 + 1), accepts(1e308)]).toEqual([id, true, false, false]);
  }
});
