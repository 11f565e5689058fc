import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { serveLines } from '../../src-main/cli/commands/rpc.ts';
import type { EngineDoor } from '../../src-main/contract/transport.ts';
import { fail, ok } from '../../src-workers/domain/result.ts';

/** Makes an engine that answers `echo` with its argument, and `slow` only when the input has ended. */
function door(): EngineDoor & { readonly release: () => void; readonly emit: () => void; listeners: number } {
  const slow = Promise.withResolvers<void>();
  let tell: Parameters<EngineDoor['subscribe']>[0] = () => {};
  const made = {
    listeners: 0,
    release: () => slow.resolve(),
    emit: () => tell('store.changed', { what: 'runs' }),
    async dispatch(name: string, input: unknown) {
      if (name === 'slow') await slow.promise;
      return name === 'missing' ? fail('not-found', 'There is none.', { field: 'id' }) : ok(input ?? {});
    },
    subscribe(listener: typeof tell) {
      tell = listener;
      made.listeners += 1;
      return () => void (made.listeners -= 1);
    },
  };
  return made;
}

/** Returns the replies to the input in these chunks, line by line. */
async function answers(chunks: readonly string[], events = false, engine = door()): Promise<readonly unknown[]> {
  const output = new PassThrough();
  async function* input(): AsyncGenerator<Buffer> {
    for (const chunk of chunks) yield Buffer.from(chunk);
    if (events) engine.emit();
    setImmediate(engine.release);
  }
  await serveLines(engine, input(), output, { events, maxLineBytes: 200 });
  expect(engine.listeners).toBe(0);
  const text = String(output.read() ?? '');
  return text === ''
    ? []
    : text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown);
}

const echo = (id: number, given: object): string => JSON.stringify({ id, call: 'echo', arguments: given });
const refused = (id: number | null, message: RegExp): unknown => ({
  id,
  error: expect.objectContaining({ code: 'bad-input', message: expect.stringMatching(message) as string }) as object,
});

it.each<[string, readonly string[], readonly unknown[]]>([
  ['a call', [`${echo(1, { a: [1.5, 'é'] })}\n`], [{ id: 1, result: { a: [1.5, 'é'] } }]],
  ['no arguments', ['{"id":1,"call":"echo"}\n'], [{ id: 1, result: {} }]],
  [
    'lines in pieces, and a last line without its end',
    [echo(1, {}).slice(0, 9), `${echo(1, {}).slice(9)}\n\n${echo(2, {})}`],
    [
      { id: 1, result: {} },
      { id: 2, result: {} },
    ],
  ],
  [
    'a failure',
    ['{"id":3,"call":"missing"}\n'],
    [{ id: 3, error: { code: 'not-found', message: 'There is none.', context: { field: 'id' } } }],
  ],
  ['bytes', [`${echo(1, { bytes: { base64: 'AAH/' } })}\n`], [{ id: 1, result: { bytes: { base64: 'AAH/' } } }]],
  ['an object beside its base64', [`${echo(1, { base64: 'x', b: 1 })}\n`], [{ id: 1, result: { base64: 'x', b: 1 } }]],
  [
    'text that is not JSON, followed by a call',
    [`nonsense\n${echo(2, {})}\n`],
    [refused(null, /not JSON/), { id: 2, result: {} }],
  ],
  ['a misspelt member', ['{"id":4,"cal":"echo"}\n'], [refused(4, /call is missing/)]],
  ['no object', ['7\n', 'null\n'], [refused(null, /line/), refused(null, /line/)]],
  ['an id that is not a whole number', ['{"id":1.5,"call":"echo"}\n'], [refused(null, /id must be a whole number/)]],
  [
    'a line beyond the limit',
    ['x'.repeat(150), 'x'.repeat(150), `x\n${echo(2, {})}\n`],
    [refused(null, /more than 200 bytes/), { id: 2, result: {} }],
  ],
  [
    'a call that ends after the input',
    ['{"id":1,"call":"slow"}\n', echo(2, {})],
    [
      { id: 2, result: {} },
      { id: 1, result: {} },
    ],
  ],
])('answers %s', async (_name, lines, expected) => expect(await answers(lines)).toEqual(expected));

it('sends typed arrays as lists, with null for NaN and infinities', async () => {
  const engine = { ...door(), dispatch: async () => ok({ times: Float64Array.of(1, NaN), bytes: Uint8Array.of(7) }) };
  const output = new PassThrough();
  await serveLines(engine, PassThrough.from([Buffer.from('{"id":1,"call":"any"}')]), output, { events: false });
  expect(JSON.parse(String(output.read()))).toEqual({ id: 1, result: { times: [1, null], bytes: { base64: 'Bw==' } } });
});

it('sends events on request', async () =>
  expect(await answers(['\n'], true)).toEqual([{ event: 'store.changed', payload: { what: 'runs' } }]));
