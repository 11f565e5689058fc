/**
 * Writes `out/main/library.d.ts`: the types of the library in one file without references to sources or packages. The
 * compiler first emits all declarations, because bundling them is four times as fast as bundling sources.
 */
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateDtsBundle } from 'dts-bundle-generator';

const root = join(import.meta.dirname, '../..');
const emitted = join(root, 'out', 'declarations');
const preferredConfigPath = join(import.meta.dirname, 'tsconfig.json');
const bin = join(root, 'node_modules', '.bin', process.platform === 'win32' ? 'tsc.cmd' : 'tsc');

execFileSync(bin, ['-p', preferredConfigPath], { stdio: 'inherit', shell: process.platform === 'win32' });
const [text] = generateDtsBundle(
  [
    {
      filePath: join(emitted, 'src-main', 'library.d.ts'),
      // The types of calls contain Valibot schemas, so the types of Valibot are bundled too.
      libraries: { inlinedLibraries: ['valibot'] },
      output: { noBanner: true },
    },
  ],
  { preferredConfigPath },
);
writeFileSync(join(root, 'out', 'main', 'library.d.ts'), text);
rmSync(emitted, { recursive: true });
