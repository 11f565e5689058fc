import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { chromium, type Page } from '@playwright/test';
import { WebSocket } from 'ws';
import { encodeMessage, ENGINE_PATH, ENGINE_PROTOCOL, MAX_REQUEST_BYTES } from '../../src-main/contract/transport.ts';
import { inFolder } from '../db/sample.ts';
import { chromiumOptions } from '../e2e/fixtures/chromium.ts';
import { startHost, type RunningHost } from '../e2e/fixtures/host.ts';
import { ROOT } from '../e2e/fixtures/program.ts';
import { findTool } from '../tools.mjs';
import { call, ended, testEngine } from '../unit/engine-calls.ts';
import { HOSTILE, smallStudy } from '../unit/export-runs.ts';
import { inMegabytes, oneOf, wholeBelow, type Report, type Section } from './report.ts';

// From outside: requests that no browser sends.

/** Longest wait for an answer of the host, ms. The host has no other work. */
const PATIENCE_MS = 20_000;

/** Sends raw bytes. Returns the answer until the other side ends, or the head of an accepted upgrade. */
function raw(port: number, request: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect({ port, host: '127.0.0.1' });
    const done = (): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(PATIENCE_MS, done);
    socket.on('error', done).on('close', done);
    socket.on('data', (data: Buffer) => {
      answer += data.toString('latin1');
      if (/^HTTP\/1\.1 101 /.test(answer)) done();
    });
    socket.write(request, 'latin1');
  });
}
const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? 0);

/** Makes an upgrade request. If its token, host name or origin is wrong, the host must refuse the request. */
function upgrade({ port, address }: RunningHost, { uniform }: Report) {
  const token = new URL(address).searchParams.get('token')!;
  const right = uniform() < 0.05;
  const choose = <T>(good: T, bad: readonly T[]): T => (right || uniform() < 0.5 ? good : oneOf(uniform, bad));
  const offered = choose(`${ENGINE_PROTOCOL}, ${token}`, [ENGINE_PROTOCOL, '', `${ENGINE_PROTOCOL}, ${token}x`, `${ENGINE_PROTOCOL}, ${token.slice(1)}`, `${ENGINE_PROTOCOL}, ${token.toLowerCase()}x`, `${ENGINE_PROTOCOL}, ${'a'.repeat(5000)}`, `${ENGINE_PROTOCOL}; ${token}`]); // prettier-ignore
  const name = `127.0.0.1:${port}`;
  const host = choose(name, ['evil.example', `evil.example:${port}`, '127.0.0.1.evil.example', `127.0.0.1@evil.example`, '0.0.0.0', '10.0.0.1', '[::]', '2130706433', '127.1', '']); // prettier-ignore
  const origin = choose(`http://${name}`, ['http://evil.example', 'null', `http://127.0.0.1:${port + 1}`, `https://${name}`, `http://${name}.evil.example`, `http://${name}/`, 'http://localhost', '']); // prettier-ignore
  const path = choose(ENGINE_PATH, ['/', '/engine2', `${ENGINE_PATH}/`, '/ENGINE', '/%65ngine2', '//engine', `/../engine/..`]); // prettier-ignore
  const isOffered = offered.endsWith(token) && offered.startsWith(`${ENGINE_PROTOCOL},`);
  const good = isOffered && host === name && origin === `http://${name}` && path === ENGINE_PATH;
  const cookie = uniform() < 0.3 ? `Cookie: token=${token}\r\n` : '';
  const query = uniform() < 0.3 ? `?token=${token}` : '';
  const originLine = origin === '' ? '' : `Origin: ${origin}\r\n`;
  const request = `GET ${path}${query} HTTP/1.1\r\nHost: ${host}\r\n${originLine}${cookie}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: ${offered}\r\n\r\n`;
  return { request, right: good };
}

const SEGMENTS = ['..', '.', '%2e%2e', '%2E.', '..%2f', '..%5c', '%5c..', '\\..', '%00', '%252e%252e', 'assets', 'index.html', 'package.json', 'etc', 'passwd', '.env', 'main', 'serve.js', 'C:', '', '%c0%ae%c0%ae', '%E0%A4%A', 'nul', '~', 'renderer', 'a'.repeat(300)]; // prettier-ignore

async function fromOutside(report: Report, host: RunningHost, requests: number): Promise<void> {
  const { uniform } = report;
  const { port } = host;
  const files = readdirSync(join(ROOT, 'out/renderer'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
  let accepted = 0;
  for (let i = 0; i < requests; i++) {
    const at = `request ${i} of seed ${report.seed}`;
    if (i % 2 === 0) {
      const { request, right } = upgrade(host, report);
      const status = statusOf(await raw(port, request));
      if (right) accepted++;
      if ((status === 101) !== right || (!right && (status < 400 || status >= 500)))
        report.fail(`${at}: status ${status}, ${right ? 'a right' : 'a wrong'} upgrade: ${request.slice(0, 500)}`);
      continue;
    }
    const path = `/${Array.from({ length: 1 + wholeBelow(uniform, 5) }, () => oneOf(uniform, SEGMENTS)).join('/')}`;
    const method = oneOf(uniform, ['GET', 'GET', 'GET', 'GET', 'HEAD', 'POST', 'PUT', 'TRACE', 'OPTIONS']);
    const name = oneOf(uniform, [`127.0.0.1:${port}`, `localhost:1`, '[::1]', 'evil.example']);
    const answer = await raw(port, `${method} ${path} HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`);
    const status = statusOf(answer);
    const body = answer.slice(answer.indexOf('\r\n\r\n') + 4);
    if (status === 200 && (name === 'evil.example' || !(method === 'HEAD' ? body === '' : files.includes(body))))
      report.fail(`${at}: ${method} ${path} of ${name} returns something that is not a file of the page`);
    if (status !== 200 && (status < 400 || status >= 500)) report.fail(`${at}: ${method} ${path} has status ${status}`);
  }
  report.figure('requests with wrong tokens, hosts, origins, paths', requests);
  report.figure('accepted upgrades, all with the right token', accepted);
}

const descriptorsOf = (pid: number): number =>
  process.platform === 'linux' ? readdirSync(`/proc/${pid}/fd`).length : 0;
/** Returns the memory of a process in bytes; 0 where it is not known. */
export const memoryOf = (pid: number): number =>
  process.platform === 'linux'
    ? 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
    : 0;

/** Opens a socket of the engine with the right token; null if it is refused. */
export function page({ port, address }: RunningHost): Promise<WebSocket | null> {
  const token = new URL(address).searchParams.get('token')!;
  const socket = new WebSocket(`ws://127.0.0.1:${port}${ENGINE_PATH}`, [ENGINE_PROTOCOL, token], { headers: { origin: `http://127.0.0.1:${port}` } }); // prettier-ignore
  return new Promise((resolve) => socket.once('open', () => resolve(socket)).on('error', () => resolve(null)));
}

async function sizes(report: Report, host: RunningHost, many: number): Promise<void> {
  const { port, pid } = host;
  const before = { descriptors: descriptorsOf(pid), memory: memoryOf(pid) };

  const long = 'x'.repeat(2 ** 20);
  for (const request of [
    `GET /${long} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ${long}\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n${'X: y\r\n'.repeat(100_000)}\r\n`,
    long,
  ]) {
    const status = statusOf(await raw(port, request));
    if (status < 400 || status >= 500) report.fail(`A request of ${request.length} bytes has status ${status}.`);
  }

  // The test holds two kinds of sockets open: upgrades that are refused, and requests that are never complete.
  const sockets: Socket[] = [];
  for (let i = 0; i < many; i++) {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => socket.destroy()).resume();
    socket.write(i % 2 === 0 ? `GET ${ENGINE_PATH} HTTP/1.1\r\nHost: evil.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n` : 'GET / HTTP/1.1\r\nHost: 127'); // prettier-ignore
    sockets.push(socket);
  }
  await setTimeout(3000);
  const held = descriptorsOf(pid) - before.descriptors;
  // Node waits a minute for the rest of an incomplete request. A refused socket must be closed at once.
  if (held > many / 2 + 10)
    report.fail(`After ${many} sockets, half of them refused, the host still holds ${held} more descriptors.`);

  // The first frames announce more than the limit, the next two are not valid, and the last connection breaks off.
  const longFrame = (bytes: number): Buffer =>
    Buffer.concat([Buffer.of(0x82, 0xff), longLength(bytes), Buffer.alloc(1000)]);
  for (const send of [
    (socket: Socket) => socket.write(longFrame(MAX_REQUEST_BYTES + 1)),
    (socket: Socket) => socket.write(longFrame(2 ** 52)),
    (socket: Socket) => socket.write(Buffer.of(0xff, 0xff, 0xff, 0xff)),
    (socket: Socket) => socket.write(Buffer.of(0x82, 0x05, 1, 2, 3, 4, 5)), // The frame is not masked.
    (socket: Socket) => socket.resetAndDestroy(),
  ]) {
    const opened = await page(host);
    if (!opened) report.fail('A page with the right token was refused.');
    else {
      const closed = new Promise<boolean>((resolve) => opened.once('close', () => resolve(true)));
      send((opened as unknown as { readonly _socket: Socket })._socket);
      const ended = await Promise.race([closed, setTimeout(PATIENCE_MS, false, { ref: false })]);
      if (!ended) report.fail('A page that sent a broken frame was not closed.');
      opened.terminate();
    }
  }
  for (let i = 0; i < many; i++) {
    const opened = await page(host);
    if (!opened) continue;
    const frame = Buffer.from(encodeMessage({ id: 1, name: 'app.info', input: {} }));
    for (let changes = 1 + wholeBelow(report.uniform, 6); changes > 0; changes--)
      frame[wholeBelow(report.uniform, frame.length)] = wholeBelow(report.uniform, 256);
    opened.send(frame.subarray(0, 1 + wholeBelow(report.uniform, frame.length)));
    opened.send(encodeMessage({ id: 2, name: 'app.info', input: {} }));
    const answered = new Promise<boolean>((resolve) => {
      opened.once('message', () => resolve(true)).once('close', () => resolve(true));
    });
    if (!(await Promise.race([answered, setTimeout(PATIENCE_MS, false, { ref: false })])))
      report.fail(`Frame ${i} of seed ${report.seed} gets no answer.`);
    opened.terminate();
  }

  const pages = await Promise.all(Array.from({ length: 80 }, () => page(host)));
  const open = pages.filter((one) => one !== null);
  if (open.length > 64) report.fail(`${open.length} pages are open at once.`);
  for (const one of open) one.terminate();

  for (const socket of sockets) socket.destroy();
  let after = descriptorsOf(pid);
  for (let i = 0; i < 50 && after > before.descriptors + 5; i++, after = descriptorsOf(pid)) await setTimeout(200);
  if (after > before.descriptors + 5) report.fail(`The host holds ${after} descriptors, ${before.descriptors} before.`);
  if (!(await page(host).then((one) => (one?.terminate(), one))))
    report.fail('Afterwards a page with the token is refused.');
  report.figure('half-open sockets, broken frames', `${many}, ${many + 5}`);
  report.figure('descriptors of the host before and after', `${before.descriptors}, ${after}`);
  report.figure('memory of the host before and after', `${inMegabytes(before.memory)}, ${inMegabytes(memoryOf(pid))}`);
}
function longLength(bytes: number): Buffer {
  const length = Buffer.alloc(12); // The mask of the frame consists of zeros.
  length.writeBigUInt64BE(BigInt(bytes));
  return length;
}

// From inside: a page that shows names which are markup, in a real Chromium.

/** Makes data of all kinds whose names contain markup. Returns the ids of a study, its sweep and an import. */
async function hostileDatabase(databaseFile: string) {
  const engine = await testEngine(databaseFile);
  const name = HOSTILE.replaceAll('\0', '').slice(0, 190);
  const study = smallStudy({
    name,
    description: HOSTILE,
    kernel: { ...smallStudy().kernel, name },
    devices: ['nvidia-a100-sxm4-40gb', 'hostile'],
    axes: { threadsPerUnit: [1, 4], blockThreads: [64, 128], blocksPerMultiprocessor: [2, 4] },
  });
  const [gpu] = await call(engine, 'devices.get', { ids: ['nvidia-a100-sxm4-40gb'] });
  await call(engine, 'devices.save', { device: { ...gpu, id: 'hostile', name } });
  const { id: studyId } = await call(engine, 'studies.save', { study });
  const run = await ended(engine, 'runs.start', { studyId });
  await call(engine, 'runs.update', { id: run.id, name, note: HOSTILE, tags: [name.slice(0, 60)] });
  const cache = { k1: { [name]: 1, time: 1.5 }, k2: { [name]: name, time: 2.5 } };
  const text = JSON.stringify({ device_name: name, kernel_name: name, tune_params_keys: [name], cache });
  const imported = await call(engine, 'import.file', { fileName: `${name}.json`, bytes: Buffer.from(text) });
  await ended(engine, 'simulations.start', { runId: run.id, top: 2, maxReplications: 5 });
  await engine.close();
  return { studyId, runId: run.id, importId: imported.runId };
}

const injected = (target: Page): Promise<readonly string[]> =>
  Promise.all(
    target.frames().map(
      (frame) =>
        frame
          .evaluate(() => {
            const found: string[] = [];
            for (const element of document.querySelectorAll('*')) {
              const handlers = element.getAttributeNames().filter((name) => /^on/i.test(name));
              // The preview of a report contains a script of ours, which is not counted.
              const code = element.tagName === 'SCRIPT' && /alert\(1\)/.test(element.textContent);
              const link = /^javascript:/i.test(element.getAttribute('href') ?? '');
              const image = element.tagName === 'IMG' && element.getAttribute('src') === 'x';
              if (handlers.length > 0 || code || link || image) found.push(element.outerHTML.slice(0, 200));
            }
            return found;
          })
          .catch(() => []), // The frame has gone.
    ),
  ).then((lists) => lists.flat());

const VIEWS: readonly string[] = ['study', 'landscape', 'landscape?shape=slices', 'ranking', 'compare', 'measure', 'models', ...['html', 'markdown', 'csv', 'cuda', 'svg', 'json'].map((format) => `export?format=${format}`)]; // prettier-ignore

async function fromInside(report: Report, folder: string, wanted: readonly string[] | null): Promise<void> {
  const databaseFile = join(folder, 'hostile.db');
  const { studyId, runId, importId } = await hostileDatabase(databaseFile);
  const host = await startHost(databaseFile);
  const browser = await chromium.launch(chromiumOptions());
  try {
    const target = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    let dialogs = 0;
    let outside = 0;
    target.on('dialog', (dialog) => void (dialogs++, dialog.dismiss()));
    target.on('request', (request) => {
      const url = new URL(request.url());
      if (/^(https?|wss?):$/.test(url.protocol) && url.host !== `127.0.0.1:${host.port}`) outside++;
    });
    const at = `study=${studyId}`;
    const views = wanted ?? [...VIEWS, `measure?run=${importId}`, `runs?selected=${runId}`, `runs?selected=${importId}`]; // prettier-ignore
    await target.goto(host.address);
    await target.locator('main').getByRole('heading', { level: 1 }).waitFor();
    let shown = 0;
    for (const view of views) {
      await target.evaluate((hash) => void (location.hash = hash), `#/${view}${view.includes('?') ? '&' : '?'}${at}`);
      await setTimeout(1000);
      for (const element of await injected(target)) report.fail(`${view}: a name became markup: ${element}`);
      const text = await target.evaluate(() => document.body.innerText);
      if (/<script>alert\(1\)/.test(text)) shown++;
    }
    // If few views show the names, the test has shown nothing.
    if (shown < views.length / 2) report.fail(`Only ${shown} of ${views.length} views show the hostile names.`);
    if (dialogs > 0) report.fail(`${dialogs} scripts from names ran.`);
    report.figure('views with names that are markup', `${views.length}, ${shown} show them as text`);

    const reached = await target.evaluate(async () => {
      const attempt = async (body: () => unknown): Promise<boolean> => {
        try {
          return Boolean(await body());
        } catch {
          return false;
        }
      };
      // Playwright may evaluate a text as code. After a timer, code belongs to the page and is under its policy.
      await new Promise((resolve) => window.setTimeout(resolve, 0));
      const script = document.createElement('script');
      script.textContent = 'globalThis.inlineRan = true';
      document.head.append(script);
      const image = document.createElement('div');
      image.innerHTML = '<img src=x onerror="globalThis.handlerRan = true">';
      document.body.append(image);
      const found = {
        Node: ['process', 'require', 'module', 'Buffer', 'global', '__dirname'].some((name) => name in globalThis),
        'code from a text': await attempt(() => new Function('return 1')() as unknown),
        'another server': await attempt(() => fetch('http://localhost:1/').then(() => true)),
        'a file': await attempt(() => fetch('file:///etc/passwd').then(() => true)),
        'another socket': await attempt(() => new WebSocket('ws://localhost:1/').url),
      };
      await new Promise((resolve) => window.setTimeout(resolve, 500));
      const markup = {
        'an inline script': 'inlineRan' in globalThis,
        'a handler in markup': 'handlerRan' in globalThis,
      };
      return { ...found, ...markup };
    });
    for (const [what, is] of Object.entries(reached))
      if (is && what !== 'another socket') report.fail(`The page reaches ${what}.`);
    // A socket object exists before the policy refuses the connection, so only data that leaves counts.
    if (outside > 0) report.fail(`${outside} requests left for another server.`);
    report.figure('the page reaches', 'no Node, no other server, no code from a text');
  } finally {
    await browser.close();
    await host.interrupt();
  }
}

export async function verifyHost(
  report: Report,
  requests: number,
  views: readonly string[] | null = null,
): Promise<void> {
  await inFolder(async (folder) => {
    const host = await startHost(join(folder, 'attacked.db'));
    try {
      await fromOutside(report, host, requests);
      await sizes(report, host, Math.min(200, requests));
    } finally {
      const code = await host.interrupt();
      if (code !== 0) report.fail(`The host ended with ${code}: ${host.output().slice(-2000)}`);
    }
    if (findTool('chromium') === null) report.figure('names that are markup', 'skipped: Chromium is missing');
    else await fromInside(report, folder, views);
  });
}

export const section: Section = {
  what: 'the browser host: tokens, hosts, origins, paths, sizes; the page: markup, Node, other servers',
  amount: { full: 5000, quick: 200, unit: 'requests' },
  run: verifyHost,
};
