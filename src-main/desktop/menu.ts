import { app, Menu, type MenuItemConstructorOptions } from 'electron';
import type { MenuCommand } from '../contract/bridge.ts';

/** Except on macOS, the page draws its own menu, and the native menu handles keys only until the page has focus. */
export function installMenu(send: (command: MenuCommand) => void, newWindow: () => void): void {
  const mac = process.platform === 'darwin';
  const item = (label: string, command: MenuCommand, accelerator?: string): MenuItemConstructorOptions => ({
    id: command,
    label,
    click: () => send(command),
    ...(accelerator === undefined ? {} : { accelerator }),
  });
  const separator: MenuItemConstructorOptions = { type: 'separator' };
  const template: MenuItemConstructorOptions[] = [
    ...(mac ? [{ role: 'appMenu' } as const] : []),
    {
      label: '&File',
      submenu: [
        item('New Study', 'study.new', 'CmdOrCtrl+Alt+N'),
        { label: 'New Window', accelerator: 'CmdOrCtrl+Shift+N', click: newWindow },
        item('Open Study File…', 'study.open', 'CmdOrCtrl+O'),
        item('Open the Example Study', 'help.example'),
        separator,
        item('Save Study', 'study.save', 'CmdOrCtrl+S'),
        item('Save Study as File…', 'study.exportAs', 'CmdOrCtrl+Shift+S'),
        separator,
        item('Settings', 'view.settings', 'CmdOrCtrl+,'),
        separator,
        mac ? { role: 'close' } : { role: 'quit' },
      ],
    },
    { role: 'editMenu' },
    {
      label: '&Run',
      submenu: [item('Predict the Design Space', 'run.start', 'CmdOrCtrl+Enter'), item('Cancel the Run', 'run.cancel')],
    },
    {
      label: '&View',
      submenu: [
        item('Study', 'view.study', 'CmdOrCtrl+1'),
        item('Landscape', 'view.landscape', 'CmdOrCtrl+2'),
        item('Ranking', 'view.ranking', 'CmdOrCtrl+3'),
        item('Compare', 'view.compare', 'CmdOrCtrl+4'),
        item('Measure', 'view.measure', 'CmdOrCtrl+5'),
        item('Runs', 'view.runs', 'CmdOrCtrl+6'),
        item('Models', 'view.models', 'CmdOrCtrl+7'),
        item('Export', 'view.export', 'CmdOrCtrl+8'),
        separator,
        item('Command Palette…', 'view.palette', 'CmdOrCtrl+K'),
        separator,
        { role: 'reload' },
        { role: 'resetZoom' },
        { role: 'zoomIn' },
        { role: 'zoomOut' },
        { role: 'togglefullscreen' },
        ...(app.isPackaged ? [] : [{ role: 'toggleDevTools' } as const]),
      ],
    },
    { role: 'windowMenu' },
    { label: '&Help', role: 'help', submenu: [item('Keyboard Shortcuts', 'help.shortcuts')] },
  ];
  Menu.setApplicationMenu(Menu.buildFromTemplate(template));
}
