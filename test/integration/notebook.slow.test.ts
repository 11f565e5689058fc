import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lockstep } from '../command-line.ts';
import { findTool, lacks } from '../tools.mjs';
import { testFolder } from '../workplace.ts';

interface Output {
  readonly data?: Readonly<Record<string, string | readonly string[]>>;
}
interface Notebook {
  readonly cells: readonly { readonly execution_count?: number; readonly outputs?: readonly Output[] }[];
}

/** Code for the last cells of the notebook, which use pandas and Matplotlib. */
const PLOTS = [
  'import pandas\n\nframe = lockstep.frame(run)\nassert isinstance(frame, pandas.DataFrame)\nframe[["threadsPerUnit", "predictedMs"]].head(2)',
  'axes = lockstep.plot(loss)\nassert [line.get_xdata().tolist() for line in axes.lines][0] == [2, 4, 8, 16, 32]\naxes',
  'lockstep.plot(run)',
];

describe.skipIf(lacks('nbconvert'))('nbconvert itself', () => {
  it('runs the example notebook with its saved outputs, a table of pandas and plots of Matplotlib', async () => {
    const folder = testFolder();
    const at = (name: string): string => join(folder, name);
    const examples = join(import.meta.dirname, '../../db/examples');
    for (const name of ['acts.json', 'acts-propagation-steps.csv']) copyFileSync(join(examples, name), at(name));
    expect(await lockstep('python', '-o', at('lockstep.py'))).toMatchObject({ status: 0, err: '' });
    const example = JSON.parse(readFileSync(join(examples, 'lockstep.ipynb'), 'utf8')) as Notebook;
    const more = PLOTS.map((source, cell) => ({
      cell_type: 'code',
      execution_count: null,
      id: `plot-${cell}`,
      metadata: {},
      outputs: [],
      source: [source],
    }));
    writeFileSync(at('example.ipynb'), JSON.stringify({ ...example, cells: [...example.cells, ...more] }));
    const { LOCKSTEP: _, ...rest } = process.env;
    const words = ['-m', 'nbconvert', '--to', 'notebook', '--execute', '--output', 'done.ipynb', 'example.ipynb'];
    execFileSync(findTool('nbconvert')!, words, {
      cwd: folder,
      env: { ...rest, HOME: folder, XDG_DATA_HOME: folder },
      stdio: 'pipe',
    });
    const done = JSON.parse(readFileSync(at('done.ipynb'), 'utf8')) as Notebook;
    const cells = example.cells.map((cell, at) =>
      cell.outputs
        ? { ...cell, execution_count: done.cells[at].execution_count, outputs: done.cells[at].outputs }
        : cell,
    );
    // `vitest -u` writes the outputs of the notebook anew.
    const executed = `${JSON.stringify({ ...example, cells }, null, 1)}\n`;
    await expect(executed).toMatchFileSnapshot(join(examples, 'lockstep.ipynb'));
    const [table, loss, times] = done.cells.slice(-PLOTS.length).map(({ outputs }) => outputs!);
    expect(String(table[0].data!['text/html'])).toMatch(/<table[\s\S]*threadsPerUnit/);
    for (const outputs of [loss, times]) {
      const picture = outputs.find(({ data }) => data?.['image/png'])!.data!['image/png'] as string;
      const png = Buffer.from(picture, 'base64');
      expect(png.subarray(1, 4).toString()).toBe('PNG');
      // An empty plot would have only a few hundred bytes.
      expect(png.length).toBeGreaterThan(5000);
    }
  });
});
