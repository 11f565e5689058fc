import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { nvidiaResidentBlocks } from '../../src-workers/models/occupancy/nvidia.ts';

/** Returns the rows of a golden file whose blocks or limiting factors differ from ours, as text. */
function differences(fileName: string): { rows: number; different: string[] } {
  const lines = readFileSync(new URL(`../data/occupancy/${fileName}`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .slice(1);
  const different = lines.filter((line) => {
    const [computeCapability = '', ...numbers] = line.split(',');
    const [blockThreads = NaN, registersPerThread = NaN, sharedMemoryBytesPerBlock = NaN, blocks, factors] =
      numbers.map(Number);
    const ours = nvidiaResidentBlocks(computeCapability, {
      blockThreads,
      registersPerThread,
      sharedMemoryBytesPerBlock,
    });
    return !ours.ok || ours.value.blocksPerMultiprocessor !== blocks || ours.value.limitedBy !== factors;
  });
  return { rows: lines.length, different };
}

it.each([
  ['nvidia-blocks-per-sm.csv', 3000],
  ['nvidia-edge-cases.csv', 800],
])("resident blocks and limiting factors equal those of NVIDIA's header %s", (fileName, rows) =>
  expect(differences(fileName)).toEqual({ rows, different: [] }),
);
