import { expect, it } from 'vitest';
import { captured } from '../command-line.ts';
import { main } from '../../src-main/cli/main.ts';
import { fileOpener } from '../../src-workers/parse/open-file.ts';
import { fail } from '../../src-workers/domain/result.ts';

it('a failure with a huge text is shortened, and keeps its beginning and its advice', () => {
  const failure = fail('bad-input', `The name "${'x'.repeat(3_000_000)}" is too long. Specify a shorter one.`);
  const { message } = (failure as { error: { message: string } }).error;
  expect(message.length).toBeLessThan(2100);
  expect(message).toMatch(
    /^The name "x+ … \(2,99\d,\d{3} characters left out\) … x+" is too long\. Specify a shorter one\.$/,
  );
});

it.each([
  ['an option', [`--${'x'.repeat(100_000)}`]],
  ['a workload', ['loss', '--workload', `geometric(${'9'.repeat(100_000)})`]],
])('the command line does not print megabytes for %s either', async (_, args) => {
  const { status, err } = await captured((terminal) => main(args, terminal));
  expect(status).toBeGreaterThan(0);
  expect(err.length).toBeLessThan(2200);
});

it.each([
  '\\\\host\\share\\lengths.csv',
  '//host/share/lengths.csv',
  '\\/host/lengths.csv',
  '\\\\?\\UNC\\host\\lengths.csv',
])('a study cannot make Windows sign in to another machine: %s', async (path) =>
  expect(await fileOpener('/studies')(path)).toFail(
    'bad-input',
    `${path} is on another machine. Copy it to the folder of the study.`,
  ),
);
