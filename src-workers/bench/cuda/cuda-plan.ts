import { CUDA_GROUP_WIDTH } from '../../domain/ability.ts';
import type { BenchCase, BenchPlan, CaseOf, UnitLoopProfile } from '../../domain/benchmark.ts';
import type { WholeUnitBalancing } from '../../domain/design.ts';
import type { LoopForm } from '../../domain/kernel.ts';
import { fail, ok, type Result, badInput, unsupported } from '../../domain/result.ts';
import type { LengthLaw } from '../../domain/workload.ts';
import { cumulative } from '../../models/workload/laws.ts';
import { mersenneTwister } from '../../numeric/random.ts';
import { resolveWorkload, type WorkloadContext } from '../../parse/grammar.ts';
import { heldRegisters, lanesPerSector, oldUnitLoop, unitLoopShape } from '../stand-in.ts';
import { blockOrder, parseStandIn, referenceResults, slotLayout, unitOrder } from '../unit-loop.ts';
import { wordBytes } from '../words.ts';

export interface PlacedFile {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly executable?: true;
}

export interface CudaObject {
  readonly name: string;
  readonly source: string;
  /** Flags besides `COMPILE_FLAGS`, one word each. */
  readonly flags: readonly string[];
}

export interface CudaPlan {
  readonly files: readonly PlacedFile[];
  readonly objects: readonly CudaObject[];
}

/** The program that lists the devices has no device code. */
export const DEVICES_OBJECT: CudaObject = { name: 'devices', source: 'devices.cu', flags: [] };

export const HOST_OBJECT: CudaObject = { name: 'main', source: 'main.cu', flags: [] };

/** Warnings are not errors, since warnings of future compilers must not stop a measurement. */
export const COMPILE_FLAGS: readonly string[] = ['-std=c++17', '-O3', '-Xptxas', '-v'];
/** Linker flags for POSIX systems. The program has threads, and at run time it loads the library that reads clocks. */
export const LINK_FLAGS: readonly string[] = ['-ldl', '-lpthread'];

/** Exit code of the program if a launch hung (`EXIT_HUNG` in `sources/host.cuh`). A new start measures the rest. */
export const EXIT_HUNG = 75;

/** Returns a plan's files and objects. Time and memory grow with units and balancings. A failure names the case. */
export async function cudaPlan(plan: BenchPlan, context: WorkloadContext): Promise<Result<CudaPlan>> {
  if (plan.backend !== 'cuda' && plan.backend !== 'hip')
    return badInput(`the plan is for ${plan.backend}, not for cuda or hip`);
  const run = runSettings(plan);
  if (!run.ok) return run;
  const writer = new PlanWriter(plan, context);
  const lines = ['lockstep-cuda-plan 1', `run ${writeSettings(run.value)}`];
  const ids = new Set<string>();
  const cases: string[] = [];
  for (const one of plan.cases) {
    if (!/^[\w.-]{1,200}$/.test(one.id))
      return badInput(`The case id ${JSON.stringify(one.id)} must have 1 to 200 characters: letters, digits and .-_`);
    if (ids.has(one.id)) return badInput(`two cases are called ${one.id}`);
    ids.add(one.id);
    const settings = await writer.settings(one);
    if (!settings.ok) return fail(settings.error.code, `Case ${one.id} cannot be prepared: ${settings.error.message}`);
    cases.push(`case ${one.id} ${one.benchmark} ${writeSettings(settings.value)}`);
  }
  if (plan.workload && writer.objects.length > 1) {
    writer.add('lengths.u32', wordBytes(plan.workload.lengths));
    writer.add('expected.u32', wordBytes(referenceResults(plan.workload.lengths)));
    lines.push('units lengths=lengths.u32 expected=expected.u32');
  }
  writer.add('plan.txt', new TextEncoder().encode([...lines, ...cases, 'end', ''].join('\n')));
  return ok({ files: writer.files, objects: writer.objects });
}

function runSettings(plan: BenchPlan): Result<Settings> {
  const numbers = {
    'warm-ups': plan.warmUps,
    repeats: plan.repeats,
    'case-time-limit-ms': Math.ceil(plan.caseTimeLimitMs),
    seed: plan.seed >>> 0,
    alternating: plan.alternating ?? 1,
  };
  return whole(numbers, { 'warm-ups': 0, seed: 0 }, { cache: plan.cache ?? 'warm' }, ' of the plan');
}

type Settings = Readonly<Record<string, string | number>>;

const writeSettings = (settings: Settings): string =>
  Object.entries(settings)
    .map((pair) => pair.join('='))
    .join(' ');

class PlanWriter {
  readonly files: PlacedFile[] = [];
  readonly objects: CudaObject[] = [HOST_OBJECT];
  private readonly plan: BenchPlan;
  private readonly context: WorkloadContext;
  private readonly groupWidth: number;
  private readonly names = new Map<string, string>();

  constructor(plan: BenchPlan, context: WorkloadContext) {
    this.plan = plan;
    this.context = context;
    this.groupWidth = plan.threadGroupWidth ?? CUDA_GROUP_WIDTH;
  }

  add(path: string, bytes: Uint8Array): void {
    this.files.push({ path, bytes });
  }

  async settings(one: BenchCase): Promise<Result<Settings>> {
    switch (one.benchmark) {
      case 'unit-loop':
        return this.unitLoop(one);
      case 'matrix-power':
        return this.matrixPower(one);
      case 'divergent-loops': {
        const { loops, divergentLanes, iterations } = one.parameters;
        return whole({ lanes: divergentLanes, iterations }, { lanes: 0 }, { loops });
      }
      case 'launch-grid':
        return whole({ ...one.parameters }, {});
      case 'probe': {
        const { probe, arguments: values } = one.parameters;
        if (!/^[a-z0-9-]+$/.test(probe))
          return badInput(`The name of the probe ${JSON.stringify(probe)} may contain only a to z, digits and -.`);
        const strange = Object.keys(values).find((key) => !/^[A-Za-z]+$/.test(key) || key === 'probe');
        if (strange !== undefined)
          return badInput(
            `The probe ${probe} has the argument ${JSON.stringify(strange)}. The name of an argument may contain only letters, and must not be probe.`,
          );
        return whole(values, Object.fromEntries(Object.keys(values).map((key) => [key, 0])), { probe });
      }
      default:
        return unsupported(`The benchmark ${one.benchmark} does not run on a CUDA device.`);
    }
  }

  private unitLoop(one: CaseOf<'unit-loop'>): Result<Settings> {
    const { workload } = this.plan;
    if (!workload) return badInput('The plan has a unit loop, but no workload.');
    const { design, residentBlocks } = one.parameters;
    if (residentBlocks !== null && !(Number.isSafeInteger(residentBlocks) && residentBlocks >= 1))
      return badInput(`resident blocks must be a whole number of at least 1, or none, not ${residentBlocks}`);
    const { threadsPerUnit: u, blockThreads, gridBlocks, registerCap } = design;
    const layout = slotLayout(design, this.groupWidth, workload.lengths.length);
    if (!layout.ok) return layout;
    if (registerCap !== null && !(Number.isSafeInteger(registerCap) && registerCap >= 1))
      return badInput(`the register cap must be a whole number of at least 1, or none, not ${registerCap}`);
    const balancing = parseStandIn(design.balancing);
    if (!balancing.ok) return balancing;
    const order = this.orderFile(balancing.value, layout.value.unitsPerGroup);
    if (!order.ok) return order;
    const { profile } = workload;
    if (profile.version !== 3) return oldUnitLoop();
    this.unitLoopObject(profile, u, registerCap);
    return ok({
      u,
      ...makeDispatch(balancing.value, design.loop),
      block: blockThreads,
      grid: gridBlocks,
      cap: registerCap ?? 0,
      resident: residentBlocks ?? 0,
      table: profile.tableWords,
      order: order.value,
      blocks: this.blocksFile(balancing.value, gridBlocks),
    });
  }

  private unitLoopObject(profile: UnitLoopProfile, u: number, cap: number | null): void {
    const name = `unit-loop-u${u}${cap === null ? '' : `-${cap}`}`;
    if (this.objects.some((object) => object.name === name)) return;
    this.objects.push({
      name,
      source: 'unit-loop.cu',
      flags: [
        ...unitLoopDefinitions(profile, u),
        `-DLOCKSTEP_REGISTER_CAP=${cap ?? 0}`,
        ...(cap === null ? [] : ['--maxrregcount', String(cap)]),
      ],
    });
  }

  private orderFile(balancing: WholeUnitBalancing, unitsPerGroup: number): Result<string> {
    // Dynamic fetch uses the order of `none`. Only the order of best buckets depends on the size of the group.
    const kind = balancing.kind === 'dynamic-fetch' ? { kind: 'none' } : balancing;
    const key = JSON.stringify([kind, balancing.kind === 'best-buckets' ? unitsPerGroup : 0]);
    const known = this.names.get(key);
    if (known !== undefined) return ok(known);
    const order = unitOrder(this.plan.workload!.lengths, balancing, unitsPerGroup);
    return order.ok ? ok(this.wordsFile('order', key, order.value)) : order;
  }

  private blocksFile(balancing: WholeUnitBalancing, gridBlocks: number): string {
    const order = blockOrder(balancing, gridBlocks, mersenneTwister(this.plan.seed));
    const random = order.some((block, position) => block !== position);
    const key = `${gridBlocks} blocks, ${random ? 'at random' : 'as they stand'}`;
    return this.names.get(key) ?? this.wordsFile('blocks', key, order);
  }

  private async matrixPower(one: CaseOf<'matrix-power'>): Promise<Result<Settings>> {
    const { lengths, unitsPerGroup, workGroups, execution, synchronised } = one.parameters;
    if (unitsPerGroup > this.groupWidth)
      return badInput(`${unitsPerGroup} units in a work group exceed the limit of ${this.groupWidth}`);
    const key = `law ${lengths}`;
    let file = this.names.get(key);
    if (file === undefined) {
      const law = await resolveWorkload(lengths, this.context);
      if (!law.ok) return law;
      const words = lawWords(law.value);
      if (!words.ok) return words;
      file = this.wordsFile('law', key, words.value);
    }
    return whole(
      { n: unitsPerGroup, groups: workGroups },
      {},
      { law: file, execution, synchronised: synchronised ? 1 : 0 },
    );
  }

  private wordsFile(stem: string, key: string, words: Uint32Array): string {
    const path = `${stem}-${this.names.size}.u32`;
    this.names.set(key, path);
    this.add(path, wordBytes(words));
    return path;
  }
}

export function unitLoopDefinitions(profile: UnitLoopProfile, u: number): readonly string[] {
  const shape = unitLoopShape(profile, u);
  const held = heldRegisters(profile, shape);
  const macros = {
    THREADS_PER_UNIT: u,
    DEALS: profile.sharing === 'deal' ? 1 : 0,
    HELD_FLOATS: held.floats,
    HELD_INTEGERS: held.integers,
    LANES_PER_SECTOR: lanesPerSector(profile),
    UNIT_STEPS: shape.unitSteps,
    COMBINE_STEPS: shape.combineSteps,
    FLOATS: shape.floats,
    INTEGERS: shape.integers,
    DOUBLES: shape.doubles,
    SPECIALS: shape.specials,
    EXCHANGES: shape.exchanges,
    LOADS: shape.loads,
    LOAD_RATE: `${shape.loadRate}u`,
    STREAMED: shape.streamed,
    STREAM_RATE: `${shape.streamRate}u`,
  };
  return Object.entries(macros).map(([name, value]) => `-DLOCKSTEP_${name}=${value}`);
}

function makeDispatch(balancing: WholeUnitBalancing, loop: LoopForm): Settings {
  if (balancing.kind !== 'dynamic-fetch') return { dispatch: loop };
  const { fetch = 1 } = balancing;
  return fetch === 'group' ? { dispatch: 'group-fetching' } : { dispatch: 'fetching', fetch };
}

function whole(
  numbers: Readonly<Record<string, number>>,
  least: Readonly<Record<string, number>>,
  others: Settings = {},
  owner = '',
): Result<Settings> {
  for (const [key, value] of Object.entries(numbers)) {
    const from = least[key] ?? 1;
    if (!(Number.isSafeInteger(value) && value >= from))
      return badInput(`${key}${owner} must be a whole number of at least ${from}, not ${value}`);
  }
  return ok({ ...numbers, ...others });
}

/** Writes the pairs from which the program draws lengths: 2³²·P(length ≤ l) and l. The error is at most 2⁻³². */
function lawWords(law: LengthLaw): Result<Uint32Array> {
  const longest = law.support[law.support.length - 1];
  if (longest > MAX_WORD) return unsupported(`units of ${longest} iterations exceed the limit of ${MAX_WORD}`);
  const words = new Uint32Array(2 * law.support.length);
  cumulative(law).forEach((below, i) => {
    words[2 * i] = Math.min(MAX_WORD, Math.round(below * 2 ** 32));
    words[2 * i + 1] = law.support[i];
  });
  return ok(words);
}

const MAX_WORD = 2 ** 32 - 1;
