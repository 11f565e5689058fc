import type { ExportDocument } from './api.ts';

/**
 * The object that the desktop window has as `window.lockstep`. A browser does not have it: there, files are exchanged
 * through the page. This file has types only, so that the renderer and the preload script agree without sharing code.
 */

/** Commands that the application menu may send to the page: ids of the page's own commands. */
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

/** A study file, read by the host. `text` goes to `studies.import`, which validates it. */
export interface OpenedFile {
  readonly fileName: string;
  readonly text: string;
}

export type ThemeChoice = 'system' | 'light' | 'dark';

/** Colours (`#rrggbb`) of the window's own buttons, from the page's tokens. */
export interface TitleBarColours {
  readonly background: string;
  readonly symbol: string;
}

export interface DesktopBridge {
  readonly platform: 'linux' | 'darwin' | 'win32';
  /**
   * Asks the host for a port to the engine; it arrives as a window message `{ lockstep: 'port' }`. See `connectEngine`.
   */
  readonly connect: () => void;
  /** Native open dialog; null if the person cancelled. */
  readonly openStudy: () => Promise<OpenedFile | null>;
  /** Native save dialog; the path written, or null if the person cancelled. Rejects with a readable message. */
  readonly saveDocument: (document: ExportDocument) => Promise<string | null>;
  /** Shows the database in the file manager. An absolute path; the file is shown, never opened. */
  readonly showDatabase: (file: string) => void;
  readonly setTheme: (choice: ThemeChoice, colours: TitleBarColours) => void;
  readonly onMenu: (listener: (command: MenuCommand) => void) => () => void;
  /** Study files given on the command line, opened from the file manager or by a second start. */
  readonly onOpenFile: (listener: (file: OpenedFile) => void) => () => void;
  readonly onEngineLost: (listener: (message: string) => void) => () => void;
}
