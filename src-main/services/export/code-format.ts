import { parseBalancing } from '../../../src-workers/domain/balancing.ts';
import { blockText, designText } from '../../../src-workers/domain/design.ts';
import type { Device } from '../../../src-workers/domain/device.ts';
import type { LoopForm } from '../../../src-workers/domain/kernel.ts';
import { ok, unwrap, type Result, unsupported, conflict } from '../../../src-workers/domain/result.ts';
import { AXIS } from '../../../src-workers/domain/space.ts';
import { timeText } from '../../../src-workers/domain/times.ts';
import { moments } from '../../../src-workers/models/workload/laws.ts';
import { axisPosition, rankedDesigns } from '../../../src-workers/sweep/ranking.ts';
import type { RankRow } from '../../contract/api.ts';
import { MODEL_VERSION } from '../version.ts';
import { recommendOfRun } from '../advice/of-run.ts';
import { recommendedDesign, runInputs } from '../ranking/recommended.ts';
import { ALL_VALID } from '../ranking/rows.ts';
import type { RunView } from '../runs/run-view.ts';
import { launchNumbers, MAX_WORD, pickText, unitsPerBlock, type CodeSource } from './code.ts';
import {
  chosenRow,
  type CodeExporter,
  type CodeForm,
  type ExportJob,
  type FormatWords,
  type PickedRow,
} from './exporter.ts';
import { designEvidence } from './facts.ts';
import { joined, whole } from './text.ts';
import { imageOf } from './tiles.ts';

/** The sum of two such numbers fits a 32-bit word. */
export const MAX_COUNT = 2 ** 31 - 1;

type Limit = readonly [what: string, value: number, most: number];

interface CodeOptions extends FormatWords {
  readonly extension: string;
  readonly mediaType?: string;
  /** The name of the code at the start of a sentence. The default is `Code for GPUs`. */
  readonly name?: string;
  readonly tiles?: boolean;
  readonly narrow?: CodeForm['narrow'];
  limits(source: CodeSource, row: RankRow): readonly Limit[];
  write(source: CodeSource, row: RankRow, width: number): string;
}

export function codeFormat(options: CodeOptions): CodeExporter {
  const { name: _name, extension, mediaType = 'text/plain', tiles = false, narrow, limits, write, ...entry } = options;
  const code: CodeForm = {
    document(base, source, row, width) {
      if (row.design.blockWidth !== undefined && !tiles)
        return unsupported(
          `The blocks of design ${row.designIndex} are tiles (${blockText(row.design)}), but this code has blocks of one row. Specify a design whose blocks are rows, or export CUDA or WGSL.`,
        );
      const large = limits(source, row).find(([, value, most]) => value > most);
      if (large)
        return unsupported(
          `The ${large[0]} of design ${row.designIndex} is ${whole(large[1])}, which is above the limit of this code (${whole(large[2])}). Export the design as Python, or as a table.`,
        );
      return ok({ fileName: `${base}.${extension}`, mediaType, text: write(source, row, width) });
    },
    narrow,
  };
  return {
    ...entry,
    about: 'code',
    rows: false,
    gpus: true,
    code,
    async write(job) {
      const found = await gpuDesign(job, options);
      if (!found.ok) return found;
      const { device, row, source, note } = found.value;
      const document = code.document(job.base, source, row, threadGroupWidth(device));
      return document.ok
        ? ok({ ...document.value, parts: joined([document.value.text]), ...(note && { note }) })
        : document;
    },
  };
}

export function launchLimits(_: CodeSource, row: RankRow, unitsPerBlockMost = MAX_WORD): readonly Limit[] {
  const [[, thresholds]] = launchNumbers(row);
  return [
    ['threshold of a class', Math.max(...thresholds.slice(0, -1)), MAX_WORD],
    ['number of blocks', row.design.gridBlocks, MAX_WORD],
    ['number of units per block', unitsPerBlock(row), unitsPerBlockMost],
  ];
}

function slotsOf(row: RankRow): number {
  const [, [, threadsPerUnit], [, blocks]] = launchNumbers(row);
  return Math.max(...blocks.map((grid, at) => grid * (row.design.blockThreads / threadsPerUnit[at])));
}

export function loopLimits(source: CodeSource, row: RankRow): readonly Limit[] {
  return [
    ...launchLimits(source, row),
    ['number of units', source.study.workload.units, MAX_COUNT],
    ['longest unit', source.law.support.reduce((most, length) => Math.max(most, length), 0), MAX_COUNT],
    ['number of slots', slotsOf(row), MAX_COUNT],
  ];
}

/** With even shares, a WGSL kernel adds up all iterations in 32-bit numbers. */
export function shareLimit({ study, law }: CodeSource, row: RankRow): Limit {
  const sum = (moments(law).mean + 1) * study.workload.units;
  return ['sum of all iterations', sum, MAX_WORD - slotsOf(row)];
}

export function threadGroupWidth(device: Device): number {
  return device.kind === 'gpu' ? device.threadGroupWidth : 1;
}

/** `note` names the faster design that the code cannot express. */
export async function gpuDesign(
  job: ExportJob,
  form: Pick<CodeOptions, 'narrow' | 'name' | 'tiles'>,
): Promise<Result<{ device: Device; row: RankRow; source: CodeSource; note: string }>> {
  const { view, chosen } = job;
  const gpu = await onGpu(job);
  if (!gpu.ok) return gpu;
  const device = view.devices.find(({ id }) => id === gpu.value.row.deviceId)!;
  const own = form.tiles ? gpu.value : rowDesign(view, device, gpu.value);
  const narrowed = form.narrow ? form.narrow(view, device, own) : ok(own);
  if (!narrowed.ok) return narrowed;
  const { row, picked } = narrowed.value;
  const { ranking } = view;
  const note = fasterText(chosen, row, form.name) || otherText(chosen, row, form.name);
  const launch = ranking.axes.launch[axisPosition(ranking, AXIS.launch, row.designIndex)];
  const source: CodeSource = {
    study: view.study.study,
    from: `run ${view.run.id}`,
    model: view.run.modelVersions.prediction ?? MODEL_VERSION,
    inputs: runInputs(view, device, row.design.implementation),
    pick: [note, picked ? pickText(picked, device) : ''].filter(Boolean).join(' '),
    evidence: designEvidence(view, device, row),
    law: view.predictor.plan.law,
    isGridFixed: launch.kind !== 'units-per-thread',
    image: imageOf(view.predictor.plan),
  };
  return ok({ device, row, source, note });
}

/** Replaces a recommended design of a CPU by the one of a GPU. Fails if the user chose the design or the device. */
async function onGpu({ context, view, chosen, recommended, input }: ExportJob): Promise<Result<PickedRow>> {
  const gpus = view.devices.flatMap(({ kind }, at) => (kind === 'gpu' ? [at] : []));
  const isGpus = view.devices.some(({ id, kind }) => id === chosen.deviceId && kind === 'gpu');
  if (isGpus) return ok({ row: chosen, picked: recommended });
  const onGpus = { ...ALL_VALID, positions: { [AXIS.device]: new Set(gpus) } };
  const fastest = recommended === null || input.deviceId !== undefined ? null : recommendedDesign(view, onGpus);
  if (!fastest) return cpuHasNoCode(chosen);
  const { deviceId } = chosenRow(view, ALL_VALID, fastest.designIndex);
  const best = await recommendOfRun(context, view, deviceId);
  if (!best.ok) return best;
  return best.value
    ? ok({ row: chosenRow(view, ALL_VALID, best.value.designIndex), picked: best.value })
    : cpuHasNoCode(chosen);
}

export function cpuHasNoCode({ designIndex, device }: Pick<RankRow, 'designIndex' | 'device'>): Result<never> {
  return unsupported(
    `Design ${designIndex} is for the CPU ${device}, but launch code is for GPUs. Specify a design for a GPU.`,
  );
}

function rowDesigns({ ranking, devices }: RunView, device: Device): Uint32Array {
  const rows = (ranking.axes.blockWidth ?? [null]).flatMap((width, at) => (width === null ? [at] : []));
  const positions = { [AXIS.device]: new Set([devices.indexOf(device)]), [AXIS.blockWidth]: new Set(rows) };
  return rankedDesigns(ranking, { ...ALL_VALID, positions }, 'timeMs');
}

function rowDesign(view: RunView, device: Device, chosen: PickedRow): PickedRow {
  if (chosen.row.design.blockWidth === undefined || chosen.picked === null) return chosen;
  const [best] = rowDesigns(view, device);
  return best === undefined ? chosen : { row: chosenRow(view, ALL_VALID, best), picked: null };
}

/**
 * Makes the `narrow` of a format that supports only some orders and loops.
 * @param words what the code supports, to stand after "with"
 */
export function narrowTo(
  takes: (kind: string, loop: LoopForm) => boolean,
  words: string,
): (view: RunView, device: Device, chosen: PickedRow) => Result<PickedRow> {
  return (view, device, { row, picked }) => {
    const { balancing, loop } = row.design;
    if (takes(kindOf(balancing), loop)) return ok({ row, picked });
    if (picked === null)
      return unsupported(
        `Design ${row.designIndex} has the order ${balancing} and a ${loop} loop. Specify a design with ${words}.`,
      );
    const { ranking } = view;
    const { axes } = ranking;
    const kinds = axes.balancing.map(kindOf);
    const best = rowDesigns(view, device).find((design) =>
      takes(kinds[axisPosition(ranking, AXIS.balancing, design)], axes.loop[axisPosition(ranking, AXIS.loop, design)]),
    );
    return best === undefined
      ? conflict(`Run ${view.run.id} has no valid design with ${words} on ${device.name}.`)
      : ok({ row: chosenRow(view, ALL_VALID, best), picked: null });
  };
}

const kindOf = (balancing: string): string => unwrap(parseBalancing(balancing)).kind;

export function otherText(asked: RankRow, { designIndex }: RankRow, name = 'Code for GPUs'): string {
  return asked.designIndex === designIndex
    ? ''
    : `${name} cannot express the recommended design ${asked.designIndex} (${designText(asked.design)}, on ${asked.device}).`;
}

export function fasterText(asked: RankRow, { timeMs }: RankRow, name = 'Code for GPUs'): string {
  return asked.timeMs < timeMs
    ? `${name} cannot express the faster design ${asked.designIndex} (${designText(asked.design)}, on ${asked.device}): ${timeText(asked.timeMs)}, against ${timeText(timeMs)} here.`
    : '';
}
