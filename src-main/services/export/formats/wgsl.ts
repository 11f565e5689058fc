import type { DesignClass } from '../../../../src-workers/domain/design.ts';
import type { RankRow } from '../../../contract/api.ts';
import { layoutSentences } from '../../ranking/design-text.ts';
import { classNumbers, head, MAX_WORD, unitsPerBlock, type CodeSource } from '../code.ts';
import { codeFormat, launchLimits } from '../code-format.ts';
import { comment } from '../text.ts';
import { tileNumbers } from '../tiles.ts';

export const wgsl = codeFormat({
  id: 'wgsl',
  label: 'WGSL constants',
  text: 'Constants to put before a shader',
  words: 'webgpu shader',
  extension: 'wgsl',
  tiles: true,
  limits: (source, row) => [
    ...launchLimits(source, row),
    ['number of units of a class', Math.max(0, ...(row.design.classes ?? []).map(({ units }) => units)), MAX_WORD],
  ],
  write: wgslConstants,
});

function wgslClasses(row: RankRow, classes: readonly DesignClass[]): readonly string[] {
  return [
    '// Classes of units by length, shortest first. Each class has a dispatch.',
    `const CLASS_COUNT: u32 = ${classes.length}u;`,
    ...classNumbers(row, classes).flatMap(([name, values, about]) => [
      `// ${about}`,
      `const ${name.toUpperCase()}: array<u32, ${classes.length}> = array<u32, ${classes.length}>(${values.map((value) => `${value}u`).join(', ')});`,
    ]),
  ];
}

/** The number of workgroups that every WebGPU device allows along one dimension. Some allow more. */
const MAX_WORKGROUPS_PER_DIMENSION = 65_535;

export function workgroupSize({ blockWidth }: RankRow['design']): string {
  return blockWidth === undefined ? 'WORKGROUP_SIZE' : 'BLOCK_WIDTH, BLOCK_HEIGHT';
}

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
    '// Number of this workgroup; workgroups from WORKGROUP_COUNT on have no work.',
    'fn workgroup_number(id: vec3<u32>) -> u32 {',
    '  return id.y * DISPATCH.x + id.x;',
    '}',
    '',
  ].join('\n');
}
