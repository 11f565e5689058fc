import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import {
  decodeMessage,
  encodeMessage,
  ENGINE_PATH,
  MAX_REPLY_BYTES,
  MAX_REQUEST_BYTES,
  serveConnection,
  type EngineDoor,
  type ServerMessage,
} from '../contract/transport.ts';
import { PAGE_HEADERS, pageFile } from '../hosts/page.ts';
import { fail, type Result } from '../../src-workers/domain/result.ts';

export const DEFAULT_PORT = 7877;

const LOOPBACK = '127.0.0.1';
const PING_INTERVAL_MS = 30_000;
const MAX_PAGES = 64;
/** Above this much unsent data a page is slow: progress, soon out of date, is not sent to it. */
const SLOW_PAGE_BYTES = 4 * 2 ** 20;

export interface ServeOptions {
  readonly engine: EngineDoor;
  /** Folder of the built page (index.html). */
  readonly rendererFolder: string;
  /** 0 for any free port. Where the port is taken, a free one is used. */
  readonly port: number;
  /** At least 16 characters of [A-Za-z0-9_-]; random where left out. */
  readonly token?: string;
}

export interface BrowserHost {
  /** What to open in a browser: it carries the token. */
  readonly address: string;
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Serves the page and the engine to browsers on this machine, or to those that reach its loopback interface through a
 * tunnel: `ssh -L ANY:127.0.0.1:PORT host` works with any local port, because loopback names are accepted with any port.
 *
 * Who may talk to the engine: a request must name a loopback host (or a hostile page could reach the server by a DNS
 * name of its own that resolves to it), carry the token (or another user of this machine could), and, for the
 * WebSocket, come from a page of this very server (or any page open in the same browser could use the cookie).
 */
export async function serve(options: ServeOptions): Promise<Result<BrowserHost>> {
  const token = options.token ?? randomBytes(24).toString('base64url');
  if (!/^[\w-]{16,200}$/.test(token))
    return fail('bad-input', 'the token must be 16 to 200 characters of A-Z, a-z, 0-9, "_" and "-"');
  // Cookies of one host are shared by all its ports, so two servers must not use the same name.
  const cookieName = `lockstep-${createHash('sha256').update(token).digest('hex').slice(0, 12)}`;

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_REQUEST_BYTES, perMessageDeflate: false });

  const hasCookie = (request: IncomingMessage) =>
    (request.headers.cookie ?? '').split(';').some((pair) => {
      const [name, value] = pair.trim().split('=', 2);
      return name === cookieName && value !== undefined && sameToken(value, token);
    });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isLoopbackHost(request.headers.host))
      return plain(response, 403, 'This server answers to loopback names only: 127.0.0.1, localhost or [::1].');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      return plain(response, 405, 'Only GET and HEAD are answered here.');
    }
    const url = parseTarget(request.url);
    if (!url) return plain(response, 400, 'Malformed address.');
    const offered = url.searchParams.get('token');
    if (offered !== null && url.pathname === '/') {
      if (!sameToken(offered, token)) return plain(response, 403, WRONG_TOKEN);
      response.setHeader('Set-Cookie', `${cookieName}=${token}; Path=/; HttpOnly; SameSite=Strict`);
      // Refresh rather than redirect: a browser that came from another site (a link in a web terminal) would not send
      // a strict cookie along a redirect, and the token leaves the address bar all the same.
      response.setHeader('Refresh', '0; url=/');
      return plain(response, 200, 'Opening Lockstep…');
    }
    if (url.pathname === '/favicon.ico') {
      // Browsers ask for it whatever the page says; the page names its own icon.
      response.writeHead(204, PAGE_HEADERS);
      response.end();
      return;
    }
    if (!hasCookie(request)) return plain(response, 403, WRONG_TOKEN);
    const file = await pageFile(options.rendererFolder, url.pathname);
    if (!file) return plain(response, 404, 'There is no such page.');
    response.writeHead(200, {
      ...PAGE_HEADERS,
      'Content-Type': file.mediaType,
      'Content-Length': file.bytes,
      'Cache-Control': file.cacheControl,
    });
    if (request.method === 'HEAD') response.end();
    else
      createReadStream(file.file)
        .on('error', () => response.destroy())
        .pipe(response);
  }

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const refuse = (status: string) =>
      void socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    socket.on('error', () => socket.destroy());
    if (parseTarget(request.url)?.pathname !== ENGINE_PATH) return refuse('404 Not Found');
    if (!isLoopbackHost(request.headers.host) || !isSameOrigin(request)) return refuse('403 Forbidden');
    if (!hasCookie(request)) return refuse('403 Forbidden');
    if (sockets.clients.size >= MAX_PAGES) return refuse('503 Service Unavailable');
    sockets.handleUpgrade(request, socket, head, (page) => attach(page, options.engine));
  });

  const heard = new WeakSet<WebSocket>();
  function attach(page: WebSocket, engine: EngineDoor): void {
    heard.add(page);
    const connection = serveConnection(engine, (message) => sendTo(page, message));
    page.on('message', (data: Buffer, isBinary) => {
      const message = isBinary ? decodeMessage(data) : fail('bad-input', 'a text message');
      if (message.ok) connection.receive(message.value);
      else page.close(1007, 'malformed message'); // our own page never sends one
    });
    page.on('pong', () => heard.add(page));
    page.on('error', () => page.terminate());
    page.on('close', () => connection.close());
  }
  const pings = setInterval(() => {
    for (const page of sockets.clients) {
      if (!heard.delete(page)) page.terminate();
      else page.ping();
    }
  }, PING_INTERVAL_MS);
  pings.unref();

  const close = async () => {
    clearInterval(pings);
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const page of sockets.clients) {
      page.close(1001, 'the server stopped');
      setTimeout(() => page.terminate(), 500).unref();
    }
    sockets.close();
    server.closeAllConnections();
    await closed;
  };

  let port: number;
  try {
    port = await listen(server, options.port);
  } catch (error) {
    clearInterval(pings);
    return fail(
      'unsupported',
      `cannot listen on ${LOOPBACK}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  return { ok: true, value: { address: `http://${LOOPBACK}:${port}/?token=${token}`, port, close } };
}

const WRONG_TOKEN = 'Open the address that "lockstep serve" printed: it carries the token this page needs.';

function sendTo(page: WebSocket, message: ServerMessage): void {
  if ('event' in message && message.event === 'run.progress' && page.bufferedAmount > SLOW_PAGE_BYTES) return;
  const frame = encodeMessage(message);
  if (frame.length > MAX_REPLY_BYTES)
    throw new RangeError(`it has ${frame.length} bytes; one message may hold ${MAX_REPLY_BYTES}`);
  if (page.bufferedAmount + frame.length > MAX_REPLY_BYTES) {
    page.terminate(); // a page that asks and never reads
    return;
  }
  page.send(frame);
}

/** Listens on the port, or on any free one where it is taken or not allowed. */
function listen(server: ReturnType<typeof createServer>, wanted: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => {
      if (wanted !== 0 && (error.code === 'EADDRINUSE' || error.code === 'EACCES')) {
        wanted = 0;
        server.once('error', onError);
        server.listen(0, LOOPBACK);
      } else reject(error);
    };
    server.once('error', onError);
    server.once('listening', () => {
      server.off('error', onError);
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : wanted);
    });
    server.listen(wanted, LOOPBACK);
  });
}

function plain(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    ...PAGE_HEADERS,
    'Content-Type': 'text/plain; charset=utf-8',
    'Cache-Control': 'no-store',
  });
  response.end(`${text}\n`);
}

function parseTarget(target: string | undefined): URL | null {
  return target?.startsWith('/') ? URL.parse(`http://loopback${target}`) : null;
}

function isLoopbackHost(host: string | undefined): host is string {
  return host !== undefined && /^(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?$/i.test(host);
}

function isSameOrigin(request: IncomingMessage): boolean {
  return request.headers.origin?.toLowerCase() === `http://${request.headers.host?.toLowerCase()}`;
}

/** Compares in a time that does not depend on how much of the token was right. */
function sameToken(offered: string, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(offered), digest(token));
}
