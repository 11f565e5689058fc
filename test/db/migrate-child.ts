import Database from 'better-sqlite3';

import { migrate, readMigrations } from '../../db/migrate.ts';
import { MIGRATIONS } from './sample.ts';

// `node migrate-child.ts FILE N` migrates FILE. It kills itself after statement N of the newest migration.
const [file, killAfter] = [process.argv[2], Number(process.argv[3])];
const migrations = readMigrations(MIGRATIONS);
const newest = migrations.at(-1)!;
const statements = newest.sql.split(/(?<=;)$/m);
const sql = statements.toSpliced(killAfter, 0, '\nSELECT kill_here();').join('');
const db = new Database(file);
db.function('kill_here', () => process.kill(process.pid, 'SIGKILL'));
db.pragma('journal_mode = WAL');
db.pragma('foreign_keys = OFF');
migrate(db, file, [...migrations.slice(0, -1), { ...newest, sql }]);
