import type { DesignClass } from '../../../../src-workers/domain/design.ts';
import type { RankRow } from '../../../contract/api.ts';
import { layoutSentences } from '../../ranking/design-text.ts';
import {
  classNumbers,
  gridFor,
  gridForNote,
  head,
  implementationName,
  MAX_WORD,
  unitsPerBlock,
  type CodeSource,
} from '../code.ts';
import { codeFormat, launchLimits } from '../code-format.ts';
import { comment, stringText } from '../text.ts';
import { tileNumbers } from '../tiles.ts';

export const cuda = codeFormat({
  id: 'cuda',
  label: 'CUDA header',
  text: 'Launch shape, bounds and grid helper',
  words: 'c++ launch bounds',
  extension: 'cuh',
  tiles: true,
  limits: launchLimits,
  write: cudaHeader,
});

/**
 * With a register cap, the macro before the kernel's name is only `__maxnreg__` (CUDA 12.4 or later). The compiler
 * refuses launch bounds beside it, and launch bounds would override `-maxrregcount` (CUDA C++ Programming Guide,
 * "Maximum Number of Registers per Thread").
 */
function boundsMacro(macro: string, { design, residentBlocks }: RankRow): readonly string[] {
  const { blockThreads } = design;
  // ptxas ignores a cap above 255.
  const cap = design.registerCap === null ? null : Math.min(design.registerCap, 255);
  return [
    // HIP takes the second argument as waves per execution unit, not as blocks per multiprocessor.
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

/**
 * Writes a header with the launch shape, the launch bounds or register cap of the kernel, and a host function that
 * returns the grid. It needs C++14 and includes nothing, so CUDA, HIP and plain C++ accept it.
 */
export function cudaHeader(source: CodeSource, row: RankRow): string {
  const { design } = row;
  const { implementation } = design;
  const name = implementationName(source, row);
  const upper = name.toUpperCase();
  const cap = design.registerCap;
  const otherThreads = design.classes ? ', unless class_threads_per_unit has another number' : '';
  const capText =
    cap === null
      ? ', or 0 for no cap.'
      : `: LOCKSTEP_${upper}_BOUNDS sets it. CUDA before 12.4: compile with -maxrregcount=${cap}. HIP: not set.`;
  const numbers: readonly (readonly [name: string, value: number, about: string])[] = [
    ['threads_per_unit', design.threadsPerUnit, `Threads that share one unit of work${otherThreads}.`],
    [
      'units_per_thread',
      design.unitsPerThread,
      'Units that each slot of threads_per_unit threads processes, one after another.',
    ],
    ['block_threads', design.blockThreads, 'Threads per block.'],
    ...tileNumbers(row, source.image),
    [
      'grid_blocks',
      design.gridBlocks,
      `Blocks of the launch for ${source.study.workload.units} units, the number in the study.`,
    ],
    ['resident_blocks', row.residentBlocks, 'Blocks that should be resident on one multiprocessor.'],
    ['register_cap', cap ?? 0, `Maximum registers per thread${capText}`],
    ...(design.classes ? [] : [['units_per_block', unitsPerBlock(row), 'Units that one block covers.'] as const]),
  ];
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
          '/// The implementation of the kernel.',
          `constexpr const char* implementation = ${JSON.stringify(stringText(implementation))};`,
        ]),
    ...numbers.flatMap(([constant, value, about]) => [`/// ${about}`, `constexpr unsigned ${constant} = ${value}u;`]),
    ...(design.classes ? cudaClasses(row, design.classes) : []),
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
      : `// kernel<<<lockstep_${name}::grid_blocks, ${writeBlock(name, design)}>>>(...);`,
    ...boundsMacro(`LOCKSTEP_${upper}_BOUNDS`, row),
    '',
    `#endif  // LOCKSTEP_${upper}_CUH`,
    '',
  ].join('\n');
}

function writeBlock(name: string, { blockWidth }: RankRow['design']): string {
  const own = `lockstep_${name}::`;
  return blockWidth === undefined ? `${own}block_threads` : `dim3(${own}block_width, ${own}block_height)`;
}

function cudaClasses(row: RankRow, classes: readonly DesignClass[]): readonly string[] {
  return [
    '/// Classes of units by length, shortest first. Each class has a launch.',
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
