import fc from 'fast-check';
import { PassThrough } from 'node:stream';
import { MessageChannel } from 'node:worker_threads';
import { describe, expect, test, vi } from 'vitest';
import { serveLines } from '../../src-main/cli/commands/rpc.ts';
import * as transport from '../../src-main/contract/transport.ts';
import { fail, ok, unwrap } from '../../src-workers/domain/result.ts';
import { forAll } from '../for-all.ts';

const roundTrip = (message: unknown) => unwrap(transport.decodeMessage(transport.encodeMessage(message)));

describe('codec', () => {
  test('keeps the kind and the content of typed arrays at any offset', () => {
    const backing = Float64Array.of(9, 1, NaN, -0, Infinity);
    const message = {
      a: backing.subarray(1),
      b: [Uint8Array.of(1, 2, 3), new Float32Array(0), Uint16Array.of(65535)],
      c: { d: Int32Array.of(-1), e: Uint32Array.of(2 ** 32 - 1) },
    };
    expect(roundTrip(message)).toStrictEqual(message);
    expect(roundTrip(Buffer.from('abc'))).toStrictEqual(Uint8Array.from([97, 98, 99]));
    // A frame may also start at an odd byte of a larger buffer.
    const larger = Buffer.concat([new Uint8Array(3), transport.encodeMessage(message)]);
    expect(unwrap(transport.decodeMessage(larger.subarray(3)))).toStrictEqual(message);
  });

  test('any plain value and any double arrives unchanged', () => {
    const key = fc.oneof(
      fc.string().filter((text) => text !== '__proto__'),
      fc.constant('$'),
    );
    const plain = [fc.string(), fc.double(), fc.boolean(), fc.constant(null), fc.float64Array(), fc.uint8Array()];
    const { node } = fc.letrec((tie) => ({
      node: fc.oneof(
        { maxDepth: 5 },
        ...plain,
        fc.array(tie('node'), { maxLength: 4 }),
        fc.dictionary(key, tie('node'), { maxKeys: 4, noNullPrototype: true }),
      ),
    }));
    forAll(node, (message) => {
      expect(roundTrip(message)).toStrictEqual(message);
    });
  });

  test('leaves out undefined fields, turns undefined elements into null', () => {
    expect(roundTrip({ a: undefined, b: [undefined] })).toStrictEqual({ b: [null] });
    expect(roundTrip(undefined)).toBeNull();
  });

  test('refuses to send values that are not plain data', () => {
    for (const bad of [() => 1, 1n, new Map(), new Date(0), new BigInt64Array(1), Symbol('s')])
      expect(() => transport.encodeMessage({ bad })).toThrow(TypeError);
    const endless: Record<string, unknown> = {};
    endless['self'] = endless;
    expect(() => transport.encodeMessage(endless)).toThrow(/nested/);
  });

  const frameOf = (header: string, segments = 0) => {
    const text = new TextEncoder().encode(header);
    const start = Math.ceil((4 + text.length) / 8) * 8;
    const frame = new Uint8Array(start + segments);
    new DataView(frame.buffer).setUint32(0, text.length, true);
    frame.set(text, 4);
    return frame;
  };

  test.each<[string, RegExp]>([
    ['{"__proto__":{"admin":true}}', /__proto__/],
    ['{"$":["o",{"__proto__":1}]}', /__proto__/],
    ['{"$":["f64",2]}', /past the end/],
    ['{"$":["f64",-1]}', /length/],
    ['{"$":["f64",1e300]}', /length/],
    ['{"$":["u8",1.5]}', /length/],
    ['{"$":["constructor",1]}', /tag/],
    ['{"$":["n","1"]}', /tag/],
    ['{"$":7}', /tag/],
    ['[{"$":["u8",8]},{"$":["u8",8]}]', /past the end/], // Two arrays cannot share bytes.
    ['{', /JSON/],
    ['['.repeat(200) + ']'.repeat(200), /deep/],
  ])('refuses the header %s', (header, reason) =>
    expect(transport.decodeMessage(frameOf(header, 8))).toFail('bad-input', reason),
  );

  test('the decoder never throws, whatever the bytes are', () => {
    forAll(fc.uint8Array({ maxLength: 64 }), (bytes) => typeof transport.decodeMessage(bytes).ok === 'boolean');
    const good = transport.encodeMessage({ a: Float64Array.of(1, 2, 3), b: 'text', c: [NaN] });
    forAll(fc.nat(good.length - 1), fc.nat(255), fc.nat(good.length), (at, byte, length) => {
      const broken = good.slice(0, length);
      if (at < length) broken[at] = byte;
      transport.decodeMessage(broken);
    });
  });
});

type Dispatch = transport.EngineDoor['dispatch'];
function fakeEngine(dispatch: Dispatch) {
  const listeners = new Set<Parameters<transport.EngineDoor['subscribe']>[0]>();
  const subscribe: transport.EngineDoor['subscribe'] = (listener) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  return { engine: { dispatch, subscribe }, listeners };
}
const NOTHING: Dispatch = async () => ok(null);

/** Connects a client and an engine in one process by a real MessagePort. */
function joined(call: Dispatch) {
  const { port1, port2 } = new MessageChannel();
  const { engine, listeners } = fakeEngine(call);
  const connection = transport.serveConnection(engine, (message) => port2.postMessage(message));
  port2.on('message', connection.receive);
  port2.on('close', connection.close);
  const client = transport.createClient(transport.portChannel(port1 as unknown as transport.PortLike));
  return { client, listeners, port1, port2 };
}

describe('client and engine', () => {
  test('answers calls in any order, with typed arrays and failures', async () => {
    const { client } = joined(async (name, input) => {
      if (name === 'runs.get') {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return fail('not-found', 'no run 7', { id: 7 });
      }
      return ok({ echo: input, times: Float64Array.of(NaN, 1) });
    });
    const [missing, echoed] = await Promise.all([client.call('runs.get', { id: 7 }), client.call('app.info', {})]);
    expect(missing).toStrictEqual({ ok: false, error: { code: 'not-found', message: 'no run 7', context: { id: 7 } } });
    expect(echoed).toStrictEqual({ ok: true, value: { echo: {}, times: Float64Array.of(NaN, 1) } });
    client.close();
  });

  test('an exception, an answer or an argument that cannot be sent is a failure, after which calls go on', async () => {
    const { client } = joined(async (name) => {
      if (name === 'app.doctor') throw new Error('boom');
      return ok(name === 'app.info' ? () => 1 : null);
    });
    expect(await client.call('app.doctor', {})).toFail('internal', 'app.doctor: boom');
    expect(await client.call('app.info', {})).toFail('internal');
    expect(await client.call('settings.set', { key: 'k', value: () => 1 })).toFail('bad-input');
    expect(await client.call('settings.set', { key: 'k', value: 1 })).toStrictEqual({ ok: true, value: null });
    client.close();
  });

  test('delivers events until the page unsubscribes or closes', async () => {
    const { client, listeners } = joined(NOTHING);
    const heard = vi.fn();
    const off = client.on('store.changed', heard);
    const tell = async () => {
      for (const listener of listeners) listener('store.changed', { what: 'runs' });
      await client.call('app.info', {});
    };
    await tell();
    expect(heard).toHaveBeenCalledExactlyOnceWith({ what: 'runs' });
    off();
    await tell();
    expect(heard).toHaveBeenCalledTimes(1);
    client.close();
    await vi.waitFor(() => expect(listeners.size).toBe(0));
  });

  test('an engine is told when the page that waits for it has closed', async () => {
    const asked = Promise.withResolvers<AbortSignal>();
    const { engine } = fakeEngine(async (_name, _input, gone) => {
      asked.resolve(gone);
      return ok(null);
    });
    const connection = transport.serveConnection(engine, () => {});
    connection.receive({ id: 1, name: 'app.info', input: {} });
    const gone = await asked.promise;
    expect(gone.aborted).toBe(false);
    connection.close();
    expect(gone.aborted).toBe(true);
  });

  test('waiting and later calls fail when the channel closes, and engine.lost is sent once', async () => {
    const { client, port2 } = joined(() => new Promise(() => {}));
    const lost = vi.fn();
    client.on('engine.lost', lost);
    const waiting = client.call('app.info', {});
    port2.close();
    expect(await waiting).toFail('cancelled');
    expect(await client.call('app.info', {})).toFail('cancelled');
    expect(lost).toHaveBeenCalledTimes(1);
  });

  test('messages that are not replies, or not requests, are ignored', async () => {
    let deliver: (message: unknown) => void = () => {};
    const onMessage: transport.Channel['onMessage'] = (listener) => void (deliver = listener);
    transport.createClient({ send: () => {}, onMessage, onClose: () => {}, close: () => {} });
    for (const message of [null, 1, 'x', {}, { id: 99, ok: true }, { event: 5 }, []])
      expect(() => deliver(message)).not.toThrow();
    const [call, send] = [vi.fn(NOTHING), vi.fn()];
    const connection = transport.serveConnection(fakeEngine(call).engine, send);
    const wrong = [{ id: 'x', name: 'app.info' }, { id: 1.5, name: 'a' }, { id: 1, name: 'a'.repeat(101) }]; // prettier-ignore
    for (const message of [null, 1, [], {}, ...wrong]) connection.receive(message);
    await new Promise((resolve) => setTimeout(resolve, 5));
    for (const made of [call, send]) expect(made).not.toHaveBeenCalled();
  });
});

test('the engine’s edge limits the unanswered calls of one connection', async () => {
  const release: (() => void)[] = [];
  const sent: unknown[] = [];
  const { engine } = fakeEngine(() => new Promise((resolve) => release.push(() => resolve(ok(null)))));
  const connection = transport.serveConnection(engine, (message) => void sent.push(message));
  for (let id = 1; id <= 300; id++) connection.receive({ id, name: 'app.info', input: {} });
  await vi.waitFor(() => expect(release).toHaveLength(256));
  expect(sent).toHaveLength(44);
  for (const one of release) one();
  await vi.waitFor(() => expect(sent).toHaveLength(300));
  connection.receive({ id: 301, name: 'app.info', input: {} });
  await vi.waitFor(() => expect(release).toHaveLength(257));
});

test('a page whose connection is refused distinguishes a server that refuses the token from one that does not run', async () => {
  let asked = '';
  /** Returns what the user is told if the server answers a request with this status. With null, no server runs. */
  async function told(status: number | null, protocol = 'http:') {
    class Refused {
      constructor(address: string) {
        asked = address;
      }
      addEventListener(type: string, listener: (event: object) => void): void {
        if (type === 'close') setTimeout(() => listener({ reason: '' }));
      }
      send(): void {}
      close(): void {}
    }
    const page = {
      location: { host: 'localhost', protocol, origin: '', search: '', hash: '' },
      localStorage: { getItem: () => 'an-old-token-of-it', setItem: () => {} },
      fetch: () => (status === null ? Promise.reject(new TypeError('no')) : Promise.resolve({ status })),
      WebSocket: Refused,
    } as unknown as transport.PageLike;
    return transport.connectEngine(page);
  }
  expect(await told(403)).toFail('conflict', /Open the address that "lockstep serve" printed/);
  expect(await told(null)).toFail('cancelled', 'The server is not running');
  expect(await told(200)).toFail('cancelled', 'The engine refused the connection');
  expect(new URL(asked).protocol).toBe('ws:');
  await told(200, 'https:');
  expect(new URL(asked).protocol).toBe('wss:');
});

/** Returns the replies to lines of JSON in these chunks. `slow` is answered only when the input has ended. */
async function answers(chunks: readonly string[], events = false): Promise<readonly unknown[]> {
  const output = new PassThrough();
  const slow = Promise.withResolvers<void>();
  const { engine, listeners } = fakeEngine(async (name, input) => {
    if (name === 'slow') await slow.promise;
    if (name === 'arrays') return ok({ times: Float64Array.of(1, NaN), bytes: Uint8Array.of(7) });
    return name === 'missing' ? fail('not-found', 'There is none.', { field: 'id' }) : ok(input ?? {});
  });
  async function* input(): AsyncGenerator<Buffer> {
    for (const chunk of chunks) yield Buffer.from(chunk);
    if (events) for (const listener of listeners) listener('store.changed', { what: 'runs' });
    setImmediate(slow.resolve);
  }
  await serveLines(engine, input(), output, { events, maxLineBytes: 200 });
  expect(listeners.size).toBe(0);
  const lines = String(output.read() ?? '').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as unknown);
}

const echo = (id: number, given: object): string => JSON.stringify({ id, call: 'echo', arguments: given });
const refused = (id: number | null, message: RegExp): unknown => ({
  id,
  error: expect.objectContaining({ code: 'bad-input', message: expect.stringMatching(message) as string }) as object,
});

const answer = (id: number, result: object = {}): unknown => ({ id, result });
const none = { code: 'not-found', message: 'There is none.', context: { field: 'id' } };
test.each<[string, readonly string[], ...expected: unknown[]]>([
  ['a call', [`${echo(1, { a: [1.5, 'é'] })}\n`], answer(1, { a: [1.5, 'é'] })],
  ['no arguments', ['{"id":1,"call":"echo"}\n'], answer(1)],
  ['lines in pieces', [echo(1, {}).slice(0, 9), `${echo(1, {}).slice(9)}\n\n${echo(2, {})}`], answer(1), answer(2)],
  ['a failure', ['{"id":3,"call":"missing"}\n'], { id: 3, error: none }],
  ['bytes', [`${echo(1, { bytes: { base64: 'AAH/' } })}\n`], answer(1, { bytes: { base64: 'AAH/' } })],
  ['an object beside its base64', [`${echo(1, { base64: 'x', b: 1 })}\n`], answer(1, { base64: 'x', b: 1 })],
  ['typed arrays', ['{"id":1,"call":"arrays"}'], answer(1, { times: [1, null], bytes: { base64: 'Bw==' } })],
  ['text that is not JSON, and then a call', [`nonsense\n${echo(2, {})}\n`], refused(null, /not JSON/), answer(2)],
  ['a misspelt member', ['{"id":4,"cal":"echo"}\n'], refused(4, /call is missing/)],
  ['no object', ['7\n', 'null\n'], refused(null, /line/), refused(null, /line/)],
  ['an id that is not a whole number', ['{"id":1.5,"call":"echo"}\n'], refused(null, /id must be a whole number/)],
  [
    'a line beyond the limit',
    ['x'.repeat(150), 'x'.repeat(150), `x\n${echo(2, {})}\n`],
    refused(null, /more than 200 bytes/),
    answer(2),
  ],
  ['a call that ends after the input', ['{"id":1,"call":"slow"}\n', echo(2, {})], answer(2), answer(1)],
])('lines of JSON answer %s', async (_name, lines, ...expected) => expect(await answers(lines)).toEqual(expected));

test('lines of JSON send events on request', async () =>
  expect(await answers(['\n'], true)).toEqual([{ event: 'store.changed', payload: { what: 'runs' } }]));
