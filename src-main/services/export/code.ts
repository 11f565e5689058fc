import { tieBandText, type TieBand } from '../../../src-workers/domain/evidence.ts';
import { designText, type DesignClass } from '../../../src-workers/domain/design.ts';
import { assumedFacts, factText, trafficPhrase, type InputFact } from '../../../src-workers/domain/provenance.ts';
import { timeText } from '../../../src-workers/domain/times.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import type { RankRow } from '../../contract/api.ts';
import type { Study } from '../../contract/study.ts';
import { APP_VERSION } from '../version.ts';
import type { ImageOfUnits } from './tiles.ts';
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
export function classNumbers(row: RankRow, classes: readonly DesignClass[]): Numbers {
  return [
    ...launchNumbers(row).map(([name, values, about]) => [`class_${name}`, values, about] as const),
    ['class_units', classes.map(({ units }) => units), 'Units of each class in the workload.'],
  ];
}
