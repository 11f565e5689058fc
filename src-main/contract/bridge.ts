import type { ExportDocument } from './api.ts';

/** The type of `window.lockstep` in the desktop window. This file has only types, so page and preload share no code. */

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

/** `studies.import` validates `text`. */
export interface OpenedFile {
  readonly fileName: string;
  readonly folder: string;
  readonly text: string;
}

export type ThemeChoice = 'system' | 'light' | 'dark';

export interface TitleBarColours {
  readonly background: string;
  readonly symbol: string;
}

export interface DesktopBridge {
  readonly platform: 'linux' | 'darwin' | 'win32';
  readonly connect: () => void;
  readonly openStudy: () => Promise<OpenedFile | null>;
  /** Resolves to the path, or null if cancelled. Rejects with a message for the user. */
  readonly saveDocument: (document: ExportDocument) => Promise<string | null>;
  readonly showDatabase: (file: string) => void;
  readonly setTheme: (choice: ThemeChoice, colours: TitleBarColours) => void;
  readonly onMenu: (listener: (command: MenuCommand) => void) => () => void;
  readonly onOpenFile: (listener: (file: OpenedFile) => void) => () => void;
  readonly onEngineLost: (listener: (message: string) => void) => () => void;
}
