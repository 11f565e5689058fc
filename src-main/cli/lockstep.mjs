#!/usr/bin/env node
// The command's entry: says what it needs on a Node that cannot run the sources, and prefers the built program.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const [major, minor] = process.versions.node.split('.').map(Number);
const built = new URL('../../out/main/cli.js', import.meta.url);
const sources = new URL('./main.ts', import.meta.url);
// Node strips types from sources everywhere but inside node_modules.
const installed = fileURLToPath(import.meta.url).includes('node_modules');
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(
    `lockstep: got Node ${process.versions.node}, expected 22.18 or newer; npm ci brings one for 64-bit Linux, used by "npm run -s lockstep -- …"\n`,
  );
  process.exitCode = 1;
} else {
  const { main } = await import((installed && existsSync(built) ? built : sources).href);
  process.exitCode = await main(process.argv.slice(2));
}
