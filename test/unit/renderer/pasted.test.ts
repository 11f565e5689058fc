import { expect, it } from 'vitest';
import { pastedName, takeText } from '../../../src-renderer/shell/files/intake.ts';
import type { App } from '../../../src-renderer/state/app.svelte.ts';

it.each([
  ['4\n4\n5\n', 'pasted.csv'],
  ['length,count\r\n3,10\r\n', 'pasted.csv'],
  ['  {"lockstep": 1}', 'pasted.json'],
  ['__global__ void walk() {\n}\n', 'pasted.csv'],
  ['word', null],
  ['https://example.org/a?b=1', null],
  ['17', null],
  ['Just some prose,\nof two lines.\n', null],
])('pasted text %j is recognised as %s', (text, name) => expect(pastedName(text)).toBe(name));

it('pasted text is refused with a reason if it is not recognised', async () => {
  const said: string[] = [];
  await takeText({ notices: { show: (text: string) => said.push(text) } } as unknown as App, 'Some prose.\nMore.');
  expect(said).toEqual(['Nothing was imported: the pasted text is neither a table with numbers nor a study']);
});
