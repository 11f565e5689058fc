import { createReadStream, existsSync, readdirSync, readFileSync } from 'node:fs';
import * as v from 'valibot';
import { expect, it } from 'vitest';
import { studySchema } from '../../src-main/contract/study.ts';
import { fail, ok, unwrap } from '../../src-workers/domain/result.ts';
import { moments } from '../../src-workers/models/workload/laws.ts';
import { resolveWorkload } from '../../src-workers/parse/grammar.ts';

const folder = new URL('../../db/examples/', import.meta.url);
const studies = readdirSync(folder).filter((name) => name.endsWith('.json'));

const openFile = async (path: string) => {
  const url = new URL(path, folder);
  return existsSync(url) ? ok(createReadStream(url)) : fail('not-found', `${path}: no such file beside the example`);
};

it.each(studies)('the example %s is a valid study with a description, and its workload is resolved', async (name) => {
  const study = v.parse(studySchema, JSON.parse(readFileSync(new URL(name, folder), 'utf8')));
  expect(study.description.length).toBeGreaterThan(100);
  expect(moments(unwrap(await resolveWorkload(study.workload.lengths, { openFile }))).mean).toBeGreaterThan(0);
});

it('every data file of the example studies is listed with its source and licence', () => {
  const readme = readFileSync(new URL('README.md', folder), 'utf8');
  for (const file of readdirSync(folder)) if (file !== 'README.md') expect(readme).toContain(`\`${file}\``);
});
