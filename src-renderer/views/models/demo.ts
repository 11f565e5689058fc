import type { ProcedureInput, ProcedureOutput } from '../../../src-main/contract/procedures.ts';
import type { CpuDevice, GpuDevice } from '../../../src-workers/domain/device.ts';
import { sentenceCase, type Term, type TermKey } from '../../../src-workers/domain/terms.ts';
import type { StackRun } from '../../../src-workers/models/divergence/emulator.ts';
import type { Program } from '../../../src-workers/models/divergence/program.ts';
import { curvesChart, curvesTable, type CurvesInput } from '../../charts/curves.ts';
import type { EChartsOption } from '../../charts/echarts.ts';
import type { ChartSize } from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import type { Zoom } from '../../charts/zoom.ts';
import { count } from '../../format/numbers.ts';
import type { FigureInput, FigureName, FigureOutput } from './figures.ts';
import { LAWS, type LawId } from './laws.ts';

export const spelled = (text: string, term: Term): string =>
  text.replaceAll(/\{(\w+?)(s?)\}/g, (_, key: string, many: string) => {
    const word = term((key.charAt(0).toLowerCase() + key.slice(1)) as TermKey, many ? 'many' : 'one');
    return /^[A-Z]/.test(key) ? sentenceCase(word) : word;
  });

export interface DemoContext {
  readonly term: Term;
  readonly say: (text: string) => string;
  readonly gpus: readonly GpuDevice[];
  readonly cpus: readonly CpuDevice[];
}
export type Values = Readonly<Record<string, string | number>>;
type Live<T> = T | ((context: DemoContext, values: Values) => T);

export interface Option<T extends string = string> {
  readonly value: T;
  readonly label: string;
  readonly detail?: string;
}
interface Slider {
  readonly kind: 'slider';
  readonly label: string;
  readonly symbol?: string;
  readonly unit?: string;
  readonly min: Live<number>;
  readonly max: Live<number>;
  readonly step: Live<number>;
  readonly log?: boolean;
  /** `Infinity` means the largest allowed value. */
  readonly default: number;
}
export interface Choice<T extends string = string> {
  readonly kind: 'select' | 'segmented';
  readonly label: string;
  readonly name?: string;
  readonly options: Live<readonly Option<T>[]>;
  readonly default: T;
}
interface Draw {
  readonly kind: 'draw';
  readonly label: string;
  readonly default: number;
}
export type Control = Slider | Choice | Draw;
export type Controls = Readonly<Record<string, Control>>;
export type ValuesOf<C extends Controls> = {
  readonly [Id in keyof C]: C[Id] extends { kind: 'slider' | 'draw' } ? number : C[Id]['default'];
};

export const slider = (label: string, rest: Omit<Slider, 'kind' | 'label'>): Slider => ({ kind: 'slider', label, ...rest }); // prettier-ignore
export const draw = (label: string): Draw => ({ kind: 'draw', label, default: 1 });
export function segmented<T extends string>(
  label: string,
  labels: Readonly<Record<T, string>>,
  first: NoInfer<T>,
  name?: string,
): Choice<T> {
  const options = (Object.keys(labels) as T[]).map((value) => ({ value, label: labels[value] }));
  return { kind: 'segmented', label, options, default: first, ...(name !== undefined && { name }) };
}
export const lawChoice = (first: LawId, laws: readonly Option<LawId>[] = LAWS, name?: string): Choice<LawId> => ({ kind: 'select', label: 'Lengths of the units', options: laws, default: first, ...(name !== undefined && { name }) }); // prettier-ignore
export const gpuChoice = (first: string): Choice => ({
  kind: 'select',
  label: 'Device',
  options: ({ gpus }) => gpus.map(({ id, name, architecture }) => ({ value: id, label: name, detail: architecture })),
  default: first,
});
export const deviceOf = <D extends { readonly id: string }>(devices: readonly D[], id: string): D | null =>
  devices.find((device) => device.id === id) ?? devices[0] ?? null;

/** Returns a property of the chosen GPU, for a slider. Without a GPU, the slider is hidden. */
export const ofDevice =
  (read: (device: GpuDevice) => number): Live<number> =>
  ({ gpus }, { device }) => {
    const chosen = deviceOf(gpus, String(device));
    return chosen ? read(chosen) : 1;
  };

export function resolve(control: Control, context: DemoContext, values: Values) {
  const now = <T extends number | readonly Option[]>(live: Live<T>): T =>
    typeof live === 'function' ? live(context, values) : live;
  const label = context.say(control.label);
  if (control.kind === 'draw') return { ...control, label };
  if (control.kind === 'slider')
    return { ...control, label, min: now(control.min), max: now(control.max), step: now(control.step) };
  const options = now(control.options).map((option) => ({ ...option, label: context.say(option.label) }));
  return { ...control, label, options };
}

/** Makes properties that read one value each, within its limits, so that Svelte tracks each value on its own. */
export function readValues(
  controls: Controls,
  chosen: Readonly<Record<string, unknown>>,
  context: DemoContext,
): Values {
  const values: Record<string, string | number> = {};
  for (const [id, control] of Object.entries(controls))
    Object.defineProperty(values, id, {
      enumerable: true,
      get(): string | number {
        const now = resolve(control, context, values);
        const wanted = (chosen[id] ?? now.default) as string | number;
        if (now.kind === 'slider') return Math.min(now.max, Math.max(now.min, Number(wanted)));
        if (now.kind === 'draw' || now.options.some(({ value }) => value === wanted)) return wanted;
        return now.options[0]?.value ?? now.default;
      },
    });
  return values;
}

export type Cell =
  | string
  | { readonly bar: number; readonly colour: string; readonly faint?: boolean }
  | { readonly text: string; readonly tone: 'quiet' | 'wrong' };
export interface Row {
  readonly head: string;
  readonly symbol?: string;
  readonly note?: string;
  readonly under?: string;
  readonly title?: string;
  readonly cells: readonly Cell[];
  readonly strong?: boolean;
}
export interface ChartBlock {
  readonly kind: 'chart';
  readonly label: string;
  readonly name: string;
  readonly heightPx: number;
  readonly build: (theme: ChartTheme, size: ChartSize, zoom: Zoom) => EChartsOption;
  readonly data: () => readonly (readonly (string | number)[])[];
  readonly renderer?: 'svg' | 'canvas';
  /** Adds buttons and keys that zoom along x: see `ZoomChart`. */
  readonly zoom?: { readonly hint: string; readonly plotPx: readonly [left: number, right: number] };
}
interface TableBlock {
  readonly kind: 'table';
  readonly label: string;
  /** The first column and columns marked `words` hold words, the rest numbers or bars. */
  readonly columns: readonly (string | { readonly title: string; readonly words?: true; readonly barWidth?: string })[];
  readonly rows: readonly Row[];
}
/** A part of a figure. A string is a paragraph, with **bold** words. */
export type Block =
  | string
  | ChartBlock
  | { readonly kind: 'controls'; readonly ids: readonly string[]; readonly note?: string }
  | { readonly kind: 'hint'; readonly text: string }
  | { readonly kind: 'facts'; readonly facts: readonly (readonly [label: string, value: string])[] }
  | TableBlock
  | { readonly kind: 'stack'; readonly run: StackRun; readonly program: Program };
export interface Figure {
  readonly title?: string;
  readonly hint?: string;
  /** Whether the figure needs the demo's answer. It is missing until the answer arrives, and dimmed while outdated. */
  readonly waits?: true;
  readonly blocks: readonly (Block | null | false)[];
}
export const table = (label: string, columns: TableBlock['columns'], rows: readonly Row[]): TableBlock => ({
  kind: 'table',
  label,
  columns,
  rows,
});
export const controls = (...ids: readonly string[]): Block => ({ kind: 'controls', ids });
export const hint = (text: string): Block => ({ kind: 'hint', text });

export const allowedBlocks = (label: string, head: string, say: DemoContext['say'], most: number, limits: readonly (readonly [name: string, blocks: number, counts: boolean])[]): Block =>
  table(
    label,
    [head, { title: `Allows, up to ${count(most)}`, barWidth: '40%' }, say('{Blocks}')],
    limits.map(([name, blocks, counts]) => ({
      head: say(name),
      strong: counts,
      cells: [
        { bar: Math.min(1, blocks / most), colour: counts ? 'text' : 'base', faint: !counts },
        Number.isFinite(blocks) ? count(blocks) : 'any',
      ],
    })),
  ); // prettier-ignore

interface CurvesBlock extends CurvesInput {
  readonly label: string;
  readonly name: string;
  readonly heightPx?: number;
}
export function curves({ label, name, heightPx = 230, ...input }: CurvesBlock): ChartBlock {
  return {
    kind: 'chart',
    label,
    name,
    heightPx,
    build: (theme, size) => curvesChart(input, theme, size),
    data: () => curvesTable(input.curves, input.xTitle),
  };
}

const ENGINE_ANSWERS = ['models.play', 'evidence.gpu'] as const;
type EngineAnswer = (typeof ENGINE_ANSWERS)[number];
export const isEngineAnswer = (name: string): name is EngineAnswer =>
  (ENGINE_ANSWERS as readonly string[]).includes(name);
export type AnswerName = FigureName | EngineAnswer;
type AnswerInput<N extends AnswerName> = N extends FigureName
  ? FigureInput<N>
  : ProcedureInput<Extract<N, EngineAnswer>>;
export type AnswerOf<N extends AnswerName> = N extends FigureName
  ? FigureOutput<N>
  : ProcedureOutput<Extract<N, EngineAnswer>>;
export interface Answer<N extends AnswerName> {
  readonly value: AnswerOf<N>;
  readonly pending: boolean;
}
export type MakeFigure<V, N extends AnswerName> = (
  values: V,
  context: DemoContext,
  answer: Answer<N> | null,
) => Figure | null;

export interface Demo<V, N extends AnswerName = never> {
  readonly controls: Controls;
  readonly answer?: {
    readonly name: N;
    readonly input: (values: V) => AnswerInput<N>;
    readonly failure?: string;
    readonly computing: string;
    /** The height kept for the figure before there is an answer, px. */
    readonly heightPx: number;
  };
  readonly figures: readonly MakeFigure<V, N>[];
}
/** Makes a figure for the GPU in the control `device`; none while the catalogue is loading. */
export const onDevice =
  <V extends { readonly device: string }>(
    make: (device: GpuDevice, values: V, context: DemoContext) => Figure | null,
  ): MakeFigure<V, never> =>
  (values, context) => {
    const device = deviceOf(context.gpus, values.device);
    return device && make(device, values, context);
  };

export type AnyDemo = { [N in AnswerName]: Demo<never, N> }[AnswerName] | Demo<never>;
