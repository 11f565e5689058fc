import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import * as fs from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import electron from '../../node_modules/electron/package.json' with { type: 'json' };
import { ensureBuilt, fetchElectron } from '../../src-main/hosts/setup.mjs';

// Tests what the first start of a clone builds and downloads, with the real start script and Electron's real installer,
// which downloads from a server of this test. The bundler and the runtime only report their run.
const ROOT = join(import.meta.dirname, '../..');

let root: string;
let server: Server | null;
beforeEach(() => {
  root = fs.mkdtempSync(join(tmpdir(), 'lockstep-setup-'));
  server = null;
  for (const file of ['start.mjs', 'hosts/setup.mjs', 'hosts/runtimes.mjs'])
    fs.cpSync(join(ROOT, 'src-main', file), join(root, 'src-main', file));
  for (const file of ['install.js', 'package.json', 'checksums.json'])
    fs.cpSync(join(ROOT, 'node_modules/electron', file), join(root, 'node_modules/electron', file));
  for (const scope of ['@electron', '@electron-internal'])
    fs.symlinkSync(join(ROOT, 'node_modules', scope), join(root, 'node_modules', scope));
  fs.mkdirSync(join(root, 'node_modules/electron-vite/bin'), { recursive: true });
  fs.writeFileSync(
    join(root, 'node_modules/electron-vite/bin/electron-vite.js'),
    `const { mkdirSync, writeFileSync, appendFileSync } = require('node:fs');
     appendFileSync('builds', process.argv.slice(2).join(' ') + '\\n');
     for (const folder of ['main', 'preload', 'renderer']) mkdirSync('out/' + folder, { recursive: true });
     for (const file of ['main/desktop.js', 'preload/preload.cjs', 'renderer/index.html']) writeFileSync('out/' + file, '');
     writeFileSync('out/main/serve.js', 'console.log("browser host " + process.argv.slice(2).join(" "))');`,
  );
});
afterEach(async () => {
  vi.unstubAllEnvs();
  server?.closeAllConnections();
  await new Promise((resolve) => (server ? server.close(resolve) : resolve(null)));
  fs.rmSync(root, { recursive: true, force: true });
});

/** Makes a ZIP archive of executable files, without compression. */
function zip(files: Readonly<Record<string, string>>): Buffer {
  const local: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const [name, text] of Object.entries(files)) {
    const data = Buffer.from(text);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0); // Version needed.
    common.writeUInt32LE(crc32(data), 10);
    for (const place of [14, 18]) common.writeUInt32LE(data.length, place);
    common.writeUInt16LE(name.length, 22);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE((0o100755 << 16) >>> 0, 6); // Permissions.
    tail.writeUInt32LE(offset, 10);
    const entry = [Buffer.from('PK\u0003\u0004', 'latin1'), common, Buffer.from(name), data];
    local.push(...entry);
    // The archive is marked as made on Unix, because permissions would otherwise have no meaning.
    central.push(Buffer.from('PK\u0001\u0002\u0014\u0003', 'latin1'), common, tail, Buffer.from(name));
    offset += entry.reduce((sum, part) => sum + part.length, 0);
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write('PK\u0005\u0006', 'latin1');
  for (const place of [8, 10]) end.writeUInt16LE(Object.keys(files).length, place);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...local, directory, end]);
}

const { version } = electron;
const RUNTIME = zip({ electron: '#!/bin/sh\necho "window $*"\n', version });

/** Starts a server of Electron releases that counts the requests for the archive. */
async function mirror(answer: RequestListener): Promise<string> {
  server = createServer(answer);
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}
const releases =
  (asked: string[], digest = hash('sha256', RUNTIME)): RequestListener =>
  (request, response) => {
    asked.push(request.url!);
    if (request.url!.endsWith('.zip')) response.end(RUNTIME);
    else if (request.url!.endsWith('SHASUMS256.txt'))
      response.end(`${digest} *electron-v${version}-${process.platform}-${process.arch}.zip\n`);
    else response.writeHead(404).end();
  };
const environment = (from: string): NodeJS.ProcessEnv => {
  const { LOCKSTEP_ELECTRON: _, HTTP_PROXY: __, http_proxy: ___, INIT_CWD: ____, ...env } = process.env;
  const mirror = { ELECTRON_MIRROR: from, electron_use_remote_checksums: '1' };
  return { ...env, DISPLAY: ':99', ...mirror, electron_config_cache: join(root, 'cache') };
};

function start(env: NodeJS.ProcessEnv, ...args: readonly string[]): Promise<{ code: number | null; out: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [join(root, 'src-main/start.mjs'), ...args], { env, cwd: root });
    let out = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (out += data.toString()));
    child.on('close', (code) => resolve({ code, out }));
  });
}

describe.runIf(process.platform === 'linux')('the first start', () => {
  it('builds, downloads Electron once and opens the window', async () => {
    const asked: string[] = [];
    const env = environment(await mirror(releases(asked)));
    const first = await start(env, 'study.json');
    const opened = `window -r ${join(root, 'src-main/desktop/page-scheme.cjs')} ${root} ${join(root, 'study.json')}`;
    expect(first.out.trimEnd().split('\n')).toEqual([
      'Building Lockstep (first start, or changed sources) …',
      'Downloading the Electron runtime (first start; about 120 MB) …',
      opened,
    ]);
    expect(first.code).toBe(0);
    expect((await start(env, 'study.json')).out.trimEnd()).toBe(opened);
    expect(asked.filter((url) => url.endsWith('.zip'))).toHaveLength(1);
  });

  it.each([
    ['no server answers', () => Promise.resolve('http://127.0.0.1:9/'), /TypeError: fetch failed/],
    ['the archive has another checksum', () => mirror(releases([], '0'.repeat(64))), /[Cc]hecksum|sum/],
  ])('serves the browser host if %s, and says why in one line', async (_, from, reason) => {
    const { out, code } = await start(environment(await from()), '--port', '0');
    const [, downloading, why, ...rest] = out.trimEnd().split('\n');
    expect(downloading).toMatch(/^Downloading/);
    expect(why).toMatch(/^Opening in the browser instead of a window: Electron could not be downloaded \(.+\)\.$/);
    expect(why).toMatch(reason);
    expect(rest).toEqual(['browser host --port 0']);
    expect(code).toBe(0);
    expect(fs.existsSync(join(root, 'node_modules/electron/path.txt'))).toBe(false);
  });

  it('downloads nothing without a screen, or with --browser', async () => {
    const asked: string[] = [];
    const env = environment(await mirror(releases(asked)));
    expect((await start(env, '--browser')).out).toMatch(/instead of a window: --browser was given\.\nbrowser host/);
    const { DISPLAY: _, WAYLAND_DISPLAY: __, ...noScreen } = env;
    expect((await start(noScreen)).out).toMatch(/instead of a window: no screen .*\nbrowser host/);
    expect(asked).toEqual([]);
  });

  it('stops a download that makes no progress', async () => {
    vi.stubEnv('ELECTRON_MIRROR', await mirror(() => {}));
    const done = await fetchElectron(root, process.execPath, { write: () => true }, 1_000);
    expect(done).toEqual({ failed: 'Electron could not be downloaded (nothing arrived for 1 s)', stopped: false });
  });
});

describe('the build', () => {
  const said: string[] = [];
  const build = () => ensureBuilt(root, process.execPath, (line) => void said.push(line));
  const builds = () => fs.readFileSync(join(root, 'builds'), 'utf8').trimEnd().split('\n');

  it('is made only if it is missing or older than a source', async () => {
    const made = { failed: null, stopped: false };
    expect([await build(), await build()]).toEqual([made, made]);
    expect(builds()).toEqual(['build']);
    const later = new Date(Date.now() + 60_000);
    fs.utimesSync(join(root, 'src-main/start.mjs'), later, later);
    expect(await build()).toEqual(made);
    fs.rmSync(join(root, 'out/renderer'), { recursive: true });
    expect(await build()).toEqual(made);
    expect(builds()).toHaveLength(3);
    expect(said).toHaveLength(3);
  });

  it("that fails shows the bundler's message", async () => {
    fs.writeFileSync(join(root, 'node_modules/electron-vite/bin/electron-vite.js'), 'throw new Error("no such file")');
    expect((await build()).failed).toMatch(/Error: no such file[^]*\nThe build failed\.$/);
  });

  it('needs the dependencies', async () => {
    fs.rmSync(join(root, 'node_modules/electron-vite'), { recursive: true });
    expect((await build()).failed).toBe('The dependencies are not installed. Run: npm ci');
  });
});
