import type { RankRow } from '../../../contract/api.ts';
import { layoutSentences } from '../../ranking/design-text.ts';
import { classNumbers, gridForNote, head, unitsPerBlock, type CodeSource } from '../code.ts';
import { codeFormat } from '../code-format.ts';
import { stringText } from '../text.ts';
import { tileNumbers } from '../tiles.ts';

export const python = codeFormat({
  id: 'python',
  label: 'Python launch parameters',
  text: 'A dictionary for CuPy, Numba, PyCUDA',
  words: 'cupy numba pycuda dict',
  extension: 'py',
  mediaType: 'text/x-python',
  tiles: true,
  // Python's numbers have any size, so nothing is limited.
  limits: () => [],
  write: pythonModule,
});

function pythonModule(source: CodeSource, row: RankRow): string {
  const { design } = row;
  const launch: readonly (readonly [key: string, value: string | number, about: string])[] = [
    ['threads_per_unit', design.threadsPerUnit, 'threads that share one unit of work'],
    ['units_per_thread', design.unitsPerThread, 'units that each slot of threads_per_unit threads processes'],
    ['block_threads', design.blockThreads, 'threads per block'],
    ...tileNumbers(row, source.image).map(
      ([name, value, about]) => [name, value, `${about[0].toLowerCase()}${about.slice(1, -1)}`] as const,
    ),
    ['grid_blocks', design.gridBlocks, `blocks of a launch of ${source.study.workload.units} units`],
    ['resident_blocks', row.residentBlocks, 'blocks that should be resident on one multiprocessor'],
    ['register_cap', design.registerCap ?? 'None', 'largest number of registers per thread, or None for no cap'],
    ...(design.classes
      ? classNumbers(row, design.classes).map(
          ([name, values, about]) => [name, `[${values.join(', ')}]`, about] as const,
        )
      : [['units_per_block', unitsPerBlock(row), 'units that one block covers'] as const]),
    ...(design.implementation === undefined
      ? []
      : [
          [
            'implementation',
            JSON.stringify(stringText(design.implementation)),
            'the implementation of the kernel',
          ] as const,
        ]),
    // These are fixed words, which JSON and Python quote in the same way.
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
