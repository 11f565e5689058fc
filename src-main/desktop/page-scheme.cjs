/* eslint-disable @typescript-eslint/no-require-imports, no-undef -- -r takes CommonJS */
// `electron -r page-scheme.cjs .`: registers the page's scheme before anything else runs. Electron's own launcher waits
// for an ES module's end before it becomes ready; launchers that do not would be too late for it in main.ts.
require('electron').protocol.registerSchemesAsPrivileged([
  { scheme: 'app', privileges: { standard: true, secure: true, supportFetchAPI: true, codeCache: true } },
]);
globalThis.lockstepPageScheme = true; // it can be done only once
