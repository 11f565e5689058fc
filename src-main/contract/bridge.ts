import type { ExportDocument } from './api.ts';

/**
 * `window.lockstep` in the desktop window. In a browser it does not exist, and the page itself exchanges files. This
 * file has only types, so that the renderer and the preload script agree without shared code.
 */

/** The ids of the page's commands that the application menu may send. */
export type MenuCommand =
  | 'study.new'
  | 'study.open'
  | 'study.save'
  | 'study.exportAs'
  | 'run.start'
  | 'run.cancel'
  | 'view.study'
  | 'view.landscape'
  | 'view.ranking'
  | 'view.compare'
  | 'view.measure'
  | 'view.runs'
  | 'view.models'
  | 'view.export'
  | 'view.palette'
  | 'view.settings'
  | 'help.shortcuts'
  | 'help.example';

/** A study file that the host has read. `studies.import` validates its `text`. */
export interface OpenedFile {
  readonly fileName: string;
  readonly text: string;
}

export type ThemeChoice = 'system' | 'light' | 'dark';

/** The colours (`#rrggbb`) of the window's own buttons, from the page's tokens. */
export interface TitleBarColours {
  readonly background: string;
  readonly symbol: string;
}

export interface DesktopBridge {
  readonly platform: 'linux' | 'darwin' | 'win32';
  /** Asks for a port to the engine, which arrives as a window message `{ lockstep: 'port' }`: see `connectEngine`. */
  readonly connect: () => void;
  /** Shows the native open dialog. Resolves to null if the user cancels. */
  readonly openStudy: () => Promise<OpenedFile | null>;
  /** Shows the native save dialog. Resolves to the path, or null if cancelled; rejects with a readable message. */
  readonly saveDocument: (document: ExportDocument) => Promise<string | null>;
  /** Shows the database, an absolute path, in the file manager without opening it. */
  readonly showDatabase: (file: string) => void;
  readonly setTheme: (choice: ThemeChoice, colours: TitleBarColours) => void;
  readonly onMenu: (listener: (command: MenuCommand) => void) => () => void;
  /** Receives study files from the command line, the file manager or a second start. */
  readonly onOpenFile: (listener: (file: OpenedFile) => void) => () => void;
  readonly onEngineLost: (listener: (message: string) => void) => () => void;
}
