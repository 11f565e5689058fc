/* eslint-disable @typescript-eslint/no-require-imports, no-undef -- -r takes CommonJS */
// Registers the page's scheme before anything else runs, in `electron -r page-scheme.cjs .`. Electron's own launcher
// waits for an ES module before it becomes ready. With other launchers, main.ts would be too late.
require('electron').protocol.registerSchemesAsPrivileged([
  { scheme: 'app', privileges: { standard: true, secure: true, supportFetchAPI: true, codeCache: true } },
]);
globalThis.lockstepPageScheme = true; // it is possible only once
