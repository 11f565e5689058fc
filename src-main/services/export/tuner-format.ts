import { parseBalancing } from '../../../src-workers/domain/balancing.ts';
import { designText } from '../../../src-workers/domain/design.ts';
import type { Device } from '../../../src-workers/domain/device.ts';
import { ok, unwrap, type Result, conflict, unsupported } from '../../../src-workers/domain/result.ts';
import { AXIS } from '../../../src-workers/domain/space.ts';
import { axisPosition, rankedDesigns } from '../../../src-workers/sweep/ranking.ts';
import type { RankRow } from '../../contract/api.ts';
import { ALL_VALID, rankRow } from '../ranking/rows.ts';
import type { RunView } from '../runs/run-view.ts';
import { head, type CodeSource } from './code.ts';
import { fasterText, gpuDesign, otherText, threadGroupWidth } from './code-format.ts';
import type { Exporter, ExportJob, FormatWords } from './exporter.ts';
import { comment, counted, joined, stringText } from './text.ts';

export interface TunedDesign {
  readonly row: RankRow;
  readonly unitsPerThread: number;
  readonly gridBlocks: number;
}

export interface TunerSource extends CodeSource {
  readonly designs: readonly TunedDesign[];
  readonly of: number;
  readonly leftOut: string;
}

export interface TunedRun {
  readonly run: number;
  readonly study: string;
  readonly seed: number | null;
}

interface TunerForm {
  readonly name: string;
  readonly launchable: string;
  readonly most: number;
  readonly mixed?: boolean;
  readonly launchesGroups?: (groups: number) => boolean;
  readonly blocksOnly?: boolean;
  /** Whether predictions for other numbers of units than the study's also decide which designs are listed. */
  readonly otherUnits?: boolean;
}

export interface TunerJob extends ExportJob {
  readonly device: Device;
  readonly source: TunerSource;
  readonly tuned: TunedRun;
}

interface TunerOptions extends FormatWords, TunerForm, Pick<Exporter, 'writeMeasured' | 'measuredAs'> {
  write(job: TunerJob): Promise<TunerText> | TunerText;
}

export interface TunerText {
  readonly text: string;
  readonly listed: number;
}

export function tunerFormat(options: TunerOptions): Exporter {
  const { id, label, text, words, writeMeasured, measuredAs } = options;
  return {
    id,
    label,
    text,
    ...(words !== undefined && { words }),
    about: 'tuner',
    rows: true,
    gpus: true,
    writeMeasured,
    measuredAs,
    async write(job) {
      const { view, chosen, base, input } = job;
      const gpu = await gpuDesign(job, { tiles: true, name: options.name });
      if (!gpu.ok) return gpu;
      const { device, row } = gpu.value;
      const found = tunerDesigns(view, options, device, row, input.limit);
      if (!found.ok) return found;
      const { isLaunchable, ...listed } = found.value;
      if (!isLaunchable && input.designIndex !== undefined)
        return unsupported(
          `${options.name} cannot launch design ${row.designIndex} (${designText(row.design)}). ${options.launchable} Specify another design.`,
        );
      const [first] = listed.designs;
      const isFirst = first.row.designIndex === row.designIndex;
      const other = isLaunchable ? '' : otherText(chosen, first.row, options.name);
      const note = isFirst ? gpu.value.note : fasterText(chosen, first.row, options.name) || other;
      const source: TunerSource = { ...gpu.value.source, pick: isFirst ? gpu.value.source.pick : note, ...listed };
      const tuned = { run: view.run.id, study: view.study.study.name, seed: view.run.seed };
      const written = await options.write({ ...job, device, source, tuned });
      return ok({
        // The file name must be a valid name of a Python module.
        fileName: `${base}-${id}.py`.replaceAll('-', '_'),
        mediaType: 'text/x-python',
        parts: joined([written.text]),
        designs: { listed: written.listed, of: found.value.of, most: options.most },
        ...(note && { note }),
      });
    },
  };
}

/**
 * The chosen design (by default the recommended design) is the first, because a search starts there; the other designs
 * follow by predicted time. If the format also predicts other numbers of units, all are sorted by predicted time.
 *
 * Some tuners vary only the blocks. Their designs have the implementation, order and loop of `chosen`, or of the
 * fastest design if the tuner cannot launch `chosen`.
 */
function tunerDesigns(
  view: RunView,
  form: TunerForm,
  device: Device,
  chosen: RankRow,
  limit: number,
): Result<Pick<TunerSource, 'designs' | 'of' | 'leftOut'> & { readonly isLaunchable: boolean }> {
  const { ranking } = view;
  const { axes } = ranking;
  const balancings = axes.balancing.flatMap((text, at) =>
    !form.mixed && unwrap(parseBalancing(text)).kind === 'mixed' ? [] : [at],
  );
  const blocks = axes.blockThreads.flatMap((threads, at) =>
    form.launchesGroups?.(threads / threadGroupWidth(device)) === false ? [] : [at],
  );
  const widths = axes.blockWidth ?? [null];
  const rows = widths.flatMap((width, at) => (width === null ? [at] : []));
  const positions: Record<number, ReadonlySet<number>> = {
    [AXIS.device]: new Set([view.devices.indexOf(device)]),
    [AXIS.balancing]: new Set(balancings),
    [AXIS.blockThreads]: new Set(blocks),
    [AXIS.blockWidth]: new Set(rows),
  };
  const isLaunchable = (design: number): boolean =>
    Object.entries(positions).every(([axis, at]) => at.has(axisPosition(ranking, Number(axis), design)));
  const launchable = rankedDesigns(ranking, { ...ALL_VALID, positions }, 'timeMs');
  if (launchable.length === 0)
    return conflict(
      `Run ${view.run.id} has no design on ${device.name} that ${form.name} can launch. ${form.launchable}`,
    );
  let leftOut = [
    balancings.length < axes.balancing.length ? 'Mixed designs, which have several launches, are left out.' : '',
    rows.length < widths.length ? 'Designs whose blocks are tiles are left out.' : '',
  ]
    .filter(Boolean)
    .join(' ');
  if (form.blocksOnly) {
    const like = isLaunchable(chosen.designIndex) ? chosen.designIndex : launchable[0];
    for (const axis of [AXIS.implementation, AXIS.loop, AXIS.balancing])
      positions[axis] = new Set([axisPosition(ranking, axis, like)]);
    const { design } = rankRow(view, like, 0, false);
    const named = design.implementation === undefined ? '' : `written as ${design.implementation}, `;
    leftOut = `The file has only designs ${named}with the order ${design.balancing} and a ${design.loop} loop, because ${form.name} does not vary these. ${form.launchable}`;
  }
  const list = rankedDesigns(ranking, { ...ALL_VALID, positions }, 'timeMs');
  // If the format has predictions for other numbers of units, more designs are considered than listed.
  const most = form.otherUnits ? form.most : Math.min(limit, form.most);
  const found = new Map<string, TunedDesign>();
  const add = (index: number): void => {
    const launch = axes.launch[axisPosition(ranking, AXIS.launch, index)];
    const row = rankRow(view, index, 0, false);
    const { threadsPerUnit, loop, balancing, blockThreads, gridBlocks, registerCap, implementation } = row.design;
    const isFixed = launch.kind !== 'units-per-thread';
    const own = { unitsPerThread: isFixed ? 0 : launch.value, gridBlocks: isFixed ? gridBlocks : 0 };
    // Launches that are equal at the study's number of units are listed once, unless other numbers are predicted too.
    const launched = form.otherUnits ? Object.values(own) : [gridBlocks, row.design.unitsPerThread];
    const key = [implementation, threadsPerUnit, loop, balancing, blockThreads, registerCap, ...launched].join('|');
    if (!found.has(key)) found.set(key, { row, ...own });
  };
  const isListed = list.includes(chosen.designIndex);
  if (isListed && !form.otherUnits) add(chosen.designIndex);
  for (const index of list) {
    if (found.size === most) break;
    add(index);
  }
  const designs = [...found.values()];
  if (designs.length > 1 && designs[1].row.timeMs < designs[0].row.timeMs)
    leftOut = `${leftOut} The first design is the chosen one, which is not the fastest by prediction.`;
  return ok({ designs, of: list.length, leftOut: leftOut.trim(), isLaunchable: isListed });
}

/** Digits of a written prediction. The prediction is accurate to fewer digits, and a double has more. */
const DIGITS = 6;
export const number = (value: number): string =>
  Number.isFinite(value) ? String(Number(value.toPrecision(DIGITS))) : 'None';
/** JSON and Python quote printable ASCII in the same way. */
export const pythonText = (value: string): string => JSON.stringify(stringText(value));
export const tuple = (values: readonly string[]): string => `(${values.join(', ')}${values.length === 1 ? ',' : ''})`;

export function tunerHead(source: TunerSource, by = 'predicted time'): readonly string[] {
  return [
    ...head(source, source.designs[0].row, '#'),
    `# The best ${source.designs.length} of ${counted(source.of, 'valid design')} for this device, by ${by}. These times are predictions.`,
    ...(source.leftOut === '' ? [] : [`# ${comment(source.leftOut)}`]),
  ];
}

export const BLOCKS = `    return grid_blocks or -(-units * threads_per_unit // (block_threads * units_per_thread))`;
