import { realpath, stat } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';

export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  // Charts and formulas position labels by style attributes. Scripts and style elements are allowed only as files.
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
};

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.md': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
  '.ttf': 'font/ttf',
  '.wasm': 'application/wasm',
};

export interface PageFile {
  readonly file: string;
  readonly bytes: number;
  readonly mediaType: string;
  readonly cacheControl: string;
}

/** Serves only regular files of known types. Symbolic links are resolved, and must not lead out of the folder. */
export async function pageFile(rendererFolder: string, urlPath: string): Promise<PageFile | null> {
  let path: string;
  try {
    path = decodeURIComponent(urlPath);
  } catch {
    return null;
  }
  if (path === '/') path = '/index.html';
  const segments = path.split('/').slice(1);
  if (!path.startsWith('/') || segments.some((segment) => segment === '' || segment.startsWith('.'))) return null;
  if (/[\\:\0]/.test(path)) return null;
  const mediaType = MEDIA_TYPES[extname(path).toLowerCase()];
  if (!mediaType) return null;
  try {
    const folder = await realpath(rendererFolder);
    const file = await realpath(join(folder, ...segments));
    const found = await stat(file);
    if (!file.startsWith(folder + sep) || !found.isFile()) return null;
    const hashed = segments[0] === 'assets' && /-[\w-]{8,}\.\w+$/.test(path);
    return {
      file,
      bytes: found.size,
      mediaType,
      cacheControl: hashed ? 'public, max-age=31536000, immutable' : 'no-cache',
    };
  } catch {
    return null;
  }
}
