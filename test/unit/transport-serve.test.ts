import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import {
  createClient,
  webSocketChannel,
  type EngineDoor,
  type WebSocketLike,
} from '../../src-main/contract/transport.ts';
import { keptToken, TOKEN_PATTERN } from '../../src-main/serve/kept-token.ts';
import { serve, type BrowserHost } from '../../src-main/serve/serve.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { testFolder } from '../workplace.ts';

const TOKEN = 'a-token-for-the-tests';
const folder = testFolder();
let host: BrowserHost;
let tell: Parameters<EngineDoor['subscribe']>[0] = () => {};
let pages = 0;

const engine: EngineDoor = {
  dispatch: async (name, input) => ({ ok: true, value: { name, input, column: Float64Array.of(NaN, 2) } }),
  subscribe(listener) {
    tell = listener;
    pages += 1;
    return () => void (pages -= 1);
  },
};

type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: string };

/** Sends a request by node:http, because fetch refuses to send a Host header and normalises paths. */
function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    httpRequest({ host: '127.0.0.1', port: host.port, path, method, headers, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text: string) => (body += text));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
    })
      .on('error', reject)
      .end();
  });
}

beforeAll(async () => {
  const page = join(folder, 'renderer');
  mkdirSync(join(page, 'assets'), { recursive: true });
  writeFileSync(join(page, 'index.html'), '<!doctype html><title>Lockstep</title>');
  writeFileSync(join(page, 'assets', 'index-Abcd1234.js'), 'export {};');
  for (const path of ['.env', 'notes.txt', '../outside.js']) writeFileSync(join(page, path), 'secret');
  symlinkSync(join(folder, 'outside.js'), join(page, 'link.js'));
  host = unwrap(await serve({ engine, rendererFolder: page, port: 0, token: TOKEN, maxIncompleteBytes: 1e6 }));
});

afterAll(() => host.close());

test('the token is in the address, from which the page takes it', async () => {
  expect(host.address).toBe(`http://127.0.0.1:${host.port}/?token=${TOKEN}`);
  const first = await ask(`/?token=${TOKEN}`);
  expect(first).toMatchObject({ status: 200, body: expect.stringContaining('<title>Lockstep') });
  expect(first.headers['set-cookie']).toBeUndefined(); // A cookie would also be sent to servers on all other ports.
  expect(await serve({ engine, rendererFolder: folder, port: 0, token: 'short' })).toFail('bad-input');
});

describe('requests', () => {
  test.each(['/?token=wrong', '/?token=', '/index.html?token=wrong'])(
    'the wrong token of %s is refused',
    async (path) => expect(await ask(path)).toMatchObject({ status: 403 }),
  );

  const strange = 'evil.example evil.example:80 127.0.0.1.evil.example localhost.evil.example:1 10.0.0.1 x@localhost';
  test.each(strange.split(' '))('the Host %j is refused, with the token and without', async (name) => {
    expect(await ask('/', { host: name })).toMatchObject({ status: 403 });
    expect(await ask(`/?token=${TOKEN}`, { host: name })).toMatchObject({ status: 403 });
  });

  test.each(['localhost', 'localhost:9', '127.0.0.1:4321', '[::1]:80', 'LOCALHOST:1'])(
    'a tunnel’s Host %s is accepted',
    async (name) => expect(await ask('/', { host: name })).toMatchObject({ status: 200 }),
  );

  const astray = `/../outside.js /%2e%2e/outside.js /..%2foutside.js /assets/..%2f..%2foutside.js /..%5coutside.js
    //outside.js /link.js /.env /notes.txt /assets /%00index.html /%E0%A4%A /C:/outside.js /index.html/`;
  test.each(astray.split(/\s+/))('%s leads nowhere', async (path) => {
    const answer = await ask(path);
    expect(answer.status).toBe(404);
    expect(answer.body).not.toContain('secret');
  });

  test('other methods than GET and HEAD are refused, and an absolute target', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS'])
      expect(await ask('/', {}, method), method).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
    expect(await ask('http://evil.example/')).toMatchObject({ status: 400 });
    const head = await ask('/', {}, 'HEAD');
    expect(head).toMatchObject({ status: 200, body: '' });
    expect(Number(head.headers['content-length'])).toBeGreaterThan(0);
  });

  test('every answer has strict headers, and only hashed files may be cached', async () => {
    const script = await ask('/assets/index-Abcd1234.js');
    expect(script.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect((await ask('/')).headers['cache-control']).toBe('no-cache');
    for (const { headers } of [script, await ask('/nothing'), await ask('/')])
      expect(headers).toMatchObject({
        'content-security-policy': /^default-src 'none'; script-src 'self'; style-src 'self';/,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      });
  });
});

describe('the WebSocket', () => {
  const address = () => `ws://127.0.0.1:${host.port}/engine`;
  const origin = () => `http://127.0.0.1:${host.port}`;
  const own = ['lockstep', TOKEN];
  const open = (headers: Record<string, string>, protocols = own, url = address()) =>
    new Promise<WebSocket>((resolve, reject) => {
      const socket = new WebSocket(url, protocols, { headers });
      socket.on('open', () => resolve(socket));
      socket.on('error', reject);
    });
  const connected = () => open({ origin: origin() });

  test.each<[string, () => Record<string, string>, string[]?]>([
    ['no token', () => ({ origin: origin() }), ['lockstep']],
    ['a wrong token', () => ({ origin: origin() }), ['lockstep', `${TOKEN}x`]],
    ['the token in a cookie', () => ({ origin: origin(), cookie: `token=${TOKEN}` }), ['lockstep']],
    ['no origin', () => ({})],
    ['another origin', () => ({ origin: 'http://evil.example' })],
    ['another local server’s origin', () => ({ origin: 'http://127.0.0.1:1' })],
    ['the opaque origin', () => ({ origin: 'null' })],
    ['a rebound name', () => ({ origin: 'http://evil.example:80', host: 'evil.example:80' })],
  ])('is refused with %s', (_, headers, protocols) => expect(open(headers(), protocols)).rejects.toThrow(/403/));

  test('a refused connection ends, even if the other side does not', async () => {
    const half = connect({ port: host.port, host: '127.0.0.1', allowHalfOpen: true });
    half.write(
      'GET /engine HTTP/1.1\r\nHost: evil.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
    );
    await new Promise((resolve) => half.resume().on('end', resolve));
    // If the other side has destroyed a socket, a write to it is answered by a reset.
    const reset = new Promise((resolve) => half.on('error', (error: NodeJS.ErrnoException) => resolve(error.code)));
    const writing = setInterval(() => half.write('still here'), 10);
    expect(await reset).toMatch(/EPIPE|ECONNRESET/);
    clearInterval(writing);
  });

  test('incomplete messages of all pages have a limit', async () => {
    const sockets = await Promise.all([connected(), connected(), connected()]);
    const ended = Promise.race(sockets.map((socket) => new Promise((resolve) => socket.on('close', resolve))));
    // The frame is not the last frame of its message.
    const part = new Uint8Array(400_000);
    for (const socket of sockets) socket.send(part, { fin: false });
    expect(await ended).toBe(1006);
    for (const socket of sockets) socket.terminate();
    await vi.waitFor(() => expect(pages).toBe(0));
  });

  test('is served at one path only', () =>
    expect(open({ origin: origin() }, own, `ws://127.0.0.1:${host.port}/`)).rejects.toThrow(/404/));

  test('carries calls, typed arrays and events', async () => {
    const socket = await connected();
    const client = createClient(webSocketChannel(socket as unknown as WebSocketLike));
    const heard = vi.fn();
    client.on('store.changed', heard);
    const value = { name: 'runs.get', input: { id: 3 }, column: Float64Array.of(NaN, 2) };
    expect(await client.call('runs.get', { id: 3 })).toStrictEqual({ ok: true, value });
    tell('store.changed', { what: 'runs' });
    await vi.waitFor(() => expect(heard).toHaveBeenCalledExactlyOnceWith({ what: 'runs' }));
    client.close();
    await vi.waitFor(() => expect(pages).toBe(0));
  });

  test.each<[string, string | Uint8Array]>([
    ['text', '{"id":1,"name":"app.info","input":{}}'],
    ['rubbish', Uint8Array.of(255, 255, 255, 255, 0)],
  ])('closes a page that sends %s, and serves the others', async (_, data) => {
    const socket = await connected();
    const code = new Promise((resolve) => socket.on('close', resolve));
    socket.send(data);
    expect(await code).toBe(1007);
    expect(await ask('/')).toMatchObject({ status: 200 });
  });

  test('a broken upgrade does not stop the server', async () => {
    await new Promise((resolve) => {
      const raw = connect(host.port, '127.0.0.1', () => {
        raw.write(`GET /engine HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
        raw.resetAndDestroy();
      });
      raw.on('close', resolve);
    });
    expect(await ask('/')).toMatchObject({ status: 200 });
  });
});

describe('the token of a database', () => {
  test('is the same at every start, different for another database, and readable only by its owner', async () => {
    const [a, b] = [join(folder, 'a.db'), join(folder, 'b.db')];
    const token = await keptToken(a);
    expect(token).toMatch(TOKEN_PATTERN);
    expect(await keptToken(a)).toBe(token);
    expect(await keptToken(b)).not.toBe(token);
    if (process.platform !== 'win32') expect(statSync(`${a}.token`).mode & 0o777).toBe(0o600);
    // If the token cannot be saved, it is new at every start.
    const nowhere = join(folder, 'missing', 'd.db');
    expect(await keptToken(nowhere)).toMatch(TOKEN_PATTERN);
    expect(await keptToken(nowhere)).not.toBe(await keptToken(nowhere));
  });

  test.skipIf(process.platform === 'win32')('is replaced if others can read it or if it is invalid', async () => {
    const file = join(folder, 'c.db');
    const token = await keptToken(file);
    chmodSync(`${file}.token`, 0o644);
    expect(await keptToken(file)).not.toBe(token);
    expect(statSync(`${file}.token`).mode & 0o777).toBe(0o600);
    writeFileSync(`${file}.token`, 'short');
    expect(await keptToken(file)).toMatch(TOKEN_PATTERN);
    expect(readFileSync(`${file}.token`, 'utf8')).not.toBe('short');
  });
});

test('a taken port is left alone and a free one used', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const taken = (other.address() as { port: number }).port;
  const second = unwrap(await serve({ engine, rendererFolder: folder, port: taken }));
  expect(second.port).not.toBe(taken);
  expect(second.address).toMatch(/\?token=[\w-]{32}$/);
  await second.close();
  other.close();
});

test('closing drops the pages that are connected', async () => {
  const other = unwrap(await serve({ engine, rendererFolder: join(folder, 'renderer'), port: 0, token: TOKEN }));
  const socket = new WebSocket(`ws://127.0.0.1:${other.port}/engine`, ['lockstep', TOKEN], {
    headers: { origin: `http://127.0.0.1:${other.port}` },
  });
  await new Promise((resolve) => socket.on('open', resolve));
  const lost = vi.fn();
  createClient(webSocketChannel(socket as unknown as WebSocketLike)).on('engine.lost', lost);
  await other.close();
  await vi.waitFor(() => expect(lost).toHaveBeenCalledExactlyOnceWith({ message: 'the server stopped' }));
});
