import { MessageChannelMain, utilityProcess, type MessagePortMain } from 'electron';
import { fork } from 'node:child_process';
import { ENGINE_ARGUMENTS, engineEnvironment } from '../hosts/runtimes.mjs';
import type { FromEngine, OpenOptions, ToEngine } from './engine-messages.ts';

export interface EngineHostOptions {
  readonly engineProcessFile: string;
  readonly open: OpenOptions;
  /** The Node executable that runs the engine; by default a utility process of Electron. */
  readonly node: string | undefined;
  readonly compileCacheFolder: string;
  readonly onLost: (message: string, restarting: boolean) => void;
  readonly onFailed: (message: string) => void;
}

export interface EngineHost {
  /** The port can be used at once, because it keeps messages until the engine is ready. */
  connect(): MessagePortMain;
  restart(): void;
  stop(): Promise<void>;
}

interface EngineProcess {
  send(message: ToEngine): void;
  addPage(page: number, port: MessagePortMain): void;
  kill(): void;
}

const MAX_RESTARTS = 3;
const RESTART_WINDOW_MS = 60_000;
const STOP_TIMEOUT_MS = 5_000;

export function createEngineHost(options: EngineHostOptions): EngineHost {
  let running: EngineProcess | null = null;
  let ready = false;
  let stopping: (() => void) | null = null;
  let pages = 0;
  let waiting: MessagePortMain[] = [];
  let starts: number[] = [];

  const start = () => {
    starts.push(Date.now());
    ready = false;
    const launch = options.node === undefined ? startUtility : startNode;
    const mine: EngineProcess = launch(options, onMessage, (code) => {
      if (running === mine) onExit(code);
    });
    running = mine;
  };
  const onMessage = (message: FromEngine) => {
    if (message.kind === 'listening') running?.send({ kind: 'open', options: options.open });
    if (message.kind === 'failed') options.onFailed(message.message);
    if (message.kind !== 'ready') return;
    ready = true;
    for (const port of waiting) running?.addPage(++pages, port);
    waiting = [];
  };
  const onExit = (code: number | null) => {
    running = null;
    ready = false;
    if (stopping) {
      stopping();
      return;
    }
    starts = starts.filter((time) => Date.now() - time < RESTART_WINDOW_MS);
    const restarting = starts.length <= MAX_RESTARTS;
    options.onLost(`the engine process ended (${code === null ? 'killed' : `exit code ${code}`})`, restarting);
    if (restarting) start();
  };

  start();
  return {
    connect() {
      const { port1, port2 } = new MessageChannelMain();
      if (ready && running) running.addPage(++pages, port2);
      else waiting.push(port2);
      return port1;
    },
    restart() {
      starts = [];
      if (!running) start();
    },
    stop() {
      const mine = running;
      if (!mine) return Promise.resolve();
      return new Promise((resolve) => {
        const timer = setTimeout(() => mine.kill(), STOP_TIMEOUT_MS);
        stopping = () => {
          clearTimeout(timer);
          resolve();
        };
        mine.send({ kind: 'stop' });
      });
    },
  };
}

const environment = ({ compileCacheFolder }: EngineHostOptions): NodeJS.ProcessEnv => ({
  NODE_COMPILE_CACHE: compileCacheFolder,
  ...process.env,
});

type Launch = (
  options: EngineHostOptions,
  onMessage: (message: FromEngine) => void,
  onExit: (code: number | null) => void,
) => EngineProcess;

const startUtility: Launch = (options, onMessage, onExit) => {
  const child = utilityProcess.fork(options.engineProcessFile, [], {
    serviceName: 'Lockstep engine',
    env: environment(options),
    stdio: 'inherit',
  });
  child.on('message', (message: FromEngine) => onMessage(message));
  child.on('exit', onExit);
  return {
    send: (message) => child.postMessage(message),
    addPage: (page, port) => child.postMessage({ kind: 'page', page } satisfies ToEngine, [port]),
    kill: () => void child.kill(),
  };
};

const startNode: Launch = (options, onMessage, onExit) => {
  const ports = new Map<number, MessagePortMain>();
  const child = fork(options.engineProcessFile, [], {
    execPath: options.node ?? process.execPath,
    execArgv: [...ENGINE_ARGUMENTS],
    env: engineEnvironment(environment(options)),
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  let ended = false;
  const end = (code: number | null) => {
    if (ended) return;
    ended = true;
    for (const port of ports.values()) port.close();
    onExit(code);
  };
  child.on('exit', end);
  child.on('error', () => end(child.exitCode)); // the process could not start, be killed or receive a message
  child.on('message', (received) => {
    const message = received as FromEngine;
    if (message.kind === 'message') ports.get(message.page)?.postMessage(message.message);
    else onMessage(message);
  });
  const send = (message: ToEngine) => {
    if (child.connected) child.send(message);
  };
  return {
    send,
    addPage(page, port) {
      ports.set(page, port);
      send({ kind: 'page', page });
      port.on('message', (event) => send({ kind: 'message', page, message: event.data }));
      port.on('close', () => {
        ports.delete(page);
        send({ kind: 'page-closed', page });
      });
      port.start();
    },
    kill: () => void child.kill('SIGKILL'),
  };
};
