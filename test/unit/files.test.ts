import {
  chmodSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { readBytes, readText, writeFor, writeWhole } from '../../src-main/services/files/files.ts';
import { testFolder } from '../workplace.ts';

const folder = testFolder();
let own = '';
beforeEach(() => void (own = mkdtempSync(join(folder, 'own-'))));
const at = (name: string): string => join(own, name);

it('a file that is written replaces the old file completely, and leaves no other file beside it', async () => {
  await writeWhole(at('report.md'), 'first');
  await writeWhole(at('report.md'), 'second');
  expect(readFileSync(at('report.md'), 'utf8')).toBe('second');
  await expect(writeWhole(join(own, 'none', 'report.md'), 'x')).rejects.toThrow(/ENOENT/);
  await expect(writeWhole(own, 'x')).rejects.toThrow(/EISDIR/);
  expect(readdirSync(own)).toEqual(['report.md']);
});

it.skipIf(process.platform === 'win32')('a file that is written keeps links and permissions', async () => {
  writeFileSync(at('study.json'), 'first');
  chmodSync(at('study.json'), 0o600);
  symlinkSync('study.json', at('link.json'));
  symlinkSync('later.json', at('nothing.json'));
  await writeWhole(at('link.json'), 'second');
  await writeWhole(at('nothing.json'), 'third');
  const expected = ['second', 'third'];
  expect([readFileSync(at('study.json'), 'utf8'), readFileSync(at('later.json'), 'utf8')]).toEqual(expected);
  expect(statSync(at('study.json')).mode & 0o777).toBe(0o600);
  for (const link of ['link.json', 'nothing.json']) expect(lstatSync(at(link)).isSymbolicLink()).toBe(true);
});

it.runIf(process.platform === 'linux')('a file that is written says why it cannot be written', async () =>
  expect(await writeFor('/dev/full', 'x')).toFail('storage', /dev.full .*ENOSPC/),
);

it('a file is read to its end, and refused if it is too long', async () => {
  const utf16 = Buffer.from('\ufeffa', 'utf16le');
  for (const bytes of ['\ufeffa', utf16, Buffer.from(utf16).swap16()]) {
    writeFileSync(at('four'), bytes);
    expect(await readText(at('four'))).toEqual({ ok: true, value: '\ufeffa' });
  }
  expect(await readBytes(at('four'), 3)).toFail(null, /four has 4 bytes.* 3\.$/);
  expect(await readBytes(own, 10, 'a study')).toFail(null, / is a folder\. Specify a study\.$/);
  expect(await readBytes(at('none'), 10)).toFail('not-found', /\(no such file or folder, ENOENT\)/);
});

it.runIf(process.platform === 'linux')('a source without end is read as far as allowed', async () => {
  expect(await readBytes('/dev/zero', 1000)).toFail(null, /dev.zero has more than 1000 bytes/);
  expect(await readBytes('/dev/null', 1000)).toMatchObject({ ok: true, value: { length: 0 } });
});
