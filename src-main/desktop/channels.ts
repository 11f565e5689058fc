export const CHANNELS = {
  connect: 'lockstep:connect',
  port: 'lockstep:port',
  engineLost: 'lockstep:engine-lost',
  openStudy: 'lockstep:open-study',
  saveDocument: 'lockstep:save-document',
  showDatabase: 'lockstep:show-database',
  setTheme: 'lockstep:set-theme',
  menu: 'lockstep:menu',
  filesWanted: 'lockstep:files-wanted',
  openFile: 'lockstep:open-file',
} as const;
