/* eslint-disable @typescript-eslint/no-require-imports, no-undef -- -r takes CommonJS */
// Loaded into Electron by start.ts: prints when the first page can be used, and quits.
const { app } = require('electron');

const usable = `new Promise((resolve) => {
  const look = () => {
    const isThere = ({ textContent, disabled }) => !disabled && /^\\s*Predict [\\d,]+ designs/.test(textContent);
    if (![...document.querySelectorAll('button')].some(isThere)) return;
    changes.disconnect();
    resolve(Date.now());
  };
  const changes = new MutationObserver(look);
  changes.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  look();
})`;
/** Compiled code of the page is written to disk a while after it has run. */
const AFTER_MS = 1_000;

app.on('web-contents-created', (_event, contents) =>
  contents.once('dom-ready', async () => {
    process.stdout.write(`usable ${await contents.executeJavaScript(usable)}\n`);
    setTimeout(() => app.quit(), AFTER_MS);
  }),
);
