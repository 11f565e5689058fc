import { readFileSync } from 'node:fs';
import { dataText } from '../data.ts';
import { bufferOf, runWgsl } from './wgsl.ts';

// `node skeleton-webgpu-child.ts FILE` runs exported WGSL kernels. For each kernel, it prints the sums of all units and
// how often each unit ended.

/**
 * Launches of a kernel, one after another. `lists` are the bindings that follow the launch's own bindings, in order.
 */
export interface WgslKernelRun {
  readonly code: string;
  readonly lengths: readonly number[];
  readonly lists: readonly (readonly number[])[];
  readonly launches: readonly { readonly first: number; readonly units: number; readonly workgroups: number; readonly which: number }[]; // prettier-ignore
}

const WORK = dataText('webgpu/digest.wgsl');

async function run({ code, lengths, lists, launches }: WgslKernelRun): Promise<readonly (readonly number[])[]> {
  const none = lengths.map(() => 0);
  const [sums, calls] = [bufferOf(none), bufferOf(none)];
  const units = [bufferOf(lengths), sums, calls];
  const shared = lists.map((list) => bufferOf(list));
  const launched = launches.map(({ first, units: count, workgroups, which }) => ({
    groups: { 0: units, 3: [bufferOf([first, count, workgroups, which], 'uniform'), ...shared] },
    workgroups,
  }));
  return (await runWgsl(`${code}\n${WORK}`, launched, [sums, calls])).map((words) => [...words]);
}

const found: (readonly (readonly number[])[])[] = [];
for (const kernel of JSON.parse(readFileSync(process.argv[2], 'utf8')) as WgslKernelRun[])
  found.push(await run(kernel));
process.stdout.write(JSON.stringify(found), () => process.exit(0));
