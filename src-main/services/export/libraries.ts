import { parseBalancing } from '../../../src-workers/domain/balancing.ts';
import { isWholeUnit } from '../../../src-workers/domain/design.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import type { RankRow } from '../../contract/api.ts';
import { layoutSentences } from '../ranking/design-text.ts';
import { head, launchNumbers, type CodeSource } from './code.ts';

/** Returns whether the launch fixes which whole units a slot takes. Otherwise, slots fetch units, or units are cut. */
export function isDealt({ design }: RankRow): boolean {
  const balancing = unwrap(parseBalancing(design.balancing));
  return design.classes !== undefined || (isWholeUnit(balancing) && balancing.kind !== 'dynamic-fetch');
}

export function launchConstants(row: RankRow, type: string): string {
  const numbers = launchNumbers(row);
  const lists = numbers.map(([name, values, said]) => {
    const [own, mark] = name === 'up_to' ? ['unsigned launch_up_to', 'u'] : [`${type} ${name}`, ''];
    return `/// ${said}\nconstexpr ${own}[launch_count] = {${values.map((value) => `${value}${mark}`).join(', ')}};`;
  });
  return `/// Number of launches. A mixed design has one launch for each class of lengths, shortest class first.
constexpr ${type} launch_count = ${numbers[0][1].length};
${lists.join('\n')}
/// Number of units that each slot processes, one after another. If launches differ, it is the largest number.
constexpr ${type} units_per_thread = ${row.design.unitsPerThread};`;
}

export function about(source: CodeSource, row: RankRow): string {
  return [...head(source, row), ...layoutSentences(row.design).map((line) => `// ${line}`)].join('\n');
}

export const rounds = (body: string): string => `  for (long long at = slot; at < units; at += slots) {
    ${body}
  }`;
