/**
 * The names of Chromium's executable, the most likely first. This is plain JavaScript, because an old Node may start
 * the tests.
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
