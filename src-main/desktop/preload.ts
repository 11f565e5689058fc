import { contextBridge, ipcRenderer, type IpcRendererEvent } from 'electron';
import type { DesktopBridge, MenuCommand, OpenedFile } from '../contract/bridge.ts';
import { CHANNELS } from './channels.ts';

// Runs in a sandbox beside the page and exposes only narrow functions, never `ipcRenderer` or an event object.

declare const window: { postMessage(message: unknown, targetOrigin: string, transfer: readonly unknown[]): void };
declare const location: { readonly origin: string };

function listen<T>(channel: string, listener: (value: T) => void): () => void {
  const heard = (_event: IpcRendererEvent, value: T) => listener(value);
  ipcRenderer.on(channel, heard);
  return () => void ipcRenderer.off(channel, heard);
}

// A port cannot cross the context bridge, but a message from the window to itself can carry it.
ipcRenderer.on(CHANNELS.port, (event) => window.postMessage({ lockstep: 'port' }, location.origin, event.ports));

const bridge: DesktopBridge = {
  platform: process.platform as DesktopBridge['platform'],
  connect: () => ipcRenderer.send(CHANNELS.connect),
  openStudy: () => ipcRenderer.invoke(CHANNELS.openStudy) as Promise<OpenedFile | null>,
  saveDocument: (document) => ipcRenderer.invoke(CHANNELS.saveDocument, document) as Promise<string | null>,
  showDatabase: (file) => ipcRenderer.send(CHANNELS.showDatabase, file),
  setTheme: (choice, colours) => ipcRenderer.send(CHANNELS.setTheme, choice, colours),
  onMenu: (listener) => listen<MenuCommand>(CHANNELS.menu, listener),
  onOpenFile(listener) {
    const off = listen<OpenedFile>(CHANNELS.openFile, listener);
    ipcRenderer.send(CHANNELS.filesWanted); // files that arrived before the page was ready wait for this message
    return off;
  },
  onEngineLost: (listener) => listen<string>(CHANNELS.engineLost, listener),
};
contextBridge.exposeInMainWorld('lockstep', bridge);
