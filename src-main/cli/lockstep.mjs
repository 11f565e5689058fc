#!/usr/bin/env node
// Starts the built program if it is installed as a package, otherwise the sources. Refuses a Node that is too old.
import { existsSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { isNodeNewEnough, NODE_NEEDED } from '../hosts/runtimes.mjs';

const built = new URL('../../out/main/cli.js', import.meta.url);
const sources = new URL('./main.ts', import.meta.url);
// Node does not strip types from files inside node_modules.
const installed = fileURLToPath(import.meta.url).includes('node_modules');
if (!isNodeNewEnough()) {
  process.stderr.write(`lockstep: ${NODE_NEEDED} This is ${process.version}.\n`);
  process.exitCode = 1;
} else {
  // A cache of compiled code halves the time of the next start. Worker threads find its folder in this variable.
  if (!installed)
    process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../../node_modules/.cache/compile', import.meta.url));
  module.enableCompileCache();
  const { main } = await import((installed && existsSync(built) ? built : sources).href);
  process.exitCode = await main(process.argv.slice(2));
}
