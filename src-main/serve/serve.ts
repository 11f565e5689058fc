import { hash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import {
  decodeMessage,
  encodeMessage,
  ENGINE_PATH,
  ENGINE_PROTOCOL,
  MAX_REPLY_BYTES,
  MAX_REQUEST_BYTES,
  serveConnection,
  type EngineDoor,
  type ServerMessage,
} from '../contract/transport.ts';
import { PAGE_HEADERS, pageFile } from '../hosts/page.ts';
import { randomToken, TOKEN_PATTERN } from './kept-token.ts';
import { errorText, type Result, badInput, unsupported } from '../../src-workers/domain/result.ts';

export const DEFAULT_PORT = 7877;

const LOOPBACK = '127.0.0.1';
const PING_INTERVAL_MS = 30_000;
const MAX_PAGES = 64;
/** A page with more unsent data than this gets no progress, because progress is soon out of date. */
const SLOW_PAGE_BYTES = 4 * 2 ** 20;

export interface ServeOptions {
  readonly engine: EngineDoor;
  readonly rendererFolder: string;
  /** 0 means any free port. If the port is taken, a free one is used. */
  readonly port: number;
  /** 16 to 200 characters of [A-Za-z0-9_-], by default random. */
  readonly token?: string;
  /** Limit of the incomplete messages of all pages together. The default is two of the largest messages. */
  readonly maxIncompleteBytes?: number;
}

export interface BrowserHost {
  /** Contains the token. */
  readonly address: string;
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Serves the page and the engine to browsers on this machine. Other machines can use a tunnel: `ssh -L
 * ANY:127.0.0.1:PORT host` works with any local port, because loopback names are accepted with any port.
 *
 * Anyone may load the page itself, but a request to the engine must meet three conditions. It must name a loopback
 * host; otherwise a hostile page could reach the server by a DNS name that resolves to it. It must come from a page of
 * this server. It must carry the token; otherwise another user of this machine could use the engine. The page stores
 * the token itself, because browsers would send a cookie also to the servers on all other ports.
 */
export async function serve(options: ServeOptions): Promise<Result<BrowserHost>> {
  const { maxIncompleteBytes = 2 * MAX_REQUEST_BYTES } = options;
  const token = options.token ?? randomToken();
  if (!TOKEN_PATTERN.test(token))
    return badInput('the token must be 16 to 200 characters of A-Z, a-z, 0-9, "_" and "-"');
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_REQUEST_BYTES,
    perMessageDeflate: false,
    handleProtocols: () => ENGINE_PROTOCOL, // the other offered protocol is the token
  });
  const hasToken = (request: IncomingMessage) =>
    (request.headers['sec-websocket-protocol'] ?? '').split(',').some((offered) => sameToken(offered.trim(), token));

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
    if (offered !== null && !sameToken(offered, token)) return plain(response, 403, WRONG_TOKEN);
    if (url.pathname === '/favicon.ico') {
      // Some browsers ask for this icon, although the page names another one.
      response.writeHead(204, PAGE_HEADERS);
      response.end();
      return;
    }
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
      // The socket is destroyed, because the other side could otherwise keep its half of the connection open for ever.
      void socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () => socket.destroy());
    socket.on('error', () => socket.destroy());
    if (parseTarget(request.url)?.pathname !== ENGINE_PATH) return refuse('404 Not Found');
    if (!isLoopbackHost(request.headers.host) || !isSameOrigin(request)) return refuse('403 Forbidden');
    if (!hasToken(request)) return refuse('403 Forbidden');
    if (sockets.clients.size >= MAX_PAGES) return refuse('503 Service Unavailable');
    sockets.handleUpgrade(request, socket, head, (page) => attach(page, socket, options.engine));
  });

  const heard = new WeakSet<WebSocket>();
  const incomplete = new Map<WebSocket, number>();
  function attach(page: WebSocket, socket: Duplex, engine: EngineDoor): void {
    heard.add(page);
    incomplete.set(page, 0);
    socket.on('data', (data: Buffer) => {
      incomplete.set(page, incomplete.get(page)! + data.length);
      if ([...incomplete.values()].reduce((sum, bytes) => sum + bytes, 0) > maxIncompleteBytes) page.terminate();
    });
    const connection = serveConnection(engine, (message) => sendTo(page, message, sockets.clients));
    page.on('message', (data: Buffer, isBinary) => {
      incomplete.set(page, 0);
      const message = isBinary ? decodeMessage(data) : badInput('a text message');
      if (message.ok) connection.receive(message.value);
      else page.close(1007, 'malformed message'); // our own page never sends a malformed message
    });
    page.on('pong', () => heard.add(page));
    page.on('error', () => page.terminate());
    page.on('close', () => {
      incomplete.delete(page);
      connection.close();
    });
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
    return unsupported(`Lockstep cannot listen on ${LOOPBACK}: ${errorText(error)}`);
  }
  return { ok: true, value: { address: `http://${LOOPBACK}:${port}/?token=${token}`, port, close } };
}

const WRONG_TOKEN = 'Open the address that "lockstep serve" printed: it has the token that this page needs.';

function sendTo(page: WebSocket, message: ServerMessage, pages: ReadonlySet<WebSocket>): void {
  if ('event' in message && message.event === 'run.progress' && page.bufferedAmount > SLOW_PAGE_BYTES) return;
  const frame = encodeMessage(message);
  if (frame.length > MAX_REPLY_BYTES)
    throw new RangeError(`it has ${frame.length} bytes; one message may hold ${MAX_REPLY_BYTES}`);
  if ([...pages].reduce((sum, { bufferedAmount }) => sum + bufferedAmount, frame.length) > MAX_REPLY_BYTES) {
    page.terminate(); // pages request more than they read
    return;
  }
  page.send(frame);
}

async function listen(server: Server, wanted: number): Promise<number> {
  try {
    await once(server.listen(wanted, LOOPBACK), 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (wanted === 0 || (code !== 'EADDRINUSE' && code !== 'EACCES')) throw error;
    await once(server.listen(0, LOOPBACK), 'listening');
  }
  return (server.address() as AddressInfo).port;
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

/** Takes constant time, so that the time does not reveal how many characters are right. */
function sameToken(offered: string, token: string): boolean {
  const digest = (text: string) => hash('sha256', text, 'buffer');
  return timingSafeEqual(digest(offered), digest(token));
}
