import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import SQLite, { type Database } from 'better-sqlite3';

import { refuse } from './failure.ts';

export interface Migration {
  readonly version: number;
  readonly sql: string;
}

/** Reads `0001-name.sql`, `0002-name.sql`, … Throws on a gap or a wrong name, which only a wrong build can have. */
export function readMigrations(folder: string): readonly Migration[] {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort();
  if (names.length === 0) throw new Error(`no migrations in ${folder}`);
  return names.map((name, index) => {
    const version = Number(/^(\d{4})-/.exec(name)?.[1]);
    if (version !== index + 1) throw new Error(`migration ${name} in ${folder} must have the number ${index + 1}`);
    return { version, sql: readFileSync(join(folder, name), 'utf8') };
  });
}

export function userVersion(db: Database): number {
  return db.pragma('user_version', { simple: true }) as number;
}

export function hasTables(db: Database, version: number, migrations: readonly Migration[]): boolean {
  const known = new Set<string>();
  const empty = new SQLite(':memory:');
  try {
    let ofVersion: readonly string[] = [];
    for (const migration of migrations) {
      empty.exec(migration.sql);
      const names = columnNames(empty);
      names.forEach((name) => known.add(name));
      if (migration.version === version) ofVersion = names;
    }
    const found = columnNames(db).filter((name) => known.has(name));
    return found.length === ofVersion.length && found.every((name) => ofVersion.includes(name));
  } finally {
    empty.close();
  }
}

function columnNames(db: Database): readonly string[] {
  return db
    .prepare<[], string>(
      `SELECT each.type || ' ' || each.name || ' ' || coalesce(field.name, '')
       FROM sqlite_schema each LEFT JOIN pragma_table_xinfo(each.name) field`,
    )
    .pluck()
    .all();
}

/**
 * Migrates a database to the newest version, after copying a file of version N to `FILE.vN.backup`. Foreign keys must
 * be off, because a migration may rebuild tables.
 */
export function migrate(db: Database, file: string, migrations: readonly Migration[]): void {
  const newest = migrations.length;
  const found = userVersion(db);
  if (found >= newest) return;
  if (found > 0) backUp(db, `${file}.v${found}.backup`);
  db.transaction(() => {
    // Another process may have migrated between the check above and this lock.
    for (const { version, sql } of migrations.slice(userVersion(db))) {
      db.exec(sql);
      db.pragma(`user_version = ${version}`);
    }
    const broken = db.pragma('foreign_key_check') as readonly unknown[];
    if (broken.length > 0)
      refuse(
        'storage',
        `${file} cannot be migrated: references to missing rows would remain (${broken.length}). The file is unchanged.`,
      );
  }).immediate();
}

/** Copies a database with its log. The copy gets its name only when it is complete. */
function backUp(db: Database, target: string): void {
  const partial = `${target}.partial`;
  rmSync(partial, { force: true });
  db.prepare('VACUUM INTO ?').run(partial);
  renameSync(partial, target);
}
