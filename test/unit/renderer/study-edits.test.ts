import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { studyName } from '../../../src-main/contract/new-study.ts';
import { parseStudy, validate } from '../../../src-main/contract/parse.ts';
import { studySchema, type Study } from '../../../src-main/contract/study.ts';
import { differences } from '../../../src-main/services/runs/diff.ts';
import { atMiddle } from '../../../src-workers/advise/assumed.ts';
import { fieldLabel, fieldValue } from '../../../src-renderer/format/fields.ts';
import { originText } from '../../../src-renderer/format/origins.ts';
import { changeByFile } from '../../../src-renderer/shell/new-study.ts';
import type { App } from '../../../src-renderer/state/app.svelte.ts';
import * as edit from '../../../src-renderer/views/study/edit.ts';
import type { GpuDevice } from '../../../src-workers/domain/device.ts';
import * as provenance from '../../../src-workers/domain/provenance.ts';
import { fail, ok, unwrap } from '../../../src-workers/domain/result.ts';
import { term, type Term } from '../../../src-workers/domain/terms.ts';
import { gpu } from '../../catalogue.ts';

const { implementationKernel, kernelOrigin, kernelValue } = provenance;
const say: Term = (key) => term(key, 'cuda');
const words = { say, devices: [] };
const example = (name: string): Study => unwrap(parseStudy(readFileSync(`db/examples/${name}.json`, 'utf8')));

describe('implementations in the editor', () => {
  const study = example('acts');
  const two = edit.withNewImplementation(study);
  const kernelAt = (of: Study, at: number) => implementationKernel(of.kernel, of.implementations![at]);

  it('begin as copies of the kernel, each with its own name', () => {
    expect(two.implementations).toEqual([
      { name: 'propagate', kernel: {} },
      { name: 'propagate 2', kernel: {} },
    ]);
    const wanted = ['propagate', 'propagate 2', 'propagate 3'];
    expect(edit.withDuplicate(two, 1).implementations!.map(({ name }) => name)).toEqual(wanted);
    // The study format must accept what the editor writes.
    expect(unwrap(parseStudy(JSON.stringify(two))).implementations).toHaveLength(2);
  });

  it('may have their own values with an origin, and may follow the study again', () => {
    const given = edit.withGiven(two, 'registersPerThread', 99, 1);
    expect(given.kernel).toEqual(study.kernel);
    expect(kernelAt(given, 1).registersPerThread).toBe(99);
    expect(kernelOrigin(kernelAt(given, 1), 'registersPerThread')).toBe('given');
    expect(kernelAt(given, 0)).toEqual({ ...study.kernel, name: 'propagate', origins: study.kernel.origins ?? {} });
    expect(edit.withCommon(given, 'registersPerThread', 1)).toEqual(two);
    // An implementation whose origin is stated gets its own copy of the study's value.
    const measured = edit.withOrigin(two, 'instructionsPerIteration', 'measured', 1);
    expect(measured.implementations![1].kernel.instructionsPerIteration).toBe(study.kernel.instructionsPerIteration);
    const origins = [0, 1].map((at) => kernelOrigin(kernelAt(measured, at), 'instructionsPerIteration'));
    expect(origins).toEqual(['given', 'measured']);
  });

  it('have the values that a prediction assumes, until they are known', () => {
    const device = gpu('nvidia-a100-sxm4-40gb');
    const kernel = { name: 'k', registersPerThread: 40, instructionsPerIteration: 60 };
    const { kernel: own } = unwrap(parseStudy(JSON.stringify({ ...study, kernel })));
    const instructions = edit.withGiven({ ...two, kernel: own }, 'instructionsPerIteration', 22, 1);
    const laws = [undefined, { 'kernel.chainInstructions': [0.2, 0.5], 'kernel.combine': [8] }];
    for (const open of laws.map((assumed) => ({ ...instructions, assumed })))
      for (const at of [null, 1])
        for (const field of ['chainInstructions', 'combine', 'dependentLoadsPerIteration', 'unit'] as const) {
          const shown = edit.predictedKernelAt(open, at);
          expect(shown[field], field).toEqual(edit.kernelAt(atMiddle(open, [device]), at)[field]);
          expect(edit.kernelAt(edit.withOrigin(open, field, 'given', at), at)[field]).toEqual(shown[field]);
          const again = edit.withAssumed(edit.withNumber(open, field, 7, at), field, at);
          const { [field]: value, origins } = edit.predictedKernelAt(again, at);
          expect([value, origins?.[field]], field).toEqual([shown[field], 'assumed']);
          expect(kernelValue(edit.predictedKernelAt(edit.withNumber(open, field, 0, at), at), field)).toBe(0);
        }
    expect(edit.predictedKernelAt({ ...study, kernel: own }, null).combine).toEqual(provenance.assumedPhase('combine'));
  });

  it('may have arrays instead of one number of bytes, and have the number again without arrays', () => {
    const array = { pattern: 'along-unit', elementBytes: 8 } as const;
    const gather = { pattern: 'scattered', elementBytes: 4, footprintBytes: 4096 } as const;
    const all = edit.withAccesses(two, [array, gather]);
    expect(all.kernel).toMatchObject({ accesses: [array, gather], bytesPerIteration: 0 });
    expect(edit.ownReplaced(all.kernel, 'accesses')).toEqual(['accesses']);
    expect(edit.ownReplaced(all.kernel, 'bytesPerIteration')).toEqual(['accesses']);
    expect(kernelAt(all, 1).accesses).toEqual([array, gather]);
    const one = edit.withAccesses(edit.withGiven(two, 'bytesPerIteration', 20, 1), [gather], 1);
    expect(one.kernel).toEqual(study.kernel);
    expect(kernelAt(one, 1)).toMatchObject({ accesses: [gather], bytesPerIteration: 0 });
    expect(one.implementations![1].kernel).not.toHaveProperty('bytesPerIteration');
    // An implementation may have no accesses although the study lists some.
    const without = edit.withAccesses(all, [], 1);
    const none = { accesses: undefined, bytesPerIteration: 12 };
    expect(kernelAt(without, 1)).toMatchObject(none);
    expect(kernelAt(without, 0).accesses).toEqual([array, gather]);
    for (const edited of [all, one, without]) expect(parseStudy(JSON.stringify(edited)).ok).toBe(true);
    expect(edit.withAccesses(all, []).kernel).toMatchObject(none);
    const value = fieldValue('kernel.accesses', JSON.stringify([array, gather]), words);
    const expected = ['Memory accesses', '8 B along the unit, 4 B scattered in 4,096 B'];
    expect([fieldLabel('kernel.accesses', words), value]).toEqual(expected);
  });

  it('become the kernel if only one is left, with the axes that it allows', () => {
    const kernel = { ...study.kernel, origins: study.kernel.origins ?? {} };
    expect(edit.withoutImplementation(two, 1)).toEqual({ ...study, kernel });
    const left = edit.withoutImplementation(edit.withGiven(two, 'registersPerThread', 99, 1), 0);
    expect(left).not.toHaveProperty('implementations');
    expect(left.kernel).toMatchObject({ name: 'propagate 2', registersPerThread: 99 });
    const narrow = edit.withAllowed(two, 1, 'threadsPerUnit', [1]);
    expect(edit.withoutImplementation(narrow, 0)).toMatchObject({ axes: { ...study.axes, threadsPerUnit: [1] } });
    expect(edit.withoutImplementation(narrow, 1).axes).toEqual(study.axes);
    expect(edit.withAllowed(narrow, 1, 'threadsPerUnit', undefined)).toEqual(two);
  });

  it('are compared value by value, in words', () => {
    const fields = (changed: Study) => differences(two, changed, '').map(({ field }) => field);
    const field = 'implementations[1].kernel.serialFraction';
    expect(fields(edit.withGiven(two, 'serialFraction', 0.2, 1))).toContain(field);
    expect(fieldLabel(field, words)).toBe('Implementation 2: Serial fraction σ');
    expect(fieldLabel('implementations[1].name', words)).toBe('Implementation 2: name');
    expect(fields(edit.withDuplicate(two, 0))).toEqual(['implementations']);
  });
});

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
  const change = (one: Study) => edit.withWorkload(one, { lengths: 'constant(3)' });
  const importFile = (file: string) => changeByFile(app, file, 'workload', `${file} imported`, change);
  return { studies, state, importFile };
}

describe('a file that is imported into an example', () => {
  it('begins a new study, with no text of the example', () => {
    const own = edit.asOwn(example('acts'), 'lengths');
    expect(own).toMatchObject({ name: 'lengths', description: '', kernel: { name: 'kernel' } });
    expect(JSON.stringify(own).toLowerCase()).not.toMatch(/acts propagation|propagate|detector/);
    expect(validate(studySchema, own, 'own').ok).toBe(true);
  });

  it.each(['acts', 'spmv-implementations', 'software', 'collatz'])(
    'has no given value from the kernel of %s, and lists the values of the example as assumed',
    (name) => {
      const own = edit.asOwn(example(name), 'lengths');
      const gpu = { kind: 'gpu', id: 'any', threadGroupWidth: 32, sources: {} } as unknown as GpuDevice;
      const balancing = ['none', 'merge-path'];
      const axes = { threadsPerUnit: [1, 64], loop: ['flattened'], balancing, registerCap: [16] };
      const implementations = own.implementations?.map((one) => ({ name: one.name, kernel: one.kernel, allows: {} }));
      const inputs = provenance.inputFacts({ ...own, axes, implementations }, gpu);
      const facts = inputs.filter(({ field }) => field.includes('kernel.'));
      expect(facts.length).toBeGreaterThan(5);
      for (const { origin } of facts) expect(['example', 'assumed']).toContain(origin);
      expect(provenance.assumedFacts(facts)).toEqual(facts);
      for (const [device, { origin }] of Object.entries(own.pipeline))
        expect([device, origin]).toEqual([device, 'example']);
    },
  );

  it('is explained in words, and assumed values stay assumed', () => {
    const originOf = (study: Study) => kernelOrigin(study.kernel, 'registersPerThread');
    expect(originOf(example('acts'))).not.toBe('assumed');
    expect(originOf(edit.asOwn(example('acts'), 'lengths'))).toBe('example');
    expect(originOf(edit.asOwn(example('spmv-implementations'), 'a'))).toBe('assumed');
    const fact = { field: 'kernel.registersPerThread', label: 'Registers', value: 40, unit: '', note: '', usual: null };
    expect(provenance.factText({ ...fact, origin: 'example' })).toBe('Registers = 40 (from the example)');
    expect(originText('example', [24, 128])).toMatch(/^From the example: .* Usual: 24 to 128\.$/);
  });

  it('keeps the values of the file as imported, and later input of the user as given', () => {
    const named = (study: Study, found: object, name: string) => edit.withFound(study, found, { name }, null);
    const found = named(edit.asOwn(example('acts'), 'walk'), { registersPerThread: 77 }, 'ns::walk<float>');
    const { kernel, ...own } = found;
    expect(kernel.name).toBe('walk');
    expect(named(example('acts'), {}, 'walk').kernel.name).toBe(example('acts').kernel.name);
    expect(kernelOrigin(kernel, 'registersPerThread')).toBe('imported');
    expect(kernelOrigin(kernel, 'instructionsPerIteration')).toBe('example');
    const given = edit.withGiven({ ...own, kernel }, 'instructionsPerIteration', 9);
    expect(kernelOrigin(given.kernel, 'instructionsPerIteration')).toBe('given');
  });

  it('does not change the example, and undo removes the new study', async () => {
    const acts = example('acts');
    const { importFile, studies, state } = page(acts, true);
    await importFile('steps.csv.gz');
    expect(studies.get(1)).toBe(acts);
    expect(studies.get(2)).toMatchObject({ name: 'steps', description: '', workload: { lengths: 'constant(3)' } });
    expect([state.opened, state.notice]).toEqual([2, expect.stringContaining('“steps”')]);
    state.undo!();
    await new Promise((done) => setTimeout(done));
    expect([studies.has(2), state.opened]).toEqual([false, 1]);
  });

  it("changes the study if it is the user's own", async () => {
    const own = edit.asOwn(example('acts'), 'mine');
    const { importFile, studies, state } = page(own, false);
    await importFile('steps.csv');
    expect([...studies.keys()]).toEqual([1]);
    expect(studies.get(1)).toMatchObject({ name: 'mine', workload: { lengths: 'constant(3)' } });
    state.undo!();
    expect(studies.get(1)).toEqual(own);
  });

  it('keeps blocks of two dimensions while its units are in rows', () => {
    const image = example('mandelbrot');
    expect(edit.withWorkload(image, { units: 5 }).axes.blockWidth).toEqual(image.axes.blockWidth);
    const other = edit.withWorkload(image, { lengths: 'example:collatz' });
    expect(other.axes).not.toHaveProperty('blockWidth');
    const own = edit.withWorkload(other, { lengths: 'file:heights.csv' });
    const grid = edit.withAxis(edit.withWorkload(own, { width: 640 }), 'blockWidth', [16]);
    expect(edit.withWorkload(grid, { units: 7 })).toEqual({ ...grid, workload: { ...grid.workload, units: 7 } });
    // Another file may have other rows.
    expect(edit.withWorkload(grid, { lengths: 'file:others.csv' }).workload).not.toHaveProperty('width');
    expect(edit.withWorkload(grid, { width: undefined }).axes).not.toHaveProperty('blockWidth');
  });

  it('has the name of the file', () => {
    const names = ['web.csv.gz', 'a.b.mtx', 'lengths', '.csv', 'x'.repeat(300)].map(studyName);
    expect(names).toEqual(['web', 'a.b', 'lengths', '.csv', 'x'.repeat(200)]);
  });
});
