import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { readMigrations, userVersion } from '../../db/migrate.ts';
import { openStore } from '../../db/store.ts';
import { openEngine } from '../../src-main/services/engine.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { inFolder, MIGRATIONS } from '../db/sample.ts';
import { checkGolden, goldenFile, goldenVersions, soundBySqlite } from './kills.ts';
import type { Report, Section } from './report.ts';

/** Checks that every old version opens with all its content, then has the newest version, and that copies are kept. */
export async function verifyUpgrades(report: Report): Promise<void> {
  const newest = readMigrations(MIGRATIONS).length;
  const versions = goldenVersions();
  for (let version = 1; version <= newest; version++)
    if (!versions.includes(version))
      report.fail(`Version ${version} has no fixture. Run node test/data/store/make-golden.ts.`);
  await inFolder(async (folder) => {
    for (const version of versions) {
      const file = join(folder, `v${version}.db`);
      copyFileSync(goldenFile(version), file);
      const open = unwrap(openStore({ file, migrationsFolder: MIGRATIONS }));
      for (const wrong of checkGolden(open.store, version)) report.fail(`version ${version}: ${wrong} has changed`);
      open.close();
      const verdict = soundBySqlite(file);
      if (verdict !== 'ok\n') report.fail(`version ${version}: integrity_check says ${verdict.trim()}`);
      const db = new Database(file, { readonly: true });
      if (userVersion(db) !== newest)
        report.fail(`version ${version} is ${userVersion(db)} after opening, not ${newest}`);
      db.close();
      if (version < newest) {
        const kept = new Database(`${file}.v${version}.backup`, { readonly: true });
        if (userVersion(kept) !== version) report.fail(`version ${version}: the copy that is kept has another version`);
        kept.close();
      }
      // The whole program opens the file and shows the run.
      const engine = unwrap(await openEngine({ databaseFile: file, resourceFolder: join(import.meta.dirname, '../..'), host: 'cli', workers: 1 })); // prettier-ignore
      const runs = unwrap(await engine.call('runs.list', {}));
      if (!runs.some(({ id, state }) => id === 1 && state === 'complete'))
        report.fail(`version ${version}: run 1 is not listed`);
      await engine.close();
    }
  });
  report.figure('versions upgraded', `${versions.join(', ')} to ${newest}`);
}

export const section: Section = {
  what: 'every past version of the database opens with all its content',
  full: 1,
  quick: 1,
  unit: 'round',
  run: verifyUpgrades,
};
