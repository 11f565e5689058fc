import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BrowserWindow, session } from 'electron';
import { ok, unwrap } from '../../src-workers/domain/result.ts';
import { inTemporaryFolder } from '../services/files/temporary-folder.ts';

/** A name without `persist:` keeps the session in memory. */
const PARTITION = 'print';

/** Uses a hidden window without access to other pages. Throws if the page cannot be printed. */
export async function printedPage(html: string): Promise<Uint8Array> {
  return unwrap(
    await inTemporaryFolder(async (folder) => {
      const page = join(folder, 'page.html');
      await writeFile(page, html);
      session.fromPartition(PARTITION).webRequest.onBeforeRequest(({ url }, answer) => {
        const { protocol } = new URL(url);
        answer({ cancel: protocol !== 'file:' && protocol !== 'data:' });
      });
      const window = new BrowserWindow({
        show: false,
        webPreferences: { partition: PARTITION, sandbox: true, contextIsolation: true, nodeIntegration: false },
      });
      try {
        await window.loadFile(page);
        return ok(await window.webContents.printToPDF({ printBackground: true }));
      } finally {
        window.destroy();
      }
    }),
  );
}
