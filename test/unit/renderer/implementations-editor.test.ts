import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseStudy } from '../../../src-main/contract/parse.ts';
import { differences } from '../../../src-main/services/runs/diff.ts';
import { fieldLabel, fieldValue } from '../../../src-renderer/format/fields.ts';
import * as edit from '../../../src-renderer/views/study/edit.ts';
import { implementationKernel, kernelOrigin, KERNEL_INPUTS } from '../../../src-workers/domain/provenance.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { term } from '../../../src-workers/domain/terms.ts';

const study = unwrap(parseStudy(readFileSync('db/examples/acts.json', 'utf8')));
const two = edit.withNewImplementation(study);
const kernelAt = (of: typeof study, at: number) => implementationKernel(of.kernel, of.implementations![at]);

describe('implementations in the editor', () => {
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
    const assumed = kernelAt(edit.withAssumed(given, 'registersPerThread', 1), 1);
    expect(assumed.registersPerThread).toBe(KERNEL_INPUTS.registersPerThread.assumed);
    expect(kernelOrigin(assumed, 'registersPerThread')).toBe('assumed');
  });

  it('may have arrays instead of one number of bytes, and have the number again without arrays', () => {
    const array = { pattern: 'along-unit', elementBytes: 8 } as const;
    const gather = { pattern: 'scattered', elementBytes: 4, footprintBytes: 4096 } as const;
    const all = edit.withAccesses(two, [array, gather]);
    expect(all.kernel).toMatchObject({ accesses: [array, gather], bytesPerIteration: 0 });
    expect(kernelOrigin(all.kernel, 'accesses')).toBe('given');
    expect(kernelAt(all, 1).accesses).toEqual([array, gather]);
    const one = edit.withAccesses(edit.withGiven(two, 'bytesPerIteration', 20, 1), [gather], 1);
    expect(one.kernel).toEqual(study.kernel);
    expect(kernelAt(one, 1)).toMatchObject({ accesses: [gather], bytesPerIteration: 0 });
    expect(one.implementations![1].kernel).not.toHaveProperty('bytesPerIteration');
    // An implementation may have no accesses although the study lists some.
    const without = edit.withAccesses(all, [], 1);
    expect(kernelAt(without, 1)).toMatchObject({ accesses: undefined, bytesPerIteration: 12 });
    expect(kernelAt(without, 0).accesses).toEqual([array, gather]);
    for (const edited of [all, one, without]) expect(parseStudy(JSON.stringify(edited)).ok).toBe(true);
    expect(edit.withAccesses(all, []).kernel).toMatchObject({ accesses: undefined, bytesPerIteration: 12 });
    const words = { say: (key: Parameters<typeof term>[0]) => term(key, 'cuda'), devices: [] };
    expect(fieldLabel('kernel.accesses', words)).toBe('Memory accesses');
    expect(fieldValue('kernel.accesses', JSON.stringify([array, gather]), words)).toBe(
      '8 B along the unit, 4 B scattered in 4,096 B',
    );
  });

  it("get the study's value as their own once an origin is stated", () => {
    const measured = edit.withOrigin(two, 'instructionsPerIteration', 'measured', 1);
    expect(measured.implementations![1].kernel.instructionsPerIteration).toBe(study.kernel.instructionsPerIteration);
    expect(kernelOrigin(kernelAt(measured, 1), 'instructionsPerIteration')).toBe('measured');
    expect(kernelOrigin(kernelAt(measured, 0), 'instructionsPerIteration')).toBe('given');
  });

  it('become the kernel if only one is left, with the axes that it allows', () => {
    expect(edit.withoutImplementation(two, 1)).toEqual({
      ...study,
      kernel: { ...study.kernel, origins: study.kernel.origins ?? {} },
    });
    const left = edit.withoutImplementation(edit.withGiven(two, 'registersPerThread', 99, 1), 0);
    expect(left).not.toHaveProperty('implementations');
    expect(left.kernel).toMatchObject({ name: 'propagate 2', registersPerThread: 99 });
    const narrow = edit.withAllowed(two, 1, 'threadsPerUnit', [1]);
    expect(edit.withoutImplementation(narrow, 0)).toMatchObject({ axes: { ...study.axes, threadsPerUnit: [1] } });
    expect(edit.withoutImplementation(narrow, 0)).not.toHaveProperty('implementations');
    expect(edit.withoutImplementation(narrow, 1).axes).toEqual(study.axes);
    expect(edit.withAllowed(narrow, 1, 'threadsPerUnit', undefined)).toEqual(two);
  });

  it('are compared value by value, in words', () => {
    const given = edit.withGiven(two, 'serialFraction', 0.2, 1);
    expect(differences(two, given, '').map(({ field }) => field)).toContain('implementations[1].kernel.serialFraction');
    const words = { say: (key: Parameters<typeof term>[0]) => term(key, 'cuda'), devices: [] };
    expect(fieldLabel('implementations[1].kernel.serialFraction', words)).toBe('Implementation 2: Serial fraction σ');
    expect(fieldLabel('implementations[1].name', words)).toBe('Implementation 2: name');
    expect(differences(two, edit.withDuplicate(two, 0), '').map(({ field }) => field)).toEqual(['implementations']);
  });
});
