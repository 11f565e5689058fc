import type { Database, Statement } from 'better-sqlite3';

import { refuse } from './failure.ts';

export type SqlValue = string | number | bigint | Uint8Array | null;

/** A connection with its prepared statements. Each text is compiled once. */
export interface Statements {
  readonly db: Database;
  /** `Row` names the columns of the query. The tests check this, not the compiler. */
  all<Row>(sql: string, ...values: readonly SqlValue[]): Row[];
  get<Row>(sql: string, ...values: readonly SqlValue[]): Row | undefined;
  /** Returns the number of changed rows. */
  run(sql: string, ...values: readonly SqlValue[]): number;
  /** Inserts and returns the new id. */
  insert(sql: string, ...values: readonly SqlValue[]): number;
  /** Commits all changes or none. It takes the write lock first, so that it cannot fail for the lock halfway. */
  write<T>(body: () => T): T;
}

export function openStatements(db: Database): Statements {
  const compiled = new Map<string, Statement>();
  const statement = (sql: string): Statement => {
    const known = compiled.get(sql);
    if (known) return known;
    const fresh = db.prepare(sql);
    compiled.set(sql, fresh);
    return fresh;
  };
  return {
    db,
    all: <Row>(sql: string, ...values: readonly SqlValue[]) => statement(sql).all(...values) as Row[],
    get: <Row>(sql: string, ...values: readonly SqlValue[]) => statement(sql).get(...values) as Row | undefined,
    run: (sql, ...values) => statement(sql).run(...values).changes,
    insert: (sql, ...values) => Number(statement(sql).run(...values).lastInsertRowid),
    write: (body) => db.transaction(body).immediate(),
  };
}

/** The text of a JSON value. Fails with `bad-input` if JSON cannot express the value. */
export function toJson(what: string, value: unknown): string {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) refuse('bad-input', `${what} must be a value that JSON can hold, not ${typeof value}.`);
  return text;
}

/** Parses stored JSON. The schema of the tables guarantees that it is JSON; the caller checks its shape. */
export function fromJson(text: string): unknown {
  return JSON.parse(text) as unknown;
}

export function now(): string {
  return new Date().toISOString();
}
