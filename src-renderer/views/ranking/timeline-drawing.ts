import type { SimulationTimeline } from '../../../src-main/contract/api.ts';
import type { Term } from '../../../src-workers/domain/terms.ts';
import { niceStep, stepDecimals } from '../../../src-workers/numeric/ticks.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { count, fixed, timeUnit } from '../../format/numbers.ts';
import type { RowGeometry } from './timeline.ts';

export const LEFT = 44;
export const RIGHT = 16;
const CURVE = 56;
const TOP = 18;
export const ROWS = TOP + CURVE + 28;
export const AXIS = 32;

export interface TimelineScene {
  readonly timeline: SimulationTimeline;
  readonly theme: ChartTheme;
  readonly term: Term;
  /** The device's colour, for blocks that are not coloured by duration. */
  readonly own: string;
  readonly colours: readonly string[] | null;
  readonly view: { readonly fromMs: number; readonly toMs: number };
  readonly width: number;
  readonly height: number;
  readonly plotPx: number;
  readonly roomPx: number;
  readonly topPx: number;
  readonly lastTopPx: number;
  readonly geometry: RowGeometry;
  readonly rows: number;
  readonly starts: ArrayLike<number>;
  /** Each block's tone (0 or 1) and relative duration (0…1). */
  readonly tones: ArrayLike<number>;
  readonly durations: ArrayLike<number>;
  readonly most: number;
  readonly over: { readonly row: number; readonly bar: number } | null;
}

export function drawTimeline(context: CanvasRenderingContext2D, scene: TimelineScene, onScreen: boolean): void {
  const { width, height, theme } = scene;
  context.fillStyle = theme.colour.raised;
  context.fillRect(0, 0, width, height);
  context.font = `11px ${theme.font}`;
  context.textBaseline = 'middle';
  drawAxis(context, scene);
  drawActiveGroups(context, scene);
  drawBlocks(context, scene);
  drawLaunches(context, scene);
  drawRowNames(context, scene, onScreen);
}

function placeOf({ view, plotPx }: TimelineScene): (ms: number) => number {
  return (ms) => LEFT + ((ms - view.fromMs) / (view.toMs - view.fromMs)) * plotPx;
}

const axisPlace = ({ roomPx, geometry }: TimelineScene): number => ROWS + Math.min(roomPx, geometry.totalPx) + 2;

function rowsInView({ topPx, roomPx, geometry, rows }: TimelineScene): readonly [first: number, end: number] {
  return [
    Math.max(0, Math.floor(topPx / geometry.rowPx)),
    Math.min(rows, Math.ceil((topPx + roomPx) / geometry.rowPx)),
  ];
}

function clipped(
  context: CanvasRenderingContext2D,
  [x, y, width, height]: readonly [number, number, number, number],
  draw: () => void,
): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  draw();
  context.restore();
}

function drawLine(
  context: CanvasRenderingContext2D,
  colour: string,
  from: readonly [x: number, y: number],
  to: readonly [x: number, y: number],
): void {
  context.strokeStyle = colour;
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  context.stroke();
}

function drawAxis(context: CanvasRenderingContext2D, scene: TimelineScene): void {
  const { timeline, view, plotPx, width } = scene;
  const { colour } = scene.theme;
  const x = placeOf(scene);
  const right = width - RIGHT;
  const axisY = axisPlace(scene);
  const step = niceStep(view.toMs - view.fromMs, Math.max(3, plotPx / 110));
  const { name: unit, perMs } = timeUnit(view.toMs);
  const decimals = stepDecimals(step * perMs);
  context.textAlign = 'center';
  for (let i = Math.ceil(view.fromMs / step - 1e-9); i * step <= view.toMs * (1 + 1e-12); i += 1) {
    const at = Math.round(x(i * step)) + 0.5;
    drawLine(context, colour.grid, [at, TOP], [at, axisY]);
    context.fillStyle = colour['text-3'];
    if (at < right - 14) context.fillText(fixed(i * step * perMs, decimals), at, axisY + 11);
  }
  context.textAlign = 'right';
  const launchesMs = timeline.launchStartMs;
  context.fillText(`${unit} from the ${launchesMs.length > 1 ? 'first ' : ''}launch`, right, axisY + 23);
  drawLine(context, colour['line-2'], [LEFT, axisY + 0.5], [right, axisY + 0.5]);
}

function drawActiveGroups(context: CanvasRenderingContext2D, scene: TimelineScene): void {
  const { timeline, term, theme, width, height, plotPx, most, over, view, own } = scene;
  const { colour } = theme;
  const x = placeOf(scene);
  const right = width - RIGHT;
  const base = TOP + CURVE;
  const curveY = (active: number) => base - (active / most) * CURVE;
  context.textAlign = 'left';
  context.fillStyle = colour['text-2'];
  context.fillText(
    `active ${term('threadGroup', 'many')} of one ${term('multiprocessor', 'short')}: mean, min and max of all${over ? `; line: ${term('multiprocessor', 'short')} ${timeline.shownMultiprocessors[over.row] + 1}` : ''}`,
    LEFT,
    8,
  );
  context.textAlign = 'right';
  context.fillStyle = colour['text-3'];
  for (const value of [0, most]) {
    const y = Math.round(curveY(value)) + 0.5;
    drawLine(context, colour.grid, [LEFT, y], [right, y]);
    context.fillText(count(value), LEFT - 8, curveY(value));
  }
  clipped(context, [LEFT, 0, plotPx, height], () => {
    const { binMs, activeMean, activeMin, activeMax, activePerRow } = timeline;
    const bins = activeMean.length;
    const first = Math.max(0, Math.floor(view.fromMs / binMs) - 1);
    const last = Math.min(bins, Math.ceil(view.toMs / binMs) + 1);
    const middle = (bin: number) => x((bin + 0.5) * binMs);
    context.globalAlpha = 0.22;
    context.fillStyle = own;
    context.beginPath();
    for (let bin = first; bin < last; bin += 1) context.lineTo(middle(bin), curveY(activeMax[bin]));
    for (let bin = last - 1; bin >= first; bin -= 1) context.lineTo(middle(bin), curveY(activeMin[bin]));
    context.fill();
    context.globalAlpha = 1;
    const line = (values: Float64Array, offset: number, stroke: string) => {
      context.strokeStyle = stroke;
      context.beginPath();
      for (let bin = first; bin < last; bin += 1) context.lineTo(middle(bin), curveY(values[offset + bin]));
      context.stroke();
    };
    context.lineWidth = 1.75;
    line(activeMean, 0, own);
    context.lineWidth = 1;
    if (over) line(activePerRow, over.row * bins, colour.text);
  });
}

function drawBlocks(context: CanvasRenderingContext2D, scene: TimelineScene): void {
  const { timeline, theme, geometry, view, plotPx, roomPx, topPx, starts, tones, durations, colours, own, over } =
    scene;
  const x = placeOf(scene);
  const [firstRow, lastRow] = rowsInView(scene);
  clipped(context, [LEFT, ROWS, plotPx, roomPx], () => {
    const { blockStartMs, blockEndMs, blockLane } = timeline;
    const tall = geometry.lanePx > 3 ? geometry.lanePx - 1 : geometry.lanePx;
    for (let row = firstRow; row < lastRow; row += 1) {
      const y = ROWS + row * geometry.rowPx - topPx;
      for (let i = starts[row]; i < starts[row + 1]; i += 1) {
        const [start, end] = [blockStartMs[i], blockEndMs[i]];
        if (end < view.fromMs || start > view.toMs) continue;
        const from = x(start);
        if (colours) context.fillStyle = colours[Math.round(durations[i] * 255)];
        else {
          context.fillStyle = own;
          // Two blocks that follow each other in a block slot have different tones.
          context.globalAlpha = tones[i] === 0 ? 0.85 : theme.dark ? 0.55 : 0.6;
        }
        context.fillRect(from, y + blockLane[i] * geometry.lanePx, Math.max(0.6, x(end) - from - 0.6), tall);
        context.globalAlpha = 1;
      }
    }
    if (over && over.bar >= 0) {
      const i = over.bar;
      const y = ROWS + over.row * geometry.rowPx - topPx + blockLane[i] * geometry.lanePx;
      context.lineWidth = 2;
      context.strokeStyle = theme.colour.accent;
      context.strokeRect(x(blockStartMs[i]) - 1, y - 1, x(blockEndMs[i]) - x(blockStartMs[i]) + 1, tall + 2);
    }
  });
}

function drawLaunches(context: CanvasRenderingContext2D, scene: TimelineScene): void {
  const { colour } = scene.theme;
  const x = placeOf(scene);
  const right = scene.width - RIGHT;
  const axisY = axisPlace(scene);
  context.textAlign = 'left';
  context.fillStyle = colour['text-2'];
  context.setLineDash([4, 3]);
  let free = LEFT;
  scene.timeline.launchStartMs.forEach((ms, launch) => {
    const at = Math.round(x(ms)) + 0.5;
    if (launch === 0 || at < LEFT || at > right) return;
    drawLine(context, colour['text-2'], [at, TOP], [at, axisY]);
    const text = `launch ${launch + 1}`;
    const wide = context.measureText(text).width + 8;
    if (at < free || at + wide > right) return;
    context.fillText(text, at + 4, ROWS - 14);
    free = at + wide;
  });
  context.setLineDash([]);
}

function drawRowNames(context: CanvasRenderingContext2D, scene: TimelineScene, onScreen: boolean): void {
  const { timeline, term, geometry, roomPx, topPx, lastTopPx } = scene;
  const { colour } = scene.theme;
  const right = scene.width - RIGHT;
  const [firstRow, lastRow] = rowsInView(scene);
  clipped(context, [0, ROWS - 7, LEFT, roomPx + 14], () => {
    context.textAlign = 'right';
    context.fillStyle = colour['text-3'];
    const every = Math.max(1, Math.ceil(14 / geometry.rowPx));
    for (let row = firstRow; row < lastRow; row += 1) {
      if (row % every !== 0) continue;
      const y = ROWS + row * geometry.rowPx - topPx + (geometry.rowPx - 4) / 2;
      context.fillText(count(timeline.shownMultiprocessors[row] + 1), LEFT - 8, y);
    }
  });
  if (onScreen && lastTopPx > 0) {
    const share = roomPx / geometry.totalPx;
    context.fillStyle = colour['line-2'];
    context.fillRect(right + 6, ROWS + (topPx / geometry.totalPx) * roomPx, 4, roomPx * share);
  }
  context.fillStyle = colour['text-3'];
  context.textAlign = 'right';
  context.fillText(term('multiprocessor', 'short'), LEFT - 8, ROWS - 14);
}
