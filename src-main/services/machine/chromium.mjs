/**
 * Names of Chromium's executable, the most likely first. Plain JavaScript, since tests may be started with an old Node.
 * @type {readonly string[]}
 */
export const CHROMIUM_NAMES = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'chrome',
  'microsoft-edge',
];
