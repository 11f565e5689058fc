import type { BenchPlan, BenchRecord, CaseOf, UnitLoopProfile, UnitLoopWorkload } from '../../domain/benchmark.ts';
import { ok, type Result, unsupported } from '../../domain/result.ts';
import { mersenneTwister } from '../../numeric/random.ts';
import { hasTable, oldUnitLoop, refuseCap } from '../stand-in.ts';
import { blockOrder, parseStandIn, referenceResults, ringTable, slotLayout, unitOrder } from '../unit-loop.ts';
import type { Launcher, PreparedCase } from './launcher.ts';
import { unitLoopShader } from './unit-loop-shader.ts';

export interface UnitLoopBuffers {
  readonly workload: UnitLoopWorkload;
  readonly profile: UnitLoopProfile;
  readonly lengths: GPUBuffer;
  readonly result: GPUBuffer;
  readonly table: GPUBuffer | null;
  reference: Uint32Array | null;
  order: { readonly key: string; readonly buffer: GPUBuffer } | null;
}

export async function unitLoopBuffers(
  launcher: Launcher,
  workload: UnitLoopWorkload,
): Promise<Result<UnitLoopBuffers>> {
  const { lengths, profile } = workload;
  if (profile.version !== 3) return oldUnitLoop();
  return ok({
    workload,
    profile,
    lengths: await launcher.storage(lengths),
    result: await launcher.storage(4 * lengths.length),
    table: hasTable(profile) ? await launcher.storage(ringTable(profile.tableWords)) : null,
    reference: null,
    order: null,
  });
}

/** Positions of slots are 32-bit words on the device, and the positions of one further round must still fit. */
const MAX_SLOTS = 2 ** 31;

export async function prepareUnitLoop(
  launcher: Launcher,
  buffers: UnitLoopBuffers,
  plan: BenchPlan,
  benchCase: CaseOf<'unit-loop'>,
  threadGroupWidth: number | null,
): Promise<Result<PreparedCase>> {
  const { design } = benchCase.parameters;
  const { threadsPerUnit: u, blockThreads } = design;
  const { workload, profile } = buffers;
  const { lengths } = workload;
  const units = lengths.length;
  if (design.registerCap !== null) return refuseCap(design.registerCap, 'WebGPU');
  const balancing = parseStandIn(design.balancing);
  if (!balancing.ok) return balancing;
  if (u > 1 && !launcher.device.features.has('subgroups'))
    return unsupported(`${u} threads per unit need subgroup operations, which this device does not have.`);
  if (balancing.value.kind === 'best-buckets' && threadGroupWidth === null)
    return unsupported(`${design.balancing} needs the width of a thread group, which this device does not report.`);
  const laidOut = slotLayout(design, threadGroupWidth ?? blockThreads, units);
  if (!laidOut.ok) return laidOut;
  const layout = laidOut.value;
  if (layout.slots > MAX_SLOTS) return unsupported(`${layout.slots} slots exceed the limit of ${MAX_SLOTS}`);
  const maxThreads = launcher.device.limits.maxComputeInvocationsPerWorkgroup;
  if (blockThreads > maxThreads)
    return unsupported(`a block of ${blockThreads} threads exceeds this device's limit of ${maxThreads}`);

  const { kind } = balancing.value;
  const key = kind === 'best-buckets' ? `${design.balancing} ${layout.unitsPerGroup}` : design.balancing;
  if (buffers.order?.key !== key) {
    const order = unitOrder(lengths, balancing.value, layout.unitsPerGroup);
    if (!order.ok) return order;
    buffers.order?.buffer.destroy();
    buffers.order = { key, buffer: await launcher.storage(order.value) };
  }
  const fetching = kind === 'dynamic-fetch';
  const { fetch = 1 } = fetching ? balancing.value : {};
  if (fetch === 'group' && !launcher.device.features.has('subgroups'))
    return unsupported(`${design.balancing} needs subgroup operations, which this device does not have.`);
  const pipeline = await launcher.pipeline(
    unitLoopShader({ profile, threadsPerUnit: u, blockThreads, form: fetching ? 'fetching' : design.loop, fetch }),
  );
  const random = mersenneTwister(plan.seed);
  const dealing = await launcher.storage(fetching ? 4 : blockOrder(balancing.value, design.gridBlocks, random));
  const launchWords = launcher.uniform();
  const bindGroup = launcher.bind(pipeline, [
    launchWords,
    buffers.lengths,
    buffers.order.buffer,
    buffers.result,
    ...(buffers.table ? [buffers.table] : []),
    dealing,
  ]);
  const { queue } = launcher.device;
  return ok({
    launch(share) {
      // With fetching, any number of blocks does all the work. For a part of the work, the counter starts further on.
      const blocks = fetching ? design.gridBlocks : Math.max(1, Math.round(share * design.gridBlocks));
      if (fetching) queue.writeBuffer(dealing, 0, Uint32Array.of(units - Math.max(1, Math.round(share * units))));
      queue.writeBuffer(
        launchWords,
        0,
        Uint32Array.of(layout.slots, layout.rounds, blocks, units, 0xffff_ffff, 0, 0, 0),
      );
      return { pipeline, bindGroup, blocks };
    },
    begin() {
      // Results of an earlier design could be mistaken for results of this design.
      const encoder = launcher.device.createCommandEncoder();
      encoder.clearBuffer(buffers.result);
      queue.submit([encoder.finish()]);
    },
    async finish() {
      buffers.reference ??= referenceResults(lengths);
      const found = await launcher.read(buffers.result, units);
      return [checkRecord(benchCase.id, found, buffers.reference)];
    },
    release() {
      dealing.destroy();
      launchWords.destroy();
    },
  });
}

function checkRecord(id: string, found: Uint32Array, expected: Uint32Array): BenchRecord {
  let wrong = 0;
  let first = -1;
  for (let unit = 0; unit < expected.length; unit++) {
    if (found[unit] === expected[unit]) continue;
    if (wrong === 0) first = unit;
    wrong++;
  }
  return {
    type: 'check',
    case: id,
    correct: wrong === 0,
    message:
      wrong === 0
        ? ''
        : `${wrong} of ${expected.length} units differ; unit ${first} is ${found[first]} instead of ${expected[first]}`,
  };
}
