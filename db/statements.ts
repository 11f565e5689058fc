import type { Database, Statement } from 'better-sqlite3';

import { refuse } from './failure.ts';

export type SqlValue = string | number | bigint | Uint8Array | null;

/** Each SQL text is compiled once. A column `run_id` in SQL is `runId` in the rows that are read and inserted. */
export interface Statements {
  readonly db: Database;
  /** `Row` names the columns of the query. The tests check this, not the compiler. */
  all<Row>(sql: string, ...values: readonly SqlValue[]): Row[];
  get<Row>(sql: string, ...values: readonly SqlValue[]): Row | undefined;
  run(sql: string, ...values: readonly SqlValue[]): number;
  insert(table: string, row: Readonly<Record<string, SqlValue>>): number;
  /** Runs `body` in a transaction. Takes the write lock at its start, because taking it later could fail halfway. */
  write<T>(body: () => T): T;
}

export function openStatements(db: Database): Statements {
  const compiled = new Map<
    string,
    { readonly statement: Statement<SqlValue[], SqlValue[]>; names: readonly string[] }
  >();
  const compile = (sql: string) => {
    const known = compiled.get(sql);
    if (known) return known;
    const statement = db.prepare<SqlValue[], SqlValue[]>(sql);
    const names = statement.reader
      ? statement
          .raw()
          .columns()
          .map(({ name }) => camelCase(name))
      : [];
    const fresh = { statement, names };
    compiled.set(sql, fresh);
    return fresh;
  };
  const named = <Row>(names: readonly string[], row: readonly SqlValue[]): Row =>
    Object.fromEntries(names.map((name, at) => [name, row[at]])) as Row;
  return {
    db,
    all<Row>(sql: string, ...values: readonly SqlValue[]) {
      const { statement, names } = compile(sql);
      return statement.all(...values).map((row) => named<Row>(names, row));
    },
    get<Row>(sql: string, ...values: readonly SqlValue[]) {
      const { statement, names } = compile(sql);
      const row = statement.get(...values);
      return row && named<Row>(names, row);
    },
    run: (sql, ...values) => compile(sql).statement.run(...values).changes,
    insert(table, row) {
      const names = Object.keys(row);
      const sql = `INSERT INTO ${table} (${names.map(snakeCase).join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
      return Number(compile(sql).statement.run(...Object.values(row)).lastInsertRowid);
    },
    write: (body) => db.transaction(body).immediate(),
  };
}

const camelCase = (column: string): string => column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Fails with `bad-input` if the value (such as `undefined`) has no JSON text. */
export function toJson(what: string, value: unknown): string {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) refuse('bad-input', `${what} must be a value that JSON can hold, not ${typeof value}.`);
  return text;
}

/** Throws no failure, because the tables accept only valid JSON. The caller checks the shape of the value. */
export function fromJson(text: string): unknown {
  return JSON.parse(text) as unknown;
}

export function now(): string {
  return new Date().toISOString();
}
