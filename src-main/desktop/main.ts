import { extname, isAbsolute, join, resolve } from 'node:path';
import {
  app,
  BrowserWindow,
  dialog,
  ipcMain,
  shell,
  type IpcMainEvent,
  type IpcMainInvokeEvent,
  type WebFrameMain,
} from 'electron';
import * as v from 'valibot';
import type { MenuCommand, OpenedFile } from '../contract/bridge.ts';
import { programPlaces } from '../hosts/places.ts';
import { CHANNELS } from './channels.ts';
import { writeWhole } from '../services/files/files.ts';
import { readStudyFile, safeFileName, studyArguments } from './documents.ts';
import { createEngineHost, type EngineHost } from './engine-host.ts';
import { installMenu } from './menu.ts';
import { confine, isPageUrl, registerPageScheme, servePage } from './page-protocol.ts';
import { printedPage } from './print.ts';
import { applyTheme, openWindow } from './window.ts';

// The desktop host. It reads LOCKSTEP_DB and LOCKSTEP_ENGINE_NODE, and opens study files named on the command line.

const places = programPlaces();
const colour = v.pipe(v.string(), v.regex(/^#[0-9a-f]{6}$/i, 'must be a colour as #rrggbb'));
const themeSchema = v.tuple([
  v.picklist(['system', 'light', 'dark']),
  v.strictObject({ background: colour, symbol: colour }),
]);
const documentSchema = v.strictObject({
  fileName: v.pipe(v.string(), v.maxLength(400)),
  mediaType: v.pipe(v.string(), v.maxLength(100)),
  text: v.pipe(v.string(), v.maxLength(500_000_000)),
});

let engine: EngineHost | null = null;
let quitting: 'stopping engine' | 'engine stopped' | null = null;
let unopened: OpenedFile[] = [];
const wantingFiles = new Set<number>();

if (!('lockstepPageScheme' in globalThis)) registerPageScheme(); // page-scheme.cjs may have registered it
app.setName('Lockstep');
app.setAppUserModelId('org.lockstep.app');

app.on('web-contents-created', (_event, contents) => confine(contents));

if (app.requestSingleInstanceLock()) {
  app.on('second-instance', (_event, argv, folder) => {
    focusWindow();
    for (const file of studyArguments(argv)) void takeFile(resolve(folder, file));
  });
  app.on('open-file', (event, file) => {
    event.preventDefault();
    void takeFile(file);
  });
  app.on('window-all-closed', () => {
    if (process.platform !== 'darwin') app.quit();
  });
  app.on('activate', () => {
    if (BrowserWindow.getAllWindows().length === 0) newWindow();
  });
  app.on('before-quit', (event) => {
    if (!engine || quitting === 'engine stopped') return;
    event.preventDefault();
    if (quitting) return;
    quitting = 'stopping engine';
    void engine.stop().then(() => {
      quitting = 'engine stopped';
      app.quit();
    });
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => app.quit());
  for (const file of studyArguments(process.argv)) void takeFile(resolve(file));
  void app.whenReady().then(start);
} else {
  app.quit(); // the first instance receives the files and opens them
}

function start(): void {
  servePage(places.rendererFolder);
  listenToPages();
  newWindow(); // the window comes first, because its process takes longer to start than the engine
  engine = createEngineHost({
    engineProcessFile: places.engineProcessFile,
    node: process.env['LOCKSTEP_ENGINE_NODE'],
    compileCacheFolder: join(app.getPath('userData'), 'compile-cache'),
    open: { databaseFile: process.env['LOCKSTEP_DB'] ?? null, ...places.engine },
    onLost(message, restarting) {
      for (const window of BrowserWindow.getAllWindows()) window.webContents.send(CHANNELS.engineLost, message);
      if (!restarting) void offerRestart(message);
    },
    onFailed: (message) => void refuse(message),
  });
  installMenu(sendMenu, newWindow);
}

function newWindow(): void {
  const window = openWindow({
    preloadFile: places.preloadFile,
    stateFile: join(app.getPath('userData'), 'window.json'),
  });
  const { id } = window.webContents;
  window.webContents.on('did-start-navigation', ({ isMainFrame, isSameDocument }) => {
    if (isMainFrame && !isSameDocument) wantingFiles.delete(id);
  });
  window.on('closed', () => void wantingFiles.delete(id));
}

function focusWindow(): void {
  const window = BrowserWindow.getFocusedWindow() ?? BrowserWindow.getAllWindows()[0];
  if (!window) {
    if (app.isReady()) newWindow();
    return;
  }
  if (window.isMinimized()) window.restore();
  window.focus();
}

function sendMenu(command: MenuCommand): void {
  const window = BrowserWindow.getFocusedWindow() ?? BrowserWindow.getAllWindows()[0];
  window?.webContents.send(CHANNELS.menu, command);
}

async function takeFile(file: string): Promise<void> {
  if (extname(file).toLowerCase() !== '.json') return;
  const read = await readStudyFile(file);
  if (!read.ok) {
    await app.whenReady();
    await dialog.showMessageBox({
      type: 'error',
      message: 'The study could not be opened.',
      detail: read.error.message,
    });
    return;
  }
  unopened.push(read.value);
  deliverFiles();
}

function deliverFiles(): void {
  const ready = BrowserWindow.getAllWindows().filter((window) => wantingFiles.has(window.webContents.id));
  const window = ready.find((one) => one.isFocused()) ?? ready[0];
  if (!window) return;
  const files = unopened;
  unopened = [];
  for (const file of files) window.webContents.send(CHANNELS.openFile, file);
}

/** Returns null if the sender is not the top frame of our page. Such a sender gets no reply. */
function senderWindow(event: IpcMainEvent | IpcMainInvokeEvent): BrowserWindow | null {
  const frame: WebFrameMain | null = event.senderFrame;
  if (!frame || frame !== event.sender.mainFrame || !isPageUrl(frame.url)) return null;
  return BrowserWindow.fromWebContents(event.sender);
}

function listenToPages(): void {
  ipcMain.on(CHANNELS.connect, (event) => {
    if (senderWindow(event) && engine) event.senderFrame?.postMessage(CHANNELS.port, null, [engine.connect()]);
  });
  ipcMain.on(CHANNELS.filesWanted, (event) => {
    if (!senderWindow(event)) return;
    wantingFiles.add(event.sender.id);
    deliverFiles();
  });
  ipcMain.on(CHANNELS.showDatabase, (event, file: unknown) => {
    if (senderWindow(event) && typeof file === 'string' && isAbsolute(file)) shell.showItemInFolder(file);
  });
  ipcMain.on(CHANNELS.setTheme, (event, ...sent: unknown[]) => {
    const window = senderWindow(event);
    const theme = v.safeParse(themeSchema, sent);
    if (window && theme.success) applyTheme(window, ...theme.output);
  });
  ipcMain.handle(CHANNELS.openStudy, async (event): Promise<OpenedFile | null> => {
    const window = senderWindow(event);
    if (!window) return null;
    const { canceled, filePaths } = await dialog.showOpenDialog(window, {
      title: 'Open a study',
      properties: ['openFile'],
      filters: [{ name: 'Lockstep studies', extensions: ['json'] }],
    });
    const file = filePaths[0];
    if (canceled || file === undefined) return null;
    const read = await readStudyFile(file);
    if (!read.ok) throw new Error(read.error.message);
    return read.value;
  });
  ipcMain.handle(CHANNELS.saveDocument, async (event, sent: unknown): Promise<string | null> => {
    const window = senderWindow(event);
    if (!window) return null;
    const document = v.parse(documentSchema, sent);
    const fileName = safeFileName(document.fileName);
    const { canceled, filePath } = await dialog.showSaveDialog(window, {
      title: 'Save',
      defaultPath: join(app.getPath('documents'), fileName),
      filters: [{ name: document.mediaType, extensions: [extname(fileName).slice(1) || 'txt'] }],
      properties: ['showOverwriteConfirmation', 'createDirectory'],
    });
    if (canceled || !filePath) return null;
    await writeWhole(
      filePath,
      document.mediaType === 'application/pdf' ? await printedPage(document.text) : document.text,
    );
    return filePath;
  });
}

async function offerRestart(message: string): Promise<void> {
  const { response } = await dialog.showMessageBox({
    type: 'error',
    message: 'The engine keeps stopping.',
    detail: `The last error: ${message}. Saved work is safe.`,
    buttons: ['Start it again', 'Quit'],
    defaultId: 0,
    cancelId: 1,
  });
  if (response === 0) engine?.restart();
  else app.quit();
}

async function refuse(message: string): Promise<void> {
  await dialog.showMessageBox({
    type: 'error',
    message: 'Lockstep cannot open its database.',
    detail: message,
    buttons: ['Quit'],
  });
  app.quit();
}
