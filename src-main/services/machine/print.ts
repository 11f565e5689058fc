import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ok, type Result, notFound, unsupported } from '../../../src-workers/domain/result.ts';
import { findProgram, pathFolders, runTool } from '../../../src-workers/bench/tool.ts';
import { CHROMIUM_NAMES } from './chromium.mjs';
import { inTemporaryFolder } from '../files/temporary-folder.ts';

/** The time limit of a print, ms. A page with a few plots takes a second, but a busy machine starts browsers slowly. */
const PRINT_LIMIT_MS = 60_000;

/**
 * Prints a page to PDF with the headless Chromium in LOCKSTEP_CHROMIUM, or one in PATH. Fails with `not-found` if there
 * is none, and with `unsupported` if it prints nothing.
 */
export async function printedPage(html: string): Promise<Result<Uint8Array>> {
  const browser = process.env.LOCKSTEP_CHROMIUM ?? (await findProgram(CHROMIUM_NAMES, pathFolders(process.env)));
  if (browser === null)
    return notFound(
      'Printing a PDF needs Chromium, which is not in PATH. Install Chromium, set LOCKSTEP_CHROMIUM to its path, or save the PDF in the desktop app.',
    );
  return inTemporaryFolder(async (folder): Promise<Result<Uint8Array>> => {
    const [page, file] = [join(folder, 'page.html'), join(folder, 'page.pdf')];
    await writeFile(page, html);
    const flags = ['--headless', '--disable-gpu', '--no-first-run', '--no-pdf-header-footer'];
    // As root, Chromium needs this flag. The page is our own, and its policy blocks all requests.
    if (process.getuid?.() === 0) flags.push('--no-sandbox');
    const ran = await runTool(
      browser,
      [...flags, `--user-data-dir=${join(folder, 'profile')}`, `--print-to-pdf=${file}`, pathToFileURL(page).href],
      { timeLimitMs: PRINT_LIMIT_MS },
    );
    if (!ran.ok) return ran;
    const pdf = await readFile(file).catch(() => null);
    return pdf === null
      ? unsupported(`${browser} printed nothing: ${ran.value.stderr.trim().split('\n').at(-1) ?? ''}`)
      : ok(pdf);
  });
}
