import type { ExportDocument } from './api.ts';

/**
 * The object `window.lockstep` of the desktop window. A browser has no such object; there, the page itself opens and
 * saves files. This module has only types, so that the renderer and the preload script share no code.
 */

/** The commands of the page that the application menu can send, by their ids. */
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

/** The colours (`#rrggbb`) of the window's own buttons. The page takes them from its colour tokens. */
export interface TitleBarColours {
  readonly background: string;
  readonly symbol: string;
}

export interface DesktopBridge {
  readonly platform: 'linux' | 'darwin' | 'win32';
  /** Asks for a port to the engine. It arrives in a window message `{ lockstep: 'port' }` (see `connectEngine`). */
  readonly connect: () => void;
  /** Shows the native open dialog. Resolves to null if the user cancels. */
  readonly openStudy: () => Promise<OpenedFile | null>;
  /** Shows the native save dialog. Resolves to the path, or null if cancelled. Rejects with a message for the user. */
  readonly saveDocument: (document: ExportDocument) => Promise<string | null>;
  /** Shows the database file in the file manager without opening it. The path is absolute. */
  readonly showDatabase: (file: string) => void;
  readonly setTheme: (choice: ThemeChoice, colours: TitleBarColours) => void;
  readonly onMenu: (listener: (command: MenuCommand) => void) => () => void;
  /** Receives study files that come from the command line, the file manager or a second start of the application. */
  readonly onOpenFile: (listener: (file: OpenedFile) => void) => () => void;
  readonly onEngineLost: (listener: (message: string) => void) => () => void;
}
