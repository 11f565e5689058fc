import { protocol, session, shell, type WebContents } from 'electron';
import { readFile } from 'node:fs/promises';
import { PAGE_HEADERS, pageFile } from '../hosts/page.ts';

/** The scheme is our own, so that no file and no server can have the same origin. */
const SCHEME = 'app';
const HOST = 'lockstep';
export const PAGE_ORIGIN = `${SCHEME}://${HOST}`;

const LINK_HOSTS = ['doi.org', 'arxiv.org', 'github.com', 'docs.nvidia.com', 'www.w3.org'];

/** Must be called before the application is ready. */
export function registerPageScheme(): void {
  protocol.registerSchemesAsPrivileged([
    { scheme: SCHEME, privileges: { standard: true, secure: true, supportFetchAPI: true, codeCache: true } },
  ]);
}

export function servePage(rendererFolder: string): void {
  protocol.handle(SCHEME, async (request) => {
    const url = new URL(request.url);
    const file = url.host === HOST && request.method === 'GET' ? await pageFile(rendererFolder, url.pathname) : null;
    if (!file) return new Response('There is no such page.\n', { status: 404, headers: { ...PAGE_HEADERS } });
    return new Response(await readFile(file.file), {
      headers: { ...PAGE_HEADERS, 'Content-Type': file.mediaType, 'Cache-Control': file.cacheControl },
    });
  });

  const pages = session.defaultSession;
  // The page needs only one permission: to write to the clipboard, for its "Copy" buttons.
  const allowed = (permission: string, origin: string) =>
    permission === 'clipboard-sanitized-write' && originOf(origin) === PAGE_ORIGIN;
  pages.setPermissionRequestHandler((contents, permission, answer) => answer(allowed(permission, contents.getURL())));
  pages.setPermissionCheckHandler((_contents, permission, origin) => allowed(permission, origin));
  pages.setDevicePermissionHandler(() => false);
  pages.on('will-download', (event, item) => {
    if (!item.getURL().startsWith(`blob:${PAGE_ORIGIN}/`)) event.preventDefault();
  });
  pages.webRequest.onBeforeRequest((request, answer) => {
    const { protocol: scheme } = new URL(request.url);
    answer({ cancel: ![`${SCHEME}:`, 'blob:', 'data:', 'devtools:'].includes(scheme) });
  });
}

export function confine(contents: WebContents): void {
  const stay = (event: { preventDefault(): void; readonly url: string }) => {
    if (originOf(event.url) !== PAGE_ORIGIN) event.preventDefault();
  };
  contents.on('will-navigate', stay);
  contents.on('will-redirect', stay);
  contents.on('will-frame-navigate', stay);
  contents.on('will-attach-webview', (event) => event.preventDefault());
  contents.setWindowOpenHandler(({ url }) => {
    const target = URL.canParse(url) ? new URL(url) : null;
    if (target?.protocol === 'https:' && LINK_HOSTS.includes(target.host)) void shell.openExternal(target.href);
    return { action: 'deny' };
  });
}

export function isPageUrl(url: string): boolean {
  return originOf(url) === PAGE_ORIGIN;
}

/** `URL.origin` is "null" for a scheme that Node does not know. */
function originOf(url: string): string | null {
  try {
    const { protocol: scheme, host } = new URL(url);
    return `${scheme}//${host}`;
  } catch {
    return null;
  }
}
