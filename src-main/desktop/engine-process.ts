import type { MessagePortMain } from 'electron';
import { serveConnection, type Connection } from '../contract/transport.ts';
import { defaultDatabaseFile } from '../services/files/data-folder.ts';
import { openEngine, type Engine } from '../services/engine.ts';
import type { FromEngine, OpenOptions, ToEngine } from './engine-messages.ts';

// The engine runs in a utility process of Electron, where each page has a port. With LOCKSTEP_ENGINE_NODE, it runs in a
// plain Node process, which cannot import values of Electron. The host then forwards the messages of the pages.

const parent = process.parentPort as typeof process.parentPort | undefined;

function post(message: FromEngine): void {
  if (parent) parent.postMessage(message);
  else process.send?.(message);
}

const connections = new Map<number, Connection>();
let engine: Engine | null = null;

async function open(options: OpenOptions): Promise<void> {
  const databaseFile = options.databaseFile ?? defaultDatabaseFile();
  const opened = await openEngine({ ...options, databaseFile, host: 'desktop' });
  if (opened.ok) engine = opened.value;
  post(opened.ok ? { kind: 'ready' } : { kind: 'failed', message: opened.error.message });
}

function addPage(page: number, port: MessagePortMain | undefined): void {
  if (!engine) return; // the host sends pages only after 'ready'
  if (port) {
    const connection = serveConnection(engine, (message) => port.postMessage(message));
    port.on('message', (event) => connection.receive(event.data));
    port.on('close', () => connection.close());
    port.start();
  } else {
    const send = (message: unknown) => post({ kind: 'message', page, message });
    connections.set(page, serveConnection(engine, send));
  }
}

async function stop(): Promise<void> {
  await engine?.close();
  process.exit(0);
}

function receive(message: ToEngine, port?: MessagePortMain): void {
  switch (message.kind) {
    case 'open':
      open(message.options).catch((error: unknown) => post({ kind: 'failed', message: String(error) }));
      return;
    case 'page':
      addPage(message.page, port);
      return;
    case 'message':
      connections.get(message.page)?.receive(message.message);
      return;
    case 'page-closed':
      connections.get(message.page)?.close();
      connections.delete(message.page);
      return;
    case 'stop':
      void stop();
  }
}

if (parent) {
  parent.on('message', (event) => receive(event.data as ToEngine, event.ports[0]));
} else {
  process.on('message', (message) => receive(message as ToEngine));
  process.on('disconnect', () => void stop());
  process.on('SIGTERM', () => void stop());
  process.on('SIGINT', () => {}); // Ctrl-C reaches the whole process group, but the host decides when the engine ends
}
post({ kind: 'listening' });
