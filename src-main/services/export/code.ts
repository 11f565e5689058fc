import { tieBandText, type TieBand } from '../../../src-workers/domain/evidence.ts';
import { designText, type DesignClass } from '../../../src-workers/domain/design.ts';
import type { Device } from '../../../src-workers/domain/device.ts';
import { assumedFacts, factText, trafficPhrase, type InputFact } from '../../../src-workers/domain/provenance.ts';
import { timeText } from '../../../src-workers/domain/times.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import type { RankRow } from '../../contract/api.ts';
import type { Study } from '../../contract/study.ts';
import { floorSentence } from '../evidence/time-errors.ts';
import { pickRule, type RecommendedDesign } from '../ranking/recommended.ts';
import { APP_VERSION } from '../version.ts';
import type { ImageOfUnits } from './tiles.ts';
import { comment, identifier } from './text.ts';

/** Writes the chosen design as code. Only checked numbers and cleaned names reach the text. */

export interface CodeSource {
  readonly study: Study;
  readonly from: string;
  readonly model: string;
  readonly inputs: readonly InputFact[];
  readonly pick: string;
  readonly evidence: string;
  readonly law: LengthLaw;
  readonly isGridFixed: boolean;
  readonly image: ImageOfUnits | null;
}

export function implementationName({ study }: CodeSource, { design }: RankRow): string {
  return identifier([study.kernel.name, design.implementation ?? ''].join(' '));
}

export function head(
  { study, from, model, inputs, pick, evidence }: CodeSource,
  row: RankRow,
  mark = '//',
): readonly string[] {
  const rank = row.rank > 0 ? `, rank ${row.rank}` : '';
  const assumed = assumedFacts(inputs).map((fact) => `Assumed: ${comment(factText(fact))}.`);
  const traffic = trafficPhrase(inputs, row);
  const floor = row.fidelity === 'predicted' ? floorSentence(row.timeMs) : null;
  return [
    // A C++ compiler that expects another encoding could join the last byte of a letter with the end of the line.
    comment(study.name).replace(/[^\x20-\x7e]$/u, '$&.'),
    `On ${comment(row.device)}: predicted ${comment(timeText(row.timeMs))}${rank}.`,
    ...(floor === null ? [] : [comment(floor)]),
    `${comment(designText(row.design))}`,
    `Lockstep ${APP_VERSION}, model ${comment(model)}, ${from}, design ${row.designIndex}.`,
    ...(pick === '' ? [] : [comment(pick)]),
    comment(evidence),
    ...(traffic === null ? [] : [`Traffic: ${comment(traffic)}.`]),
    ...(assumed.length > 0 ? assumed : ['Nothing is assumed.']),
  ].map((line) => `${mark} ${line}`);
}

/** Explains `grid_for`: with its number of blocks, slots that loop over `units_per_thread` units reach all units. */
export function gridForNote({ isGridFixed }: CodeSource, fixed: string, what = 'units'): string {
  return isGridFixed
    ? `The number of blocks for a number of ${what}. The design fixes the number of blocks, but more are needed if a slot would otherwise have more than units_per_thread ${what}. ` +
        `A kernel with a grid-stride loop can launch ${fixed} blocks for any number of ${what}.`
    : `The number of blocks for another number of ${what} with the same work per slot.`;
}

/**
 * Returns how the design was weighed and how many others are tied with it; empty if neither applies.
 * @param all whether all ties are counted
 */
export function pickText(
  { ties, band, weighed, isByRule }: Omit<RecommendedDesign, 'designIndex'>,
  device: Device,
  all = true,
): string {
  const tied = ties > 1 ? [`${all ? '' : 'At least '}${tiesText(ties, band)}`, isByRule ? pickRule(device) : ''] : [];
  return [weighed, ...tied].filter(Boolean).join(' ');
}

export function tiesText(ties: number, band: TieBand): string {
  return `${ties.toLocaleString('en')} designs of this device are tied for the best: their predicted times are ${tieBandText(band)}.`;
}

export function unitsPerBlock({ design }: RankRow): number {
  return design.unitsPerThread * (design.blockThreads / design.threadsPerUnit);
}

export function gridFor(parameters: string, needed: string, fixed: string | null): readonly string[] {
  return [
    `constexpr unsigned grid_for(${parameters}) {`,
    fixed === null
      ? `  return static_cast<unsigned>(${needed});`
      : `  return ${needed} > ${fixed} ? static_cast<unsigned>(${needed}) : ${fixed};`,
    '}',
  ];
}

/** The largest 32-bit word marks a class without an upper end, unless a class really ends at this value. */
export const MAX_WORD = 0xffff_ffff;

type Numbers = readonly (readonly [name: string, values: readonly number[], about: string])[];

/** Each class of a mixed design has its own launch, shortest units first. */
export function launchNumbers({ design }: RankRow): Numbers {
  const launches: readonly Omit<DesignClass, 'units'>[] = design.classes ?? [{ ...design, upTo: null }];
  const none = launches.some(({ upTo }) => upTo !== null && upTo >= MAX_WORD) ? Number.MAX_SAFE_INTEGER : MAX_WORD;
  return [
    [
      'up_to',
      launches.map(({ upTo }) => (upTo === null ? none : Math.floor(upTo))),
      'The longest unit of each launch, in iterations. The last launch has all longer units.',
    ],
    [
      'threads_per_unit',
      launches.map(({ threadsPerUnit }) => threadsPerUnit),
      'Threads that share one unit, by launch.',
    ],
    [
      'grid_blocks',
      launches.map(({ gridBlocks }) => gridBlocks),
      'Blocks of each launch, for the number of units of the study.',
    ],
  ];
}

export function classNumbers(row: RankRow, classes: readonly DesignClass[]): Numbers {
  return [
    ...launchNumbers(row).map(([name, values, about]) => [`class_${name}`, values, about] as const),
    ['class_units', classes.map(({ units }) => units), 'Units of each class in the workload.'],
  ];
}
