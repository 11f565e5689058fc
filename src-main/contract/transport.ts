import { isObject } from '../../src-workers/domain/json.ts';
import { errorText, fail, type Failure, type Result, badInput, conflict } from '../../src-workers/domain/result.ts';
import type { DesktopBridge } from './bridge.ts';
import type { EventName, Events, ProcedureInput, ProcedureName, ProcedureOutput } from './procedures.ts';

/** Carries calls and events between a page and the engine: unchanged by a MessagePort, encoded by a WebSocket. */

export interface Request {
  readonly id: number;
  readonly name: string;
  readonly input: unknown;
}
export type Reply =
  | { readonly id: number; readonly ok: true; readonly value: unknown }
  | { readonly id: number; readonly ok: false; readonly error: Failure };
export interface EventMessage {
  readonly event: EventName;
  readonly payload: unknown;
}
export type ServerMessage = Reply | EventMessage;

/** Maximum bytes of a frame. Requests must hold uploads of workloads, and replies must hold exports. */
export const MAX_REQUEST_BYTES = 256 * 2 ** 20;
export const MAX_REPLY_BYTES = 1024 * 2 ** 20;

const MAX_DEPTH = 64;
const MAX_CALLS_IN_FLIGHT = 256;

// A frame consists of the length of the header (u32), the header (JSON, UTF-8), and one 8-byte-aligned segment per
// typed array, in the order of the header. All numbers are little-endian. `{"$": […]}` in the header encodes values that
// JSON cannot express; an object with its own key "$" is wrapped.

const ARRAY_KINDS = {
  f64: Float64Array,
  f32: Float32Array,
  i32: Int32Array,
  u32: Uint32Array,
  u16: Uint16Array,
  u8: Uint8Array,
} as const;
type ArrayKind = keyof typeof ARRAY_KINDS;
type AnyTypedArray = InstanceType<(typeof ARRAY_KINDS)[ArrayKind]>;

const align = (bytes: number) => Math.ceil(bytes / 8) * 8;

function kindOf(value: ArrayBufferView): ArrayKind | undefined {
  // The tag is checked, not instanceof: a Buffer is also a Uint8Array, and an array may come from another realm.
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  return (Object.keys(ARRAY_KINDS) as ArrayKind[]).find((kind) => ARRAY_KINDS[kind].name === tag);
}

/**
 * Encodes plain objects, arrays, strings, booleans, null, every double (also NaN, infinities and −0) and typed arrays.
 * Fields that are `undefined` are left out, and `undefined` array elements become null. Throws a TypeError on any other
 * value, because sending it is a bug.
 */
export function encodeMessage(message: unknown): Uint8Array<ArrayBuffer> {
  const segments: Uint8Array[] = [];
  const plain = (value: unknown, depth: number): unknown => {
    if (depth > MAX_DEPTH) throw new TypeError(`a message is nested deeper than ${MAX_DEPTH} levels`);
    if (value === null || value === undefined) return null;
    switch (typeof value) {
      case 'string':
      case 'boolean':
        return value;
      case 'number':
        if (Number.isFinite(value) && !Object.is(value, -0)) return value;
        return { $: ['n', Object.is(value, -0) ? '-0' : String(value)] };
      case 'object':
        break;
      default:
        throw new TypeError(`a message may hold plain data and typed arrays, not a ${typeof value}`);
    }
    if (Array.isArray(value)) return value.map((element) => plain(element, depth + 1));
    if (ArrayBuffer.isView(value)) {
      const kind = kindOf(value);
      if (!kind)
        throw new TypeError(
          `a message may hold arrays of ${Object.keys(ARRAY_KINDS).join(', ')}, not a ${value.constructor.name}`,
        );
      segments.push(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
      return { $: [kind, (value as AnyTypedArray).length] };
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null)
      throw new TypeError(`a message may hold plain data and typed arrays, not a ${value.constructor.name}`);
    const copy: Record<string, unknown> = {};
    for (const [key, field] of Object.entries(value)) {
      if (key === '__proto__') throw new TypeError('a message holds a key "__proto__"');
      if (field !== undefined) copy[key] = plain(field, depth + 1);
    }
    return '$' in copy ? { $: ['o', copy] } : copy;
  };

  const header = new TextEncoder().encode(JSON.stringify(plain(message, 0)));
  let size = align(4 + header.length);
  for (const segment of segments) size += align(segment.length);
  const frame = new Uint8Array(size);
  new DataView(frame.buffer).setUint32(0, header.length, true);
  frame.set(header, 4);
  let cursor = align(4 + header.length);
  for (const segment of segments) {
    frame.set(segment, cursor);
    cursor += align(segment.length);
  }
  return frame;
}

/** Decodes a frame from any sender. A malformed frame gives a failure, never an exception. */
export function decodeMessage(frame: Uint8Array): Result<unknown> {
  const malformed = (detail: string) => badInput(`malformed message: ${detail}`);
  if (frame.length < 4) return malformed(`it has ${frame.length} bytes, but a message has at least 4`);
  const headerLength = new DataView(frame.buffer, frame.byteOffset, frame.byteLength).getUint32(0, true);
  if (headerLength > frame.length - 4)
    return malformed(`a header of ${headerLength} bytes in a frame of ${frame.length}`);
  let cursor = align(4 + headerLength);

  // Each segment is read once and in order, so the decoder never allocates more than the size of the frame.
  const segment = (kind: ArrayKind, length: unknown): AnyTypedArray => {
    if (typeof length !== 'number' || !Number.isSafeInteger(length) || length < 0)
      throw new RangeError('bad array length');
    const bytes = length * ARRAY_KINDS[kind].BYTES_PER_ELEMENT;
    if (cursor + bytes > frame.length) throw new RangeError('an array reaches past the end of the frame');
    const buffer = new Uint8Array(bytes);
    buffer.set(frame.subarray(cursor, cursor + bytes));
    cursor += align(bytes);
    return new ARRAY_KINDS[kind](buffer.buffer);
  };
  const revive = (value: unknown, depth: number): unknown => {
    if (depth > 2 * MAX_DEPTH) throw new RangeError('nested too deeply');
    if (value === null || typeof value !== 'object') return value;
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) value[i] = revive(value[i], depth + 1);
      return value;
    }
    const fields = value as Record<string, unknown>;
    if (Object.hasOwn(fields, '$')) return special(fields['$'], depth);
    return reviveFields(fields, depth);
  };
  const reviveFields = (fields: Record<string, unknown>, depth: number) => {
    for (const key of Object.keys(fields)) {
      if (key === '__proto__') throw new RangeError('a key "__proto__"');
      fields[key] = revive(fields[key], depth + 1);
    }
    return fields;
  };
  const special = (tagged: unknown, depth: number): unknown => {
    if (!Array.isArray(tagged) || tagged.length !== 2) throw new RangeError('a bad tag');
    const [tag, content] = tagged as [unknown, unknown];
    if (tag === 'n' && (content === 'NaN' || content === 'Infinity' || content === '-Infinity' || content === '-0'))
      return Number(content);
    if (tag === 'o' && isObject(content)) return reviveFields(content, depth);
    if (typeof tag === 'string' && Object.hasOwn(ARRAY_KINDS, tag)) return segment(tag as ArrayKind, content);
    throw new RangeError('an unknown tag');
  };

  try {
    const header = new TextDecoder('utf-8', { fatal: true }).decode(frame.subarray(4, 4 + headerLength));
    return { ok: true, value: revive(JSON.parse(header), 0) };
  } catch (error) {
    return malformed(errorText(error));
  }
}

export interface EngineDoor {
  /** @param gone fires when the calling page is gone; work that only this page needs may then end */
  dispatch(name: string, input: unknown, gone: AbortSignal): Promise<Result<unknown>>;
  subscribe(listener: (event: EventName, payload: unknown) => void): () => void;
}

export interface Connection {
  /** Accepts any message and never throws. A message that is not a request is dropped without an answer. */
  receive(message: unknown): void;
  close(): void;
}

/** Serves one page. `send` may throw on a message that it cannot carry. */
export function serveConnection(engine: EngineDoor, send: (message: ServerMessage) => void): Connection {
  const gone = new AbortController();
  let inFlight = 0;
  const post = (message: ServerMessage): Failure | null => {
    if (gone.signal.aborted) return null;
    try {
      send(message);
      return null;
    } catch (error) {
      return { code: 'internal', message: `The answer could not be sent: ${errorText(error)}` };
    }
  };
  const reply = (id: number, result: Result<unknown>) => {
    const failure = post({ id, ...result });
    if (failure) post({ id, ok: false, error: failure });
  };
  const unsubscribe = engine.subscribe((event, payload) => void post({ event, payload }));
  return {
    receive(message) {
      if (gone.signal.aborted || !isRequest(message)) return;
      const { id, name, input } = message;
      if (inFlight >= MAX_CALLS_IN_FLIGHT) {
        reply(
          id,
          conflict(`${inFlight} calls are waiting, which is the limit of a connection. Wait for some replies first.`),
        );
        return;
      }
      inFlight += 1;
      // `call` returns expected failures as values. An exception is a bug, and becomes a failure here.
      void Promise.resolve()
        .then(() => engine.dispatch(name, input, gone.signal))
        .catch((error: unknown) => fail('internal', `${name}: ${errorText(error)}`))
        .then((result) => {
          inFlight -= 1;
          reply(id, result);
        });
    },
    close() {
      gone.abort();
      unsubscribe();
    },
  };
}

function isRequest(message: unknown): message is Request {
  if (message === null || typeof message !== 'object') return false;
  const { id, name } = message as Partial<Request>;
  return Number.isSafeInteger(id) && typeof name === 'string' && name.length <= 100;
}

/** `createClient` calls `onMessage` and `onClose` once. */
export interface Channel {
  send(message: Request): void;
  onMessage(listener: (message: unknown) => void): void;
  onClose(listener: (reason: string) => void): void;
  close(): void;
}

export interface Client {
  /** The promise never rejects: a lost engine and a message that cannot be sent are failures too. */
  call<Name extends ProcedureName>(name: Name, input: ProcedureInput<Name>): Promise<Result<ProcedureOutput<Name>>>;
  /** Listens until the returned function is called. `engine.lost` also fires when the channel closes. */
  on<Name extends EventName>(event: Name, listener: (payload: Events[Name]) => void): () => void;
  close(): void;
}

export function createClient(channel: Channel): Client {
  const pending = new Map<number, (result: Result<unknown>) => void>();
  const listeners = new Map<string, Set<(payload: never) => void>>();
  let lastId = 0;
  let closed: string | null = null;

  const lost = (reason: string) => fail('cancelled', `The engine cannot be reached: ${reason}`);
  const emit = (event: string, payload: unknown) => {
    for (const listener of [...(listeners.get(event) ?? [])]) listener(payload as never);
  };
  const shut = (reason: string) => {
    if (closed !== null) return false;
    closed = reason;
    const waiting = [...pending.values()];
    pending.clear();
    for (const settle of waiting) settle(lost(reason));
    return true;
  };

  channel.onMessage((message) => {
    if (closed !== null || message === null || typeof message !== 'object') return;
    if ('event' in message && typeof message.event === 'string') {
      emit(message.event, (message as EventMessage).payload);
    } else if ('id' in message && typeof message.id === 'number') {
      const reply = message as Reply;
      const settle = pending.get(reply.id);
      if (!settle) return;
      pending.delete(reply.id);
      settle(reply.ok ? { ok: true, value: reply.value } : { ok: false, error: reply.error });
    }
  });
  channel.onClose((reason) => {
    if (shut(reason)) emit('engine.lost', { message: reason });
  });

  return {
    call<Name extends ProcedureName>(name: Name, input: ProcedureInput<Name>) {
      return new Promise<Result<ProcedureOutput<Name>>>((resolve) => {
        if (closed !== null) {
          resolve(lost(closed));
          return;
        }
        const id = ++lastId;
        pending.set(id, resolve);
        try {
          channel.send({ id, name, input });
        } catch (error) {
          pending.delete(id);
          resolve(badInput(`${name}: The argument cannot be sent: ${errorText(error)}`));
        }
      });
    },
    on(event, listener) {
      const set = listeners.get(event) ?? new Set();
      listeners.set(event, set);
      set.add(listener);
      return () => void set.delete(listener);
    },
    close() {
      shut('closed');
      channel.close();
    },
  };
}

/** The parts of a MessagePort and a WebSocket that a channel uses. Declaring them avoids DOM types. */
export interface PortLike {
  postMessage(message: unknown): void;
  addEventListener(type: 'message' | 'close', listener: (event: { readonly data?: unknown }) => void): void;
  start?(): void;
  close(): void;
}
export interface WebSocketLike {
  binaryType: string;
  send(data: Uint8Array<ArrayBuffer>): void;
  addEventListener(
    type: 'open' | 'message' | 'close',
    listener: (event: { readonly data?: unknown; readonly reason?: string }) => void,
  ): void;
  close(): void;
}

export function portChannel(port: PortLike): Channel {
  return {
    send: (message) => port.postMessage(message),
    onMessage(listener) {
      port.addEventListener('message', (event) => listener(event.data));
      port.start?.();
    },
    onClose: (listener) => port.addEventListener('close', () => listener('the engine process ended')),
    close: () => port.close(),
  };
}

export function webSocketChannel(socket: WebSocketLike): Channel {
  socket.binaryType = 'arraybuffer';
  return {
    send(message) {
      const frame = encodeMessage(message);
      if (frame.length > MAX_REQUEST_BYTES)
        throw new RangeError(`it has ${frame.length} bytes, which is more than the limit of ${MAX_REQUEST_BYTES}`);
      socket.send(frame);
    },
    onMessage(listener) {
      socket.addEventListener('message', (event) => {
        if (!(event.data instanceof ArrayBuffer)) return;
        const message = decodeMessage(new Uint8Array(event.data));
        if (message.ok) listener(message.value);
      });
    },
    onClose: (listener) =>
      socket.addEventListener('close', (event) => listener(event.reason || 'the connection was lost')),
    close: () => socket.close(),
  };
}

export interface PageLike {
  readonly lockstep?: DesktopBridge;
  readonly location: {
    readonly host: string;
    readonly protocol: string;
    readonly origin: string;
    readonly search: string;
    readonly hash: string;
  };
  readonly history: { replaceState(state: null, unused: '', url: string): void };
  readonly localStorage: { getItem(key: string): string | null; setItem(key: string, value: string): void };
  readonly fetch: (path: string, init: { readonly method: 'HEAD' }) => Promise<{ readonly status: number }>;
  readonly WebSocket: new (url: string, protocols: string[]) => WebSocketLike;
  addEventListener(type: 'message', listener: (event: PageMessage) => void): void;
  removeEventListener(type: 'message', listener: (event: PageMessage) => void): void;
}
export interface PageMessage {
  readonly data: unknown;
  readonly origin: string;
  readonly source: unknown;
  readonly ports: readonly PortLike[];
}

export const ENGINE_PATH = '/engine';
/** A page cannot set headers of a WebSocket, so it sends its token as a second subprotocol. */
export const ENGINE_PROTOCOL = 'lockstep';

/** Moves the token from the address bar into the storage of this origin, where reloads and other tabs find it. */
function pageToken({ location, history, localStorage }: PageLike): string | null {
  const offered = new URLSearchParams(location.search).get('token');
  if (!offered) return localStorage.getItem('token');
  localStorage.setItem('token', offered);
  history.replaceState(null, '', `/${location.hash}`);
  return offered;
}

const CONNECT_MS = 15_000;

/** Uses a MessagePort in the desktop app, a WebSocket in a browser. After `engine.lost`, a new call connects again. */
export function connectEngine(page: PageLike): Promise<Result<Client>> {
  const { promise, resolve } = Promise.withResolvers<Result<Client>>();
  const late = fail('cancelled', `the engine did not answer within ${CONNECT_MS / 1000} seconds`);
  const timer = setTimeout(() => resolve(late), CONNECT_MS);
  const bridge = page.lockstep;
  let tidy = () => {};
  if (bridge) {
    const take = (event: PageMessage) => {
      const message = event.data as { readonly lockstep?: unknown } | null;
      if (event.source !== page || message?.lockstep !== 'port' || !event.ports[0]) return;
      const channel = portChannel(event.ports[0]);
      // Not every window gets a close event when the engine's process dies, so the host also sends a message.
      const onClose: Channel['onClose'] = (listener) => {
        channel.onClose(listener);
        const off = bridge.onEngineLost((reason) => {
          off();
          listener(reason);
        });
      };
      resolve({ ok: true, value: createClient({ ...channel, onClose }) });
    };
    page.addEventListener('message', take);
    tidy = () => page.removeEventListener('message', take);
    bridge.connect();
  } else {
    const token = pageToken(page);
    const socket = new page.WebSocket(
      `${page.location.protocol === 'https:' ? 'wss' : 'ws'}://${page.location.host}${ENGINE_PATH}`,
      token === null ? [ENGINE_PROTOCOL] : [ENGINE_PROTOCOL, token],
    );
    const client = createClient(webSocketChannel(socket));
    socket.addEventListener('open', () => resolve({ ok: true, value: client }));
    // A browser does not tell the page why a connection was refused, so the page asks the server for the reason.
    socket.addEventListener('close', ({ reason }) => {
      void page.fetch(`/?token=${encodeURIComponent(token ?? '')}`, { method: 'HEAD' }).then(
        ({ status }) =>
          resolve(
            status === 403
              ? conflict('The server does not accept this page. Open the address that "lockstep serve" printed')
              : fail('cancelled', `The engine refused the connection${reason && `: ${reason}`}`),
          ),
        () => resolve(fail('cancelled', 'The server is not running')),
      );
    });
  }
  return promise.finally(() => {
    clearTimeout(timer);
    tidy();
  });
}
