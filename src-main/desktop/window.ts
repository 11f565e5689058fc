import { BrowserWindow, dialog, nativeTheme, screen } from 'electron';
import type { ThemeChoice, TitleBarColours } from '../contract/bridge.ts';
import { PAGE_ORIGIN } from './page-protocol.ts';
import { isReachable, readWindowState, writeWindowState } from './window-state.ts';

const TITLE_BAR_PX = 40;
/** The smallest width at which the page fits (`base.css`), px. */
const MIN_WIDTH = 720;
const MIN_HEIGHT = 600;
const FIRST_COLOURS: Record<'light' | 'dark', TitleBarColours> = {
  light: { background: '#ffffff', symbol: '#1a1a1a' },
  dark: { background: '#16181d', symbol: '#e8e8e8' },
};

export interface WindowOptions {
  readonly preloadFile: string;
  readonly stateFile: string;
}

export function openWindow(options: WindowOptions): BrowserWindow {
  const state = readWindowState(options.stateFile);
  const workAreas = screen.getAllDisplays().map((display) => display.workArea);
  const first = BrowserWindow.getAllWindows().length === 0;
  const place = first && state && isReachable(state.bounds, workAreas) ? state.bounds : { width: 1360, height: 860 };
  const colours = FIRST_COLOURS[nativeTheme.shouldUseDarkColors ? 'dark' : 'light'];
  const window = new BrowserWindow({
    ...place,
    minWidth: MIN_WIDTH,
    minHeight: MIN_HEIGHT,
    show: false,
    title: 'Lockstep',
    backgroundColor: colours.background,
    titleBarStyle: 'hidden',
    titleBarOverlay: { color: colours.background, symbolColor: colours.symbol, height: TITLE_BAR_PX },
    webPreferences: {
      preload: options.preloadFile,
      sandbox: true,
      contextIsolation: true,
      nodeIntegration: false,
      webSecurity: true,
      webviewTag: false,
      spellcheck: false,
      v8CacheOptions: 'bypassHeatCheck', // cache compiled code from the first start on
      navigateOnDragDrop: false,
    },
  });
  window.once('ready-to-show', () => {
    if (first && state?.maximised) window.maximize();
    window.show();
  });
  window.on('close', () => {
    writeWindowState(options.stateFile, { bounds: window.getNormalBounds(), maximised: window.isMaximized() });
  });
  offerReload(window);
  void window.loadURL(`${PAGE_ORIGIN}/`);
  return window;
}

/** Offers to reload a page that crashed or hangs. The engine and its runs continue, so only unsaved input is lost. */
function offerReload(window: BrowserWindow): void {
  let asking: AbortController | null = null;
  const ask = async (message: string, detail: string, other: string) => {
    if (asking || window.isDestroyed()) return;
    asking = new AbortController();
    const { response } = await dialog.showMessageBox(window, {
      type: 'warning',
      message,
      detail,
      buttons: ['Reload', other],
      defaultId: 0,
      cancelId: 1,
      signal: asking.signal,
    });
    const stale = asking.signal.aborted;
    asking = null;
    if (window.isDestroyed() || stale) return;
    if (response === 0) window.webContents.reload();
    else if (other === 'Close') window.destroy();
  };
  window.webContents.on('render-process-gone', (_event, { reason, exitCode }) => {
    if (reason !== 'clean-exit')
      void ask(
        'The page stopped working.',
        `${reason}, exit code ${exitCode}. Runs continue, and saved work is safe.`,
        'Close',
      );
  });
  window.on('unresponsive', () => void ask('The page does not answer.', 'Runs continue in the engine.', 'Wait'));
  window.on('responsive', () => asking?.abort());
}

export function applyTheme(window: BrowserWindow, choice: ThemeChoice, colours: TitleBarColours): void {
  nativeTheme.themeSource = choice;
  window.setBackgroundColor(colours.background);
  if (process.platform !== 'darwin')
    window.setTitleBarOverlay({ color: colours.background, symbolColor: colours.symbol, height: TITLE_BAR_PX });
}
