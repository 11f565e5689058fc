import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findNvcc } from '../../src-workers/bench/cuda/compile.ts';
import { COMPILE_FLAGS, cudaPlan, LINK_FLAGS, type CudaObject } from '../../src-workers/bench/cuda/plan.ts';
import { parsePtxas, type KernelUsage } from '../../src-workers/bench/cuda/ptxas.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import {
  EMULATED_NAME,
  NO_FILES,
  ofType,
  planOf,
  recordsOf,
  runToEnd,
  SOURCES,
  unitLoop,
  WORKLOAD,
} from './bench-cuda-plans.ts';

const found = await findNvcc(process.env);
const nvcc = found.ok ? found.value : null;
/** From the oldest that nvcc 13 knows to one of the newest. */
const ARCHITECTURES = ['sm_75', 'sm_80', 'sm_90', 'sm_120'];
/** The least that the assembler accepts. */
const CAP = 24;
/** Enough steps at once that the loop wants more registers than that. */
const PROFILE = { parallelSteps: 47, serialSteps: 3, dependentLoads: 2, tableWords: 2 ** 25 };

describe.skipIf(nvcc === null)(
  `the CUDA sources under nvcc${found.ok ? '' : ` (skipped: ${found.error.message})`}`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'lockstep-nvcc-'));
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    const kernels = new Map<string, readonly KernelUsage[]>();
    const said: string[] = [];
    const objectOf = ({ name }: CudaObject): string => join(folder, `${name}.o`);
    let objects: readonly CudaObject[];

    beforeAll(async () => {
      const cases = [unitLoop('free', {}), unitLoop('capped', { registerCap: CAP })];
      const workload = { ...WORKLOAD, lengths: Uint32Array.of(1), profile: PROFILE };
      objects = unwrap(await cudaPlan(planOf(cases, { workload }), NO_FILES)).objects;
      // Both cores: the host program takes as long as the unit loops together.
      await Promise.all(
        [[objects[0]!], objects.slice(1)].map(async (several) => {
          for (const object of several) {
            const flags = [
              ...COMPILE_FLAGS,
              ...ARCHITECTURES.flatMap((name) => ['-gencode', `arch=${name.replace('sm', 'compute')},code=${name}`]),
              ...['-Werror', 'all-warnings', '-Xcompiler', '-Wall,-Wextra,-Werror'],
              ...object.flags,
            ];
            const ended = await runToEnd(nvcc!, [...flags, '-c', object.source, '-o', objectOf(object)], SOURCES);
            kernels.set(object.name, parsePtxas(ended.stdout + ended.stderr));
            if (ended.code !== 0) said.push(ended.stderr);
          }
        }),
      );
    }, 180_000);

    it('compile without a warning for every architecture', () => {
      expect(said).toEqual([]);
      for (const [name, list] of kernels)
        expect([...new Set(list.map(({ architecture }) => architecture))].sort(), name).toEqual(
          [...ARCHITECTURES].sort(),
        );
    });

    it('hold a register cap, and keep everything in registers without one', () => {
      const [free, capped] = ['unit-loop', `unit-loop-${CAP}`].map((name) => kernels.get(name)!);
      // Three kinds of loop, six numbers of threads per unit.
      expect(free!.length).toBe(18 * ARCHITECTURES.length);
      for (const { kernel, spillStoreBytes } of free!) expect(spillStoreBytes, kernel).toBe(0);
      expect(Math.max(...free!.map(({ registersPerThread }) => registersPerThread))).toBeGreaterThan(CAP);
      for (const { kernel, registersPerThread } of capped!) expect(registersPerThread, kernel).toBeLessThanOrEqual(CAP);
    });

    it('spill nothing where cycles are counted', () => {
      for (const { kernel, spillStoreBytes, spillLoadBytes } of kernels.get('main')!)
        expect([kernel, spillStoreBytes, spillLoadBytes]).toEqual([kernel, 0, 0]);
    });

    it('link to a program that names the devices, or says why it cannot', () => {
      const program = join(folder, 'lockstep-cuda');
      const linked = spawnSync(nvcc!, [...objects.map(objectOf), ...LINK_FLAGS, '-o', program], { encoding: 'utf8' });
      expect(linked.stderr).toBe('');
      const listed = spawnSync(program, ['--list'], { encoding: 'utf8', cwd: folder });
      const records = recordsOf(listed.stdout);
      if (listed.status === 0) {
        for (const { name, threadGroupWidth } of ofType(records, 'device')) {
          expect(name).not.toContain(EMULATED_NAME);
          expect(threadGroupWidth).toBe(32);
        }
      } else {
        expect(records).toMatchObject([{ type: 'lost' }]);
        expect(ofType(records, 'lost')[0]!.message).toMatch(/^looking for CUDA devices: cudaError/);
      }
    });
  },
);
