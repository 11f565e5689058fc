import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readStudyFile, safeFileName, studyArguments } from '../../src-main/desktop/documents.ts';
import { isReachable, readWindowState, writeWindowState } from '../../src-main/desktop/window-state.ts';
import { testFolder } from '../workplace.ts';
import { forAll } from '../for-all.ts';

const folder = testFolder();

describe('the saved place of the window', () => {
  const state = { bounds: { x: -1200, y: 40, width: 1100, height: 700 }, maximised: true };

  test('is kept, except in a read-only folder', () => {
    const file = join(folder, 'window.json');
    writeWindowState(file, state);
    expect(readWindowState(file)).toStrictEqual(state);
    const nowhere = join(folder, 'none', 'window.json');
    expect(() => writeWindowState(nowhere, state)).not.toThrow();
    expect(readWindowState(nowhere)).toBeNull();
  });

  test.each([
    '',
    '{',
    'null',
    '{"bounds":{}}',
    '{"bounds":{"x":1e9,"y":0,"width":800,"height":600},"maximised":false}',
  ])('is ignored if the file contains %j', async (text) => {
    const file = join(folder, 'broken.json');
    await writeFile(file, text);
    expect(readWindowState(file)).toBeNull();
  });

  test.each([
    ['on the second display', { x: -1200, y: 40 }, true],
    ['with a corner on the first display', { x: 1820, y: 900 }, true],
    ['on a display that is gone', { x: 2400, y: 0 }, false],
    ['with its title bar above the screen', { x: 100, y: -300 }, false],
    ['with its title bar below the screen', { x: 100, y: 1060 }, false],
    ['with a visible part that is too narrow to grab', { x: 1900, y: 0 }, false],
  ])('a window %s counts as reachable or not: %#', (_, place, reachable) => {
    const workAreas = [
      { x: 0, y: 0, width: 1920, height: 1080 },
      { x: -1280, y: 0, width: 1280, height: 1024 },
    ];
    expect(isReachable({ ...place, width: 1100, height: 700 }, workAreas)).toBe(reachable);
  });
});

test('study files are read with their name and folder, and refused if they are too large', async () => {
  const file = join(folder, 'study.json');
  await writeFile(file, '{"lockstep":1}');
  const value = { fileName: 'study.json', folder, text: '{"lockstep":1}' };
  expect(await readStudyFile(file)).toStrictEqual({ ok: true, value });
  await writeFile(file, ' '.repeat(4_000_001));
  expect(await readStudyFile(file)).toFail('bad-input', /4000001 bytes/);
});

test('study files are separated from flags and folders on a command line', () => {
  const given = ['/usr/bin/electron', '--no-sandbox', '-r', 'scheme.cjs', '.', 'a.json', 'B.JSON', '--x=c.json'];
  expect(studyArguments(given)).toEqual(['a.json', 'B.JSON']);
});

test('documents get a plain file name without a folder', () => {
  const suggested = ['acts ranking.csv', '../../.bashrc', 'C:\\Windows\\evil.exe', '..'];
  expect(suggested.map(safeFileName)).toEqual(['acts ranking.csv', 'bashrc', 'evil.exe', 'lockstep.txt']);
  forAll(fc.string(), (text) => {
    const name = safeFileName(text);
    // eslint-disable-next-line no-control-regex -- control characters are what must not be there
    expect(name).toMatch(/^[^.\u0000-\u001f<>:"/\\|?*][^\u0000-\u001f<>:"/\\|?*]{0,119}$/);
  });
});
