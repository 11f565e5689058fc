import type { RankRow } from '../../contract/api.ts';
import type { RunView } from '../run-view.ts';
import { APP_VERSION } from '../version.ts';

/** The chosen design as code. Only checked numbers and cleaned names reach the text. */

const identifier = (text: string): string => text.replace(/[^A-Za-z0-9]+/g, '_').replace(/^_+|_+$/g, '').replace(/^(\d)/, '_$1') || 'kernel';
/** Text for a comment: one line, nothing that could end it. */
const comment = (text: string): string => text.replace(/[^\x20-\x7e]/g, ' ').replaceAll('*/', '* /');

function head(view: RunView, row: RankRow): readonly string[] {
  return [
    `${comment(view.study.study.name)}: rank ${row.rank} on ${comment(row.device)}, predicted ${row.timeMs.toPrecision(4)} ms.`,
    `Lockstep ${APP_VERSION}, run ${view.run.id}, design ${row.designIndex}.`,
  ];
}

/** A header with the launch shape, `__launch_bounds__` arguments and a host helper for the grid. C++14 and later. */
export function cudaHeader(view: RunView, row: RankRow): string {
  const { design } = row;
  const name = identifier(view.study.study.kernel.name);
  const guard = `LOCKSTEP_${name.toUpperCase()}_CUH`;
  const covers = design.unitsPerThread * (design.blockThreads / design.threadsPerUnit);
  return [
    ...head(view, row).map((line) => `// ${line}`),
    `#ifndef ${guard}`,
    `#define ${guard}`,
    '',
    `namespace lockstep_${name} {`,
    '',
    '/// Threads that share one unit of work.',
    `constexpr unsigned threads_per_unit = ${design.threadsPerUnit}u;`,
    '/// Units each slot of threads_per_unit threads processes, one after another.',
    `constexpr unsigned units_per_thread = ${design.unitsPerThread}u;`,
    '/// Threads per block.',
    `constexpr unsigned block_threads = ${design.blockThreads}u;`,
    '/// Blocks that should be resident on one multiprocessor: the second argument of __launch_bounds__.',
    `constexpr unsigned resident_blocks = ${row.residentBlocks}u;`,
    '/// Blocks for the number of units the design was chosen for.',
    `constexpr unsigned grid_blocks = ${design.gridBlocks}u;`,
    '/// Order or partition of the units before launch.',
    `constexpr const char* balancing = "${comment(design.balancing)}";`,
    `constexpr const char* loop_form = "${design.loop}";`,
    '',
    '/// Blocks that cover `units` units with this design.',
    'constexpr unsigned grid_for(unsigned long long units) {',
    `  return static_cast<unsigned>((units + ${covers}ull - 1ull) / ${covers}ull);`,
    '}',
    '',
    `}  // namespace lockstep_${name}`,
    '',
    `/// Put before the kernel: __global__ void LOCKSTEP_LAUNCH_BOUNDS_${name.toUpperCase()} kernel(...).`,
    `#define LOCKSTEP_LAUNCH_BOUNDS_${name.toUpperCase()} __launch_bounds__(${design.blockThreads}, ${row.residentBlocks})`,
    '',
    `#endif  // ${guard}`,
    '',
  ].join('\n');
}

export function wgslConstants(view: RunView, row: RankRow): string {
  const { design } = row;
  return [
    ...head(view, row).map((line) => `// ${line}`),
    `const THREADS_PER_UNIT: u32 = ${design.threadsPerUnit}u;`,
    `const UNITS_PER_THREAD: u32 = ${design.unitsPerThread}u;`,
    `const WORKGROUP_SIZE: u32 = ${design.blockThreads}u;`,
    `const WORKGROUP_COUNT: u32 = ${design.gridBlocks}u;`,
    `// ${comment(design.balancing)}, ${design.loop} loop`,
    '',
  ].join('\n');
}
