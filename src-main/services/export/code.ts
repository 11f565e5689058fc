import { tieBandText, type TieBand } from '../../../src-workers/domain/evidence.ts';
import { designText, type DesignClass } from '../../../src-workers/domain/design.ts';
import { assumedFacts, factText, trafficPhrase, type InputFact } from '../../../src-workers/domain/provenance.ts';
import { timeText } from '../../../src-workers/domain/times.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import type { RankRow } from '../../contract/api.ts';
import type { Study } from '../../contract/study.ts';
import { layoutSentences } from '../ranking/design-text.ts';
import { APP_VERSION } from '../app/version.ts';
import { tileNumbers, type ImageOfUnits } from './tiles.ts';
import { comment, counted, identifier } from './text.ts';

/** The chosen design as code. Only checked numbers and cleaned names reach the text. */

export interface CodeSource {
  readonly study: Study;
  /** Where the design is from: `run 5`. */
  readonly from: string;
  /** Version of the prediction. */
  readonly model: string;
  readonly inputs: readonly InputFact[];
  /** How the design was picked, and which faster one the form cannot express; empty if a person chose it. */
  readonly pick: string;
  /** What supports the time, in a sentence. */
  readonly evidence: string;
  /** Lengths of the units. */
  readonly law: LengthLaw;
  /** Whether the design launches its blocks for any number of units. Otherwise the units per slot decide how many. */
  readonly isGridFixed: boolean;
  /** The image, if units lie in rows; else `null`. */
  readonly image: ImageOfUnits | null;
}

/** The kernel, and how it is written where a study names several ways, as an identifier. */
export function implementationName({ study }: CodeSource, { design }: RankRow): string {
  return identifier([study.kernel.name, design.implementation ?? ''].join(' '));
}

/** What all exported code begins with: the design, its predicted time, the assumptions, the model, the evidence. */
export function head(
  { study, from, model, inputs, pick, evidence }: CodeSource,
  row: RankRow,
  mark = '//',
): readonly string[] {
  const rank = row.rank > 0 ? `, rank ${row.rank}` : '';
  const assumed = assumedFacts(inputs).map((fact) => `Assumed: ${comment(factText(fact))}.`);
  const traffic = trafficPhrase(inputs, row);
  return [
    `${comment(study.name)}`,
    `On ${comment(row.device)}: predicted ${comment(timeText(row.timeMs))}${rank}.`,
    `${comment(designText(row.design))}`,
    `Lockstep ${APP_VERSION}, model ${comment(model)}, ${from}, design ${row.designIndex}.`,
    ...(pick === '' ? [] : [comment(pick)]),
    comment(evidence),
    ...(traffic === null ? [] : [`Traffic: ${comment(traffic)}.`]),
    ...(assumed.length > 0 ? assumed : ['Nothing is assumed.']),
  ].map((line) => `${mark} ${line}`);
}

/** Explains what `grid_for` counts in exported code, so that a loop over `units_per_thread` units misses none. */
export function gridForNote({ isGridFixed }: CodeSource, fixed: string, what = 'units'): string {
  return isGridFixed
    ? `Blocks that cover a number of ${what}: as many as the design fixes, and more where a slot would have more than units_per_thread. ` +
        `A kernel whose slots move on by the whole grid can launch ${fixed} for any number.`
    : `Blocks that cover another number of ${what} with the same work per slot.`;
}

/** How one of several designs that a measurement may order otherwise was picked, for a header or report. */
export function pickText(ties: number, band: TieBand, rule: string): string {
  return ties > 1
    ? `Measurements may order ${counted(ties, 'design')} of this device otherwise: their times are ${tieBandText(band)}. ${rule}`
    : '';
}

/** Units one block covers: each slot of u threads takes m units. */
export function unitsPerBlock({ design }: RankRow): number {
  return design.unitsPerThread * (design.blockThreads / design.threadsPerUnit);
}

/**
 * Definition of the macro that stands before the kernel's name. With a cap it is `__maxnreg__` (CUDA 12.4 or later)
 * alone: the compiler refuses launch bounds beside it, and launch bounds override `-maxrregcount` (CUDA C++ Programming
 * Guide, "Maximum Number of Registers per Thread").
 */
function boundsMacro(macro: string, { design, residentBlocks }: RankRow): readonly string[] {
  const { blockThreads } = design;
  // ptxas ignores a larger cap.
  const cap = design.registerCap === null ? null : Math.min(design.registerCap, 255);
  return [
    // HIP reads the second argument as waves per execution unit, not as blocks.
    '#if defined(__HIP__) || defined(__HIPCC__)',
    `#define ${macro} __launch_bounds__(${blockThreads})`,
    ...(cap === null
      ? ['#else', `#define ${macro} __launch_bounds__(${blockThreads}, ${residentBlocks})`]
      : [
          '#elif defined(__CUDACC_VER_MAJOR__) && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1204',
          `#define ${macro} __maxnreg__(${cap})`,
          '#else',
          `// Launch bounds would override -maxrregcount=${cap}.`,
          `#define ${macro}`,
        ]),
    '#endif',
  ];
}

/** `grid_for` in C++14: the blocks that are needed, and at least those that the design fixes. */
export function gridFor(parameters: string, needed: string, fixed: string | null): readonly string[] {
  return [
    `constexpr unsigned grid_for(${parameters}) {`,
    fixed === null
      ? `  return static_cast<unsigned>(${needed});`
      : `  return ${needed} > ${fixed} ? static_cast<unsigned>(${needed}) : ${fixed};`,
    '}',
  ];
}

/**
 * A header with the launch shape, the launch bounds or register cap of the kernel and a host helper for the grid. CUDA
 * with C++14 or later; includes nothing, so plain C++ and HIP read it too.
 */
export function cudaHeader(source: CodeSource, row: RankRow): string {
  const { design } = row;
  const { implementation } = design;
  const name = implementationName(source, row);
  const upper = name.toUpperCase();
  const cap = design.registerCap;
  return [
    ...head(source, row),
    `#ifndef LOCKSTEP_${upper}_CUH`,
    `#define LOCKSTEP_${upper}_CUH`,
    '',
    `namespace lockstep_${name} {`,
    '',
    ...(implementation === undefined
      ? []
      : [
          '/// How the kernel is written.',
          `constexpr const char* implementation = ${JSON.stringify(comment(implementation))};`,
        ]),
    design.classes
      ? '/// Threads that share one unit of work, where class_threads_per_unit does not say otherwise.'
      : '/// Threads that share one unit of work.',
    `constexpr unsigned threads_per_unit = ${design.threadsPerUnit}u;`,
    '/// Units that each slot of threads_per_unit threads processes, one after another.',
    `constexpr unsigned units_per_thread = ${design.unitsPerThread}u;`,
    '/// Threads per block.',
    `constexpr unsigned block_threads = ${design.blockThreads}u;`,
    ...tileNumbers(row, source.image).flatMap(([name, value, about]) => [
      `/// ${about}`,
      `constexpr unsigned ${name} = ${value}u;`,
    ]),
    `/// Blocks of the launch the design was chosen for: ${source.study.workload.units} units.`,
    `constexpr unsigned grid_blocks = ${design.gridBlocks}u;`,
    '/// Blocks that are to be resident on one multiprocessor.',
    `constexpr unsigned resident_blocks = ${row.residentBlocks}u;`,
    cap === null
      ? '/// Maximum registers per thread; 0: no cap.'
      : `/// Maximum registers per thread: LOCKSTEP_${upper}_BOUNDS sets it. CUDA before 12.4: compile with -maxrregcount=${cap}. HIP: not set.`,
    `constexpr unsigned register_cap = ${cap ?? 0}u;`,
    ...(design.classes
      ? cudaClasses(row, design.classes)
      : ['/// Units that one block covers.', `constexpr unsigned units_per_block = ${unitsPerBlock(row)}u;`]),
    `/// Order of the units: ${comment(design.balancing)}; loop over them: ${comment(design.loop)}.`,
    ...layoutSentences(design).map((line) => `/// ${line}`),
    `constexpr bool flattened_loop = ${design.loop === 'flattened'};`,
    '',
    'static_assert(block_threads % threads_per_unit == 0u, "a block holds whole slots");',
    '',
    ...(design.classes
      ? [
          `/// ${gridForNote(source, 'class_grid_blocks', 'units of a class')}`,
          ...gridFor(
            'unsigned long long units, unsigned which',
            '(units * class_threads_per_unit[which] + block_threads * units_per_thread - 1ull) / (block_threads * units_per_thread)',
            source.isGridFixed ? 'class_grid_blocks[which]' : null,
          ),
        ]
      : [
          `/// ${gridForNote(source, 'grid_blocks')}`,
          ...gridFor(
            'unsigned long long units',
            design.blockWidth === undefined
              ? '(units + units_per_block - 1ull) / units_per_block'
              : '((units + image_units - 1ull) / image_units * tiles_per_image + units_per_thread - 1ull) / units_per_thread',
            source.isGridFixed ? 'grid_blocks' : null,
          ),
        ]),
    '',
    `}  // namespace lockstep_${name}`,
    '',
    `// __global__ void LOCKSTEP_${upper}_BOUNDS kernel(...);`,
    design.classes
      ? `// for each class c: kernel<<<lockstep_${name}::class_grid_blocks[c], lockstep_${name}::block_threads>>>(...);`
      : `// kernel<<<lockstep_${name}::grid_blocks, ${blockOf(name, design)}>>>(...);`,
    ...boundsMacro(`LOCKSTEP_${upper}_BOUNDS`, row),
    '',
    `#endif  // LOCKSTEP_${upper}_CUH`,
    '',
  ].join('\n');
}

/** The threads of a block in a launch. */
function blockOf(name: string, { blockWidth }: RankRow['design']): string {
  const own = `lockstep_${name}::`;
  return blockWidth === undefined ? `${own}block_threads` : `dim3(${own}block_width, ${own}block_height)`;
}

/** The largest 32-bit word. As a threshold it means none, unless another is as large. */
export const MAX_WORD = 0xffff_ffff;

type Numbers = readonly (readonly [name: string, values: readonly number[], about: string])[];

/**
 * The launches of a design. A mixed design has one for each class of lengths, the shortest first; any other has one.
 */
export function launchNumbers({ design }: RankRow): Numbers {
  const launches: readonly Omit<DesignClass, 'units'>[] = design.classes ?? [{ ...design, upTo: null }];
  const none = launches.some(({ upTo }) => upTo !== null && upTo >= MAX_WORD) ? Number.MAX_SAFE_INTEGER : MAX_WORD;
  return [
    [
      'up_to',
      launches.map(({ upTo }) => (upTo === null ? none : Math.floor(upTo))),
      'Longest length of the units of each launch, iterations; the last has all that are longer.',
    ],
    [
      'threads_per_unit',
      launches.map(({ threadsPerUnit }) => threadsPerUnit),
      'Threads that share one unit, by launch.',
    ],
    [
      'grid_blocks',
      launches.map(({ gridBlocks }) => gridBlocks),
      'Blocks of each launch, for the units that the design was chosen for.',
    ],
  ];
}

/** The numbers of a mixed design, with the units of each class. */
function classNumbers(row: RankRow, classes: readonly DesignClass[]): Numbers {
  return [
    ...launchNumbers(row).map(([name, values, about]) => [`class_${name}`, values, about] as const),
    ['class_units', classes.map(({ units }) => units), 'Units of each class in the workload.'],
  ];
}

function cudaClasses(row: RankRow, classes: readonly DesignClass[]): readonly string[] {
  return [
    '/// Classes of units by length, the shortest first: a launch for each.',
    `constexpr unsigned class_count = ${classes.length}u;`,
    ...classNumbers(row, classes).flatMap(([name, values, about]) => {
      const [type, suffix] = Math.max(...values) > MAX_WORD ? ['unsigned long long', 'ull'] : ['unsigned', 'u'];
      return [
        `/// ${about}`,
        `constexpr ${type} ${name}[class_count] = {${values.map((value) => `${value}${suffix}`).join(', ')}};`,
      ];
    }),
  ];
}

function wgslClasses(row: RankRow, classes: readonly DesignClass[]): readonly string[] {
  return [
    '// Classes of units by length, the shortest first: a dispatch for each.',
    `const CLASS_COUNT: u32 = ${classes.length}u;`,
    ...classNumbers(row, classes).flatMap(([name, values, about]) => [
      `// ${about}`,
      `const ${name.toUpperCase()}: array<u32, ${classes.length}> = array<u32, ${classes.length}>(${values.map((value) => `${value}u`).join(', ')});`,
    ]),
  ];
}

/** WebGPU allows this many workgroups along one dimension unless a device offers more. */
const MAX_WORKGROUPS_PER_DIMENSION = 65_535;

/** Invocations of a workgroup, as its attribute takes them. */
export function workgroupSize({ blockWidth }: RankRow['design']): string {
  return blockWidth === undefined ? 'WORKGROUP_SIZE' : 'BLOCK_WIDTH, BLOCK_HEIGHT';
}

/** Constants of the design for a WGSL module, to be put before the shader. */
export function wgslConstants(source: CodeSource, row: RankRow): string {
  const { design } = row;
  const rows = Math.ceil(design.gridBlocks / MAX_WORKGROUPS_PER_DIMENSION);
  const columns = Math.ceil(design.gridBlocks / rows);
  return [
    ...head(source, row),
    `// Order of the units: ${comment(design.balancing)}; loop over them: ${comment(design.loop)}.`,
    ...layoutSentences(design).map((line) => `// ${line}`),
    '',
    '// Invocations that share one unit of work.',
    `const THREADS_PER_UNIT: u32 = ${design.threadsPerUnit}u;`,
    '// Units that each slot of THREADS_PER_UNIT invocations processes, one after another.',
    `const UNITS_PER_THREAD: u32 = ${design.unitsPerThread}u;`,
    `// @compute @workgroup_size(${workgroupSize(design)})`,
    `const WORKGROUP_SIZE: u32 = ${design.blockThreads}u;`,
    ...tileNumbers(row, source.image).flatMap(([name, value, about]) => [
      `// ${about}`,
      `const ${name.toUpperCase()}: u32 = ${value}u;`,
    ]),
    `const WORKGROUP_COUNT: u32 = ${design.gridBlocks}u;`,
    ...(design.classes
      ? wgslClasses(row, design.classes)
      : ['// Units that one workgroup covers.', `const UNITS_PER_WORKGROUP: u32 = ${unitsPerBlock(row)}u;`]),
    `// dispatchWorkgroups(DISPATCH.x, DISPATCH.y); at most ${MAX_WORKGROUPS_PER_DIMENSION} in each.`,
    `const DISPATCH: vec2<u32> = vec2<u32>(${columns}u, ${rows}u);`,
    '',
    '// Number of this workgroup; those from WORKGROUP_COUNT on have nothing to do.',
    'fn workgroup_number(id: vec3<u32>) -> u32 {',
    '  return id.y * DISPATCH.x + id.x;',
    '}',
    '',
  ].join('\n');
}

/** The launch parameters as a Python dictionary, for PyCUDA, CuPy, Numba and tuners. Python 3; imports nothing. */
export function pythonModule(source: CodeSource, row: RankRow): string {
  const { design } = row;
  const launch: readonly (readonly [key: string, value: string | number, about: string])[] = [
    ['threads_per_unit', design.threadsPerUnit, 'threads that share one unit of work'],
    ['units_per_thread', design.unitsPerThread, 'units that each slot of threads_per_unit threads processes'],
    ['block_threads', design.blockThreads, 'threads per block'],
    ...tileNumbers(row, source.image).map(
      ([name, value, about]) => [name, value, `${about[0].toLowerCase()}${about.slice(1, -1)}`] as const,
    ),
    ['grid_blocks', design.gridBlocks, `blocks of a launch of ${source.study.workload.units} units`],
    ['resident_blocks', row.residentBlocks, 'blocks that are to be resident on one multiprocessor'],
    ['register_cap', design.registerCap ?? 'None', 'registers per thread at most; None: no cap'],
    ...(design.classes
      ? classNumbers(row, design.classes).map(
          ([name, values, about]) => [name, `[${values.join(', ')}]`, about] as const,
        )
      : [['units_per_block', unitsPerBlock(row), 'units that one block covers'] as const]),
    ...(design.implementation === undefined
      ? []
      : [['implementation', JSON.stringify(comment(design.implementation)), 'how the kernel is written'] as const]),
    // Fixed words of the design, which JSON quotes as Python does.
    ['balancing', JSON.stringify(design.balancing), 'order of the units'],
    ['loop', JSON.stringify(design.loop), 'loop over the units of a slot'],
  ];
  return [
    ...head(source, row, '#'),
    ...layoutSentences(design).map((line) => `# ${line}`),
    '',
    'launch = {',
    ...launch.map(([key, value, about]) => `    "${key}": ${value},  # ${about}`),
    '}',
    '',
    '',
    ...(design.classes
      ? [
          'def grid_for(units, which):',
          `    """${gridForNote(source, 'class_grid_blocks', 'units of a class')}"""`,
          '    lanes = launch["block_threads"] * launch["units_per_thread"]',
          '    blocks = -(-units * launch["class_threads_per_unit"][which] // lanes)',
          source.isGridFixed ? '    return max(blocks, launch["class_grid_blocks"][which])' : '    return blocks',
        ]
      : [
          'def grid_for(units):',
          `    """${gridForNote(source, 'grid_blocks')}"""`,
          design.blockWidth === undefined
            ? '    blocks = -(-units // launch["units_per_block"])'
            : '    blocks = -(-(-(-units // launch["image_units"]) * launch["tiles_per_image"]) // launch["units_per_thread"])',
          source.isGridFixed ? '    return max(blocks, launch["grid_blocks"])' : '    return blocks',
        ]),
    '',
  ].join('\n');
}
