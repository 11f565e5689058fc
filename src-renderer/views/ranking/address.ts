import * as v from 'valibot';
import { RANK_COLUMNS } from '../../../src-main/contract/api.ts';
import { rankFilter, type RankFilter } from '../../../src-main/contract/procedures.ts';
import { choiceField, flagField, jsonField, numberField } from '../../state/location.svelte.ts';

export type Narrowing = Omit<RankFilter, 'deviceId'>;

const narrowingSchema = v.omit(rankFilter, ['deviceId']);

/** The part of the address that every view of a run's designs shares. */
export const explorationAddress = {
  design: numberField<number | null>(null),
  /** The design pinned as the baseline. The default is the saved baseline or the plain design. */
  baseline: numberField<number | null>(null),
  filter: jsonField<Narrowing>({}, (value) => {
    const read = v.safeParse(narrowingSchema, value);
    if (!read.success) return undefined;
    const { validity, ...rest } = read.output;
    return validity === 'valid' ? rest : { ...rest, validity };
  }),
};

export const MODES = ['values', 'differences', 'both'] as const;
export type Mode = (typeof MODES)[number];

export const rankingAddress = {
  ...explorationAddress,
  sort: choiceField(RANK_COLUMNS, 'timeMs'),
  descending: flagField(),
  mode: choiceField(MODES, 'both'),
  timeline: flagField(),
  replication: numberField(0),
};
