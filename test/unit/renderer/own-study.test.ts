import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { studySchema, type Study } from '../../../src-main/contract/study.ts';
import { validate } from '../../../src-main/contract/parse.ts';
import { assumedFacts, factText, inputFacts, kernelOrigin } from '../../../src-workers/domain/provenance.ts';
import type { GpuDevice } from '../../../src-workers/domain/device.ts';
import { fail, ok, unwrap } from '../../../src-workers/domain/result.ts';
import { originText } from '../../../src-renderer/format/origins.ts';
import { studyName } from '../../../src-main/contract/new-study.ts';
import { changeByFile } from '../../../src-renderer/shell/new-study.ts';
import type { App } from '../../../src-renderer/state/app.svelte.ts';
import { asOwn, withAxis, withFound, withGiven, withWorkload } from '../../../src-renderer/views/study/edit.ts';

const examples = join(import.meta.dirname, '..', '..', '..', 'db', 'examples');
function example(name: string): Study {
  return unwrap(validate(studySchema, JSON.parse(readFileSync(join(examples, `${name}.json`), 'utf8')), name));
}

/** Makes a page that imports files. Its engine only stores studies. */
function page(study: Study, isExample: boolean) {
  const studies = new Map<number, Study>([[1, study]]);
  const state = { opened: 1, notice: '', undo: null as (() => void) | null };
  const call = (name: string, input: { id: number; study: Study }) => {
    if (name === 'studies.duplicate') studies.set(2, { ...studies.get(input.id)!, name: 'copy' });
    else if (name === 'studies.save') studies.set(input.id, input.study);
    else if (name === 'studies.delete') studies.delete(input.id);
    else return Promise.resolve(fail('not-found', name));
    return Promise.resolve(ok({ id: name === 'studies.duplicate' ? 2 : input.id }));
  };
  const app = {
    engine: { call },
    editor: {
      id: 1,
      study,
      example: isExample,
      edit: (_field: string, _label: string, change: (one: Study) => Study) => studies.set(1, change(studies.get(1)!)),
    },
    library: { load: () => Promise.resolve() },
    location: { openStudy: (id: number) => (state.opened = id) },
    notices: { show: (text: string, undo: () => void) => Object.assign(state, { notice: text, undo }) },
  } as unknown as App;
  return { app, studies, state };
}

describe('a file that is imported into an example', () => {
  it('begins a new study, with no text of the example', () => {
    const acts = example('acts');
    const own = asOwn(acts, 'lengths');
    expect(own).toMatchObject({ name: 'lengths', description: '', kernel: { name: 'kernel' } });
    expect(JSON.stringify(own).toLowerCase()).not.toMatch(/acts propagation|propagate|detector/);
    expect(validate(studySchema, own, 'own').ok).toBe(true);
  });

  it.each(['acts', 'spmv-implementations', 'software', 'collatz'])(
    'has no given value from the kernel of %s, and lists the values of the example as assumed',
    (name) => {
      const own = asOwn(example(name), 'lengths');
      const gpu = { kind: 'gpu', id: 'any', threadGroupWidth: 32, sources: {} } as unknown as GpuDevice;
      const axes = {
        threadsPerUnit: [1, 64],
        loop: ['flattened'],
        balancing: ['none', 'merge-path'],
        registerCap: [16],
      };
      const implementations = own.implementations?.map((one) => ({ name: one.name, kernel: one.kernel, allows: {} }));
      const facts = inputFacts({ ...own, axes, implementations }, gpu).filter(({ field }) => field.includes('kernel.'));
      expect(facts.length).toBeGreaterThan(5);
      for (const { origin } of facts) expect(['example', 'assumed']).toContain(origin);
      expect(assumedFacts(facts)).toEqual(facts);
      for (const [device, { origin }] of Object.entries(own.pipeline))
        expect([device, origin]).toEqual([device, 'example']);
    },
  );

  it('is explained in words, and assumed values stay assumed', () => {
    const own = asOwn(example('acts'), 'lengths');
    expect(kernelOrigin(example('acts').kernel, 'registersPerThread')).not.toBe('assumed');
    expect(kernelOrigin(own.kernel, 'registersPerThread')).toBe('example');
    const fact = { field: 'kernel.registersPerThread', label: 'Registers per thread', value: 40, unit: '', note: '', usual: null }; // prettier-ignore
    expect(factText({ ...fact, origin: 'example' })).toBe('Registers per thread = 40 (from the example)');
    expect(originText('example', [24, 128])).toMatch(/^From the example: .* Usual: 24 to 128\.$/);
    expect(kernelOrigin(asOwn(example('spmv-implementations'), 'a').kernel, 'registersPerThread')).toBe('assumed');
  });

  it('keeps the values of the file as imported, and later input of the user as given', () => {
    const own = withFound(
      asOwn(example('acts'), 'walk'),
      { registersPerThread: 77 },
      { name: 'ns::walk<float>' },
      null,
    );
    expect(own.kernel.name).toBe('walk');
    expect(withFound(example('acts'), {}, { name: 'walk' }, null).kernel.name).toBe(example('acts').kernel.name);
    expect(kernelOrigin(own.kernel, 'registersPerThread')).toBe('imported');
    expect(kernelOrigin(own.kernel, 'instructionsPerIteration')).toBe('example');
    expect(kernelOrigin(withGiven(own, 'instructionsPerIteration', 9).kernel, 'instructionsPerIteration')).toBe(
      'given',
    );
  });

  it('does not change the example, and undo removes the new study', async () => {
    const acts = example('acts');
    const { app, studies, state } = page(acts, true);
    await changeByFile(app, 'steps.csv.gz', 'workload', 'steps.csv.gz imported', (s) =>
      withWorkload(s, { lengths: 'constant(3)' }),
    );
    expect(studies.get(1)).toBe(acts);
    expect(studies.get(2)).toMatchObject({ name: 'steps', description: '', workload: { lengths: 'constant(3)' } });
    expect(state.opened).toBe(2);
    expect(state.notice).toContain('“steps”');
    state.undo!();
    await new Promise((done) => setTimeout(done));
    expect([studies.has(2), state.opened]).toEqual([false, 1]);
  });

  it("changes the study if it is the user's own", async () => {
    const own = asOwn(example('acts'), 'mine');
    const { app, studies, state } = page(own, false);
    await changeByFile(app, 'steps.csv', 'workload', 'steps.csv imported', (s) =>
      withWorkload(s, { lengths: 'constant(3)' }),
    );
    expect([...studies.keys()]).toEqual([1]);
    expect(studies.get(1)).toMatchObject({ name: 'mine', workload: { lengths: 'constant(3)' } });
    state.undo!();
    expect(studies.get(1)).toEqual(own);
  });

  it('keeps blocks of two dimensions while its units are in rows', () => {
    const image = example('mandelbrot');
    expect(withWorkload(image, { units: 5 }).axes.blockWidth).toEqual(image.axes.blockWidth);
    const other = withWorkload(image, { lengths: 'example:collatz' });
    expect(other.axes).not.toHaveProperty('blockWidth');
    const own = withWorkload(other, { lengths: 'file:heights.csv' });
    const grid = withAxis(withWorkload(own, { width: 640 }), 'blockWidth', [16]);
    expect(withWorkload(grid, { units: 7 })).toEqual({ ...grid, workload: { ...grid.workload, units: 7 } });
    // Another file may have other rows.
    expect(withWorkload(grid, { lengths: 'file:others.csv' }).workload).not.toHaveProperty('width');
    expect(withWorkload(grid, { width: undefined }).axes).not.toHaveProperty('blockWidth');
  });

  it('has the name of the file', () =>
    expect(['web.csv.gz', 'a.b.mtx', 'lengths', '.csv', 'x'.repeat(300)].map(studyName)).toEqual([
      'web',
      'a.b',
      'lengths',
      '.csv',
      'x'.repeat(200),
    ]));
});
