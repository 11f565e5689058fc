/**
 * `manifest.ts strip|restore` changes the manifest of the npm package while `npm pack` runs. It removes the development
 * tools, and the Node of the lock file (189 MB), because a user of the package already has a Node.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

interface Manifest {
  readonly scripts: { readonly postpack: string };
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const FILE = 'package.json';
const KEPT = 'node_modules/.cache/packed/package.json';
const TOOLS = ['devDependencies', 'allowScripts'];

/** npm reads `postpack` from the stripped manifest, so the script `postpack` stays in it. */
function packed(manifest: Manifest): object {
  return {
    ...Object.fromEntries(Object.entries(manifest).filter(([field]) => !TOOLS.includes(field))),
    optionalDependencies: Object.fromEntries(
      Object.entries(manifest.optionalDependencies ?? {}).filter(([name]) => !name.startsWith('node-')),
    ),
    scripts: { postpack: manifest.scripts.postpack },
  };
}

if (process.argv[2] === 'strip') {
  const text = readFileSync(FILE, 'utf8');
  mkdirSync(dirname(KEPT), { recursive: true });
  writeFileSync(KEPT, text);
  writeFileSync(FILE, `${JSON.stringify(packed(JSON.parse(text) as Manifest), null, 2)}\n`);
} else if (existsSync(KEPT)) renameSync(KEPT, FILE);
