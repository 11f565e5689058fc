/** Lists the packages of a release in CycloneDX: those that npm installs, and those that are bundled. */
import { existsSync, readFileSync } from 'node:fs';

interface Component {
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses?: readonly object[];
  readonly hashes?: readonly object[];
}

export interface Sbom {
  readonly metadata: { readonly component: { readonly name: string; readonly version: string } };
  readonly components: readonly Component[];
}

interface Lock {
  readonly name: string;
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
}

const LICENCES = ['out/main/licenses.md', 'out/renderer/licenses.md'];

/** Adds the bundled packages, and corrects the project's name, which npm takes from the folder. */
export function addBundled(sbom: Sbom): Sbom {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lock;
  const text = LICENCES.filter((file) => existsSync(file))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
  const known = new Set(sbom.components.map(({ purl }) => purl));
  const bundled: Component[] = [];
  for (const [, name, version, licence] of text.matchAll(/^## (\S+) - (\S+) \((.+)\)$/gm)) {
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
    if (known.has(purl)) continue;
    known.add(purl);
    const locked = Object.entries(lock.packages).find(
      ([path, entry]) => path.endsWith(`node_modules/${name}`) && entry.version === version,
    )?.[1];
    const [algorithm, content] = locked?.integrity?.split(/-(.*)/s) ?? [];
    bundled.push({
      type: 'library',
      name,
      version,
      purl,
      licenses: [{ expression: licence }],
      ...(content !== undefined && {
        hashes: [{ alg: algorithm.replace('sha', 'SHA-'), content: Buffer.from(content, 'base64').toString('hex') }],
      }),
    });
  }
  const { component } = sbom.metadata;
  return {
    ...sbom,
    metadata: { ...sbom.metadata, component: { ...component, name: lock.name } },
    components: [...sbom.components, ...bundled],
  };
}
