import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

import { type Statements, now } from './statements.ts';

/** Time between heartbeats of a store with running runs. A store that is silent for `SILENCE_MS` counts as dead. */
export const HEARTBEAT_MS = 5_000;
const SILENCE_MS = 45_000;

interface OwnerRow {
  readonly token: string;
  readonly host: string;
  readonly pid: number;
  readonly heartbeatAt: string;
}

/**
 * Distinguishes running from interrupted runs when several processes share a database. The owner of a run is one
 * opening of the store. It is dead if its process has ended or if it was silent for long, because another process may
 * have its process id by then. On a machine that slept, a live owner can look dead. This does no harm, because a chunk
 * is saved only while its store owns the run.
 */
export function openOwnership({ all, get, run, write }: Statements) {
  const token = randomUUID();
  const host = hostname();

  /** Marks the running runs of an owner as interrupted. Removes its unfinished imports, which cannot be resumed. */
  function interrupt(owner: string, finishedAt: string): number {
    run(`DELETE FROM runs WHERE owner_token = ? AND state = 'running' AND kind = 'import'`, owner);
    return run(
      `UPDATE runs SET state = 'interrupted', finished_at = ?, owner_token = NULL WHERE owner_token = ? AND state = 'running'`,
      finishedAt,
      owner,
    );
  }

  function isGone(owner: OwnerRow): boolean {
    if (Date.now() - Date.parse(owner.heartbeatAt) > SILENCE_MS) return true;
    return owner.host === host && owner.pid !== process.pid && !processLives(owner.pid);
  }

  return {
    token,
    claim(): void {
      run(
        `INSERT INTO owners (token, host, pid, heartbeat_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (token) DO UPDATE SET heartbeat_at = excluded.heartbeat_at`,
        token,
        host,
        process.pid,
        now(),
      );
    },
    beat(): void {
      if (!get(`SELECT 1 FROM runs WHERE owner_token = ? AND state = 'running'`, token)) return;
      run('UPDATE owners SET heartbeat_at = ? WHERE token = ?', now(), token);
    },
    markInterrupted(): number {
      // Dead owners are rare, so the lock is taken only if there are any.
      const others = (): OwnerRow[] => all<OwnerRow>('SELECT * FROM owners WHERE token <> ?', token).filter(isGone);
      if (others().length === 0) return 0;
      return write(() => {
        let marked = 0;
        for (const owner of others()) {
          marked += interrupt(owner.token, owner.heartbeatAt);
          run('DELETE FROM owners WHERE token = ?', owner.token);
        }
        return marked;
      });
    },
    release(): void {
      if (!get('SELECT 1 FROM owners WHERE token = ?', token)) return;
      write(() => {
        interrupt(token, now());
        run('DELETE FROM owners WHERE token = ?', token);
      });
    },
  };
}

export type Ownership = ReturnType<typeof openOwnership>;

export function processLives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !hasEnded(pid);
  } catch (error) {
    // EPERM means that the process exists and belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Returns whether a process has ended although its parent has not read its exit code. Only Linux shows this. */
function hasEnded(pid: number): boolean {
  try {
    // proc_pid_stat(5): the state comes after the name, and the name may contain any character.
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return /^[ZX]/.test(text.slice(text.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}
