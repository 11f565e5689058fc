import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { connectEngine, type PageLike } from '../../src-main/contract/transport.ts';
import { keptToken, TOKEN_PATTERN } from '../../src-main/serve/kept-token.ts';
import { testFolder } from '../workplace.ts';

describe('the token of a database', () => {
  const folder = testFolder();

  it('is the same at every start, different for another database, and readable only by its owner', async () => {
    const [a, b] = [join(folder, 'a.db'), join(folder, 'b.db')];
    const token = await keptToken(a);
    expect(token).toMatch(TOKEN_PATTERN);
    expect(await keptToken(a)).toBe(token);
    expect(await keptToken(b)).not.toBe(token);
    if (process.platform !== 'win32') expect(statSync(`${a}.token`).mode & 0o777).toBe(0o600);
  });

  it.skipIf(process.platform === 'win32')('is replaced if others can read it or if it is invalid', async () => {
    const file = join(folder, 'c.db');
    const token = await keptToken(file);
    chmodSync(`${file}.token`, 0o644);
    expect(await keptToken(file)).not.toBe(token);
    expect(statSync(`${file}.token`).mode & 0o777).toBe(0o600);
    writeFileSync(`${file}.token`, 'short');
    expect(await keptToken(file)).toMatch(TOKEN_PATTERN);
    expect(readFileSync(`${file}.token`, 'utf8')).not.toBe('short');
  });

  it('is new at every start if it cannot be saved', async () => {
    const nowhere = join(folder, 'missing', 'd.db');
    expect(await keptToken(nowhere)).toMatch(TOKEN_PATTERN);
    expect(await keptToken(nowhere)).not.toBe(await keptToken(nowhere));
  });
});

describe('a page whose connection is refused', () => {
  let asked = '';
  /**
   * Returns the message that the user sees if the server answers a request with this status. With null, no server runs.
   */
  async function told(status: number | null, protocol = 'http:') {
    class Refused {
      constructor(address: string) {
        asked = address;
      }
      addEventListener(type: string, listener: (event: object) => void): void {
        if (type === 'close') setTimeout(() => listener({ reason: '' }));
      }
      send(): void {}
      close(): void {}
    }
    const page = {
      location: { host: 'localhost', protocol, origin: '', search: '', hash: '' },
      localStorage: { getItem: () => 'an-old-token-of-it', setItem: () => {} },
      fetch: () => (status === null ? Promise.reject(new TypeError('no')) : Promise.resolve({ status })),
      WebSocket: Refused,
    } as unknown as PageLike;
    const result = await connectEngine(page);
    return result.ok ? null : [result.error.code, result.error.message];
  }

  it('distinguishes a server that refuses the token from one that does not run', async () => {
    const expected = ['conflict', expect.stringContaining('Open the address that "lockstep serve" printed')];
    expect(await told(403)).toEqual(expected);
    expect(await told(null)).toEqual(['cancelled', 'The server is not running']);
    expect(await told(200)).toEqual(['cancelled', 'The engine refused the connection']);
  });

  it.each([
    ['http:', 'ws:'],
    ['https:', 'wss:'],
  ])('was opened as %s and connects as %s', async (protocol, socket) => {
    await told(200, protocol);
    expect(new URL(asked).protocol).toBe(socket);
  });
});
