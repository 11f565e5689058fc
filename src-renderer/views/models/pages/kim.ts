import type { GpuDevice } from '../../../../src-workers/domain/device.ts';
import type { KernelProfile } from '../../../../src-workers/domain/kernel.ts';
import { kimDevice, kimLaunch } from '../../../../src-workers/models/pipeline/kim-catalogue.ts';
import {
  brokenLimits,
  functionalUnitCycles,
  groupsPerBlock,
  kimGridSeries,
  residentBlockSlots,
  type KimDevice,
} from '../../../../src-workers/models/pipeline/kim.ts';
import { count, counted, percent } from '../../../format/numbers.ts';
import {
  allowedBlocks,
  controls,
  curves,
  gpuChoice,
  hint,
  ofDevice,
  onDevice,
  segmented,
  slider,
  table,
  type Demo,
  type DemoContext,
  type Figure,
  type ValuesOf,
} from '../demo.ts';
import { rows, type PageContent } from '../page.ts'; // prettier-ignore

const CONTROLS = {
  device: gpuChoice('nvidia-a100-sxm4-40gb'),
  work: segmented('An iteration (assumed)', { arithmetic: '32 instructions', memory: '… and a load of 16 bytes' }, 'arithmetic', 'An iteration'),
  blockThreads: slider('{Block} size', {
    symbol: 'B',
    min: ofDevice(({ threadGroupWidth }) => threadGroupWidth),
    max: 1536,
    step: ofDevice(({ threadGroupWidth }) => threadGroupWidth),
    default: 192,
  }),
  registers: slider('{Registers} per {thread}', { symbol: 'r', min: 1, max: 288, step: 1, default: 48 }),
  shared: slider('{SharedMemory} per {block}', { symbol: 'S', unit: 'KiB', min: 0, max: 128, step: 1, default: 0 }),
}; // prettier-ignore
type Chosen = ValuesOf<typeof CONTROLS>;

function kernelOf({ work, registers, shared }: Chosen): KernelProfile {
  const memory = work === 'memory';
  return {
    name: 'example',
    registersPerThread: registers,
    sharedMemoryBytesPerBlock: shared * 1024,
    instructionsPerIteration: 32,
    dependentLoadsPerIteration: memory ? 1 : 0,
    bytesPerIteration: memory ? 16 : 0,
    serialFraction: 0,
    cooperationCost: 0,
    kneeSoftness: 6.5,
    bytesPerUnit: 0,
    lengthsKnownBeforeLaunch: false,
    spillInstructionsPerRegister: 0,
  };
}
function launchOf(values: Chosen, device: GpuDevice) {
  const kernel = kernelOf(values);
  const model = kimDevice(device, kernel);
  const launch = kimLaunch(device, kernel, values.blockThreads, device.multiprocessors);
  const b = groupsPerBlock(model, launch);
  return { model, launch, b, broken: brokenLimits(model, launch), slots: residentBlockSlots(model, launch) };
}
type Launch = ReturnType<typeof launchOf>;

const figure = (make: (launch: Launch, say: DemoContext['say'], values: Chosen) => Figure) =>
  onDevice<Chosen>((device, values, { say }) => make(launchOf(values, device), say, values));

/** Returns Kim's N_slot, the resident block slots, if only the given buffer is limited. */
function slotsByBuffer({ model, launch }: Launch, buffer: Partial<KimDevice>): number {
  const endless = {
    blockSlots: Infinity,
    threadGroupSlots: Infinity,
    sharedMemoryBytes: Infinity,
    registerFiles: model.registerFiles.map((file) => ({ ...file, registers: Infinity })),
  };
  return residentBlockSlots({ ...model, ...endless, ...buffer }, launch);
}

const demo: Demo<Chosen> = {
  controls: CONTROLS,
  figures: [
    () => ({ blocks: [controls('device', 'work', 'blockThreads', 'registers', 'shared')] }),
    figure(({ model, launch, b, broken }, say, { shared }) => {
      const [file] = model.registerFiles;
      const [perThread = 0] = launch.registersPerThread;
      const limits: readonly (readonly [label: string, symbol: string, used: number, limit: number])[] = [
        ['{Threads} per {block}', 'B', launch.threadsPerBlock, model.maxThreadsPerBlock],
        ['{SharedMemory} per {block}, bytes', 'S', launch.sharedMemoryBytesPerBlock, model.maxSharedMemoryBytesPerBlock],
        ['{Registers} per {thread}', 'r', perThread, file.maxPerThread],
        ['{Registers} per {block}, by {threadGroup}', 'b·r', b * perThread, file.maxPerBlock],
      ];
      const reserved = launch.sharedMemoryBytesPerBlock - shared * 1024;
      return {
        title: 'Limit checker',
        hint: broken.length === 0 ? 'the launch is allowed' : 'the launch is refused',
        blocks: [
          table(
            'Limit checker',
            ['Limit', 'This launch', 'Allowed', { title: 'Result', words: true }],
            limits.map(([head, symbol, used, limit]) => ({
              head: say(head),
              symbol,
              cells: [
                used > limit ? { text: count(used), tone: 'wrong' } : count(used),
                count(limit),
                { text: used > limit ? 'too many' : 'holds', tone: 'quiet' },
              ],
            })),
          ),
          reserved > 0 && hint(say(`The system reserves ${count(reserved)} bytes of every {block}.`)),
        ],
      };
    }), // prettier-ignore
    figure((launch, say) => {
      const { model, b, slots } = launch;
      const buffers: readonly (readonly [label: string, buffer: Partial<KimDevice>])[] = [
        ['{Block} slots', { blockSlots: model.blockSlots }],
        ['{ThreadGroup} slots', { threadGroupSlots: model.threadGroupSlots }],
        ['{SharedMemory}', { sharedMemoryBytes: model.sharedMemoryBytes }],
        ['{Registers}', { registerFiles: model.registerFiles }],
      ];
      const limits = buffers.map(([label, buffer]) => {
        const blocks = slotsByBuffer(launch, buffer);
        return [label, blocks, blocks === slots] as const;
      });
      return {
        title: say('{Blocks} resident at once'),
        hint: say(`${count(slots)}, with ${count(b)} ${b === 1 ? '{threadGroup}' : '{threadGroups}'} each`),
        blocks: [allowedBlocks('What each state buffer allows', 'State buffer', say, model.blockSlots, limits)],
      };
    }),
    figure(({ model, b, slots }, say) => {
      const groups = Array.from({ length: model.threadGroupSlots }, (_, i) => i + 1);
      return {
        title: 'Functional units',
        hint: 'the slowest sets the time',
        blocks: [
          curves({
            label: say('Cycles of each functional unit by {threadGroups}'),
            name: 'functional-units',
            xTitle: say('{threadGroups} in flight, c'),
            yTitle: 'cycles of an iteration, fu(c)',
            heightPx: 190,
            at: slots > 0 ? b * slots : null,
            curves: model.functionalUnits.map((unit, i) => ({
              name: unit.name,
              series: i + 1,
              steps: true,
              points: groups.map((c) => [c, functionalUnitCycles({ ...model, functionalUnits: [unit] }, c)]),
            })),
          }),
        ],
      };
    }),
    figure(({ model, launch, b, slots, broken }, say) => {
      const title = { title: 'Time by grid size', hint: 'T(g, b)' };
      if (broken.length > 0)
        return { ...title, blocks: ['This launch breaks a limit above. It is refused and has no time.'] };
      if (slots === 0)
        return { ...title, blocks: [say('No {block} fits on a {multiprocessor}: a state buffer is too small.')] };
      const series = kimGridSeries(model, launch, Math.max(16, Math.min(96, 4 * slots)));
      const worst = series.inefficiency.indexOf(Math.max(...series.inefficiency));
      const blocks = series.blocksPerMultiprocessor;
      const why = b === 1 ? '' : `, because the ${b} {threadGroups} of a {block} start and end together`;
      return {
        ...title,
        blocks: [
          curves({
            label: say('Cycles by {blocks} of a {multiprocessor}'),
            name: 'kim',
            xTitle: say('{blocks} per {multiprocessor}, g'),
            yTitle: 'cycles',
            heightPx: 210,
            mark: { x: series.residentBlocks, text: 'one wave' },
            curves: [
              { name: 'in waves', series: 1, points: blocks.map((g, i) => [g, series.cycles[i]]) },
              { name: 'no waiting', series: 2, dashed: true, points: blocks.map((g, i) => [g, series.boundCycles[i]]) },
            ],
          }),
          say(`Slots are given to whole {blocks}, wave by wave. This costs most at **g = ${count(blocks[worst])}**: ${percent(series.inefficiency[worst] - 1, 0)} more than the same {threadGroups} without waiting${why}. ${counted(slots, '{block}', '{blocks}')} can be resident, so a kernel whose {blocks} wait for each other never ends if g ≥ ${count(slots + 1)}.`),
        ],
      };
    }), // prettier-ignore
  ],
};

export const kim: PageContent = {
  group: 'Device',
  question: 'What does a launch cost in whole waves of blocks?',
  text: [
    'This structural model has four parts: a limit checker, a block scheduler that fills the slots wave by wave, state buffers that limit the slots, and functional units that set the time of a wave. Lockstep keeps the scheduler and replaces the functional units by soft saturation.',
  ],
  equations: rows`
    b = \lceil B / \omega \rceil, \qquad g = \lceil G / n_{mp} \rceil :: Thread groups of a block, and blocks of a multiprocessor.
    T(g, b) = \Bigl\lfloor \frac{g}{N_{\mathrm{slot}}} \Bigr\rfloor fu(b \, N_{\mathrm{slot}}) + fu \bigl( b \, (g \bmod N_{\mathrm{slot}}) \bigr) :: Full waves, then the rest.
    N_{\mathrm{slot}} = \min \Bigl( N_1, \Bigl\lfloor \frac{N_2}{b} \Bigr\rfloor, \Bigl\lfloor \frac{S}{s} \Bigr\rfloor, \Bigl\lfloor \frac{R_i}{r_i \, b} \Bigr\rfloor \Bigr) :: State buffers: slots for blocks and thread groups, shared memory, each register file; s and r as the hardware allocates them.
    B \le L_{TB}, \quad B \, G \le L_{TG}, \quad S \le L_{SB}, \quad r_i \le L_{RT}, \quad b \, r_i \le L_{RB} :: Limit checker: a launch that breaks one limit is refused.
    fu(c) = \max_u \Bigl\lceil \frac{\Sigma_u}{m_u \, p} \Bigr\rceil \Bigl\lceil \frac{c}{s_u} \Bigr\rceil :: The slowest functional unit for c thread groups. The brackets are read as ceilings.
  `,
  symbols: rows`
    G, B :: blocks of the grid, threads of a block
    n_{mp} :: multiprocessors
    N_{\mathrm{slot}} :: blocks resident at once
    N_1, N_2 :: slots for blocks and for thread groups
    S, R_i :: shared memory and registers of file i of a multiprocessor :: bytes, count
    L :: limits of a block, a grid and a thread
    \Sigma_u :: cycles of unit u that the kernel needs :: cycles
    m_u, s_u, p :: units of a kind, thread groups per issue, partitions
  `,
  validity: [
    'Equal blocks that start and end together. The model has no latency that other thread groups could hide.',
    'The poster prints no numbers to compare with. The tables check what its formulas imply.',
    'Devices of the catalogue get two functional units, arithmetic and device memory. Caches and clocks are not modelled.',
  ],
  contradictions: [
    'The brackets in the formula of the functional units are printed as floors. A unit that is wider than its work would then take no time at all. Here the brackets are read as ceilings.',
    'The poster divides shared memory and registers by the smallest allocation, although a block may need several of them. Here they are divided by the allocation that holds the block.',
  ],
  sources: rows`
    Kim (undated). GPGPU Performance Modeling using Microbenchmarks. Poster, Seoul National University.
  `,
  tables: { paper: 'kim' },
  demo,
};
