import { BREAKDOWN_PARTS } from '../../../src-workers/domain/breakdown.ts';
import type { DeviceBest, Histogram } from '../../contract/api.ts';
import { html, ms, whole } from './text.ts';

/** Inline SVG for the HTML report. Colours are classes, so that the page's style sheet knows light and dark. */

const WIDTH = 680;
const LEFT = 44;
const RIGHT = 12;

/** Marks of series 1–5: square, diamond, triangle, cross, disc. */
const SHAPES = [
  'M-3.5-3.5h7v7h-7z',
  'M0-5 5 0 0 5-5 0z',
  'M0-4.5 4.5 4h-9z',
  'M-4-4 4 4M4-4-4 4',
  'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0',
] as const;

const svg = (height: number, label: string, body: string): string =>
  `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${html(label)}">${body}</svg>`;
const text = (x: number, y: number, words: string, attributes = ''): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${attributes}>${html(words)}</text>`;
const rect = (x: number, y: number, width: number, height: number, name: string): string =>
  `<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${Math.max(0.5, width).toFixed(1)}" height="${height.toFixed(1)}" class="${name}"/>`;
const line = (x1: number, y1: number, x2: number, y2: number, name: string): string =>
  `<path d="M${x1.toFixed(1)} ${y1.toFixed(1)}L${x2.toFixed(1)} ${y2.toFixed(1)}" class="${name}"/>`;

/** 1, 2 or 5 times a power of ten that gives about `target` steps. */
function step(span: number, target: number): number {
  const size = 10 ** Math.floor(Math.log10(span / target));
  return size * ([1, 2, 5, 10].find((factor) => factor * size * target >= span) ?? 10);
}

/** Numbers that stand well on a logarithmic axis between two values. */
export function logTicks(low: number, high: number): readonly number[] {
  const ticks: number[] = [];
  for (let decade = Math.floor(Math.log10(low)); decade <= Math.log10(high); decade += 1)
    for (const factor of [1, 1.5, 2, 3, 4, 5, 6, 8]) {
      const value = factor * 10 ** decade;
      if (value >= low * 0.999 && value <= high * 1.001) ticks.push(Number(value.toPrecision(3)));
    }
  const every = Math.ceil(ticks.length / 7);
  return ticks.filter((_, at) => at % every === 0);
}

/** All designs of the chosen device by predicted time. */
export function distributionPlot(histogram: Histogram, chosenMs: number): string {
  const { edgesMs, counts, best, median, beyond } = histogram;
  const top = 26;
  const bottom = 160;
  const first = edgesMs[0];
  const last = edgesMs[edgesMs.length - 1];
  const x = (timeMs: number): number =>
    LEFT + (Math.log(timeMs / first) / Math.log(last / first)) * (WIDTH - LEFT - RIGHT);
  const most = Math.max(1, ...counts);
  const y = (count: number): number => bottom - (count / most) * (bottom - top);
  const parts: string[] = [];
  const gap = step(most, 3);
  for (let count = 0; count <= most; count += gap) {
    parts.push(line(LEFT, y(count), WIDTH - RIGHT, y(count), 'grid'));
    parts.push(text(LEFT - 6, y(count) + 4, whole(count), 'text-anchor="end"'));
  }
  counts.forEach((count, at) => {
    if (count > 0)
      parts.push(
        rect(x(edgesMs[at]) + 0.5, y(count), x(edgesMs[at + 1]) - x(edgesMs[at]) - 1, bottom - y(count), 'bar'),
      );
  });
  parts.push(line(LEFT, bottom, WIDTH - RIGHT, bottom, 'axis'));
  for (const tick of logTicks(first, last))
    parts.push(text(x(tick), bottom + 15, String(tick), 'text-anchor="middle"'));
  parts.push(text(WIDTH - RIGHT, bottom + 30, 'predicted time, ms, logarithmic', 'text-anchor="end"'));
  parts.push(line(x(median), top - 6, x(median), bottom, 'dashed'));
  parts.push(text(x(median) + 4, top, `median ${ms(median)}`));
  parts.push(line(x(best), top - 16, x(best), bottom, 'mark'));
  parts.push(text(x(best) + 4, top - 10, `best ${ms(best)}`, 'class="strong"'));
  if (chosenMs > best * 1.001 && chosenMs <= last) {
    parts.push(line(x(chosenMs), top - 16, x(chosenMs), bottom, 'chosen'));
    parts.push(text(x(chosenMs) + 4, top + 12, `this design ${ms(chosenMs)}`, 'class="strong"'));
  }
  const note =
    beyond > 0 ? `<p class="note">${whole(beyond)} designs slower than ${ms(last)} ms are not drawn.</p>` : '';
  return (
    svg(
      194,
      `Distribution of the predicted time of all designs; best ${ms(best)} ms, median ${ms(median)} ms`,
      parts.join(''),
    ) + note
  );
}

/** Best time by threads per unit, one line per device. */
export function granularityPlot(devices: readonly DeviceBest[]): string {
  const curves = devices.map(({ device, byThreadsPerUnit }) => ({
    name: device.name,
    points: byThreadsPerUnit.filter(({ timeMs }) => Number.isFinite(timeMs)),
  }));
  const all = curves.flatMap(({ points }) => points);
  const sizes = [...new Set(all.map(({ threadsPerUnit }) => threadsPerUnit))].sort((a, b) => a - b);
  if (sizes.length < 2) return '';
  const top = 12;
  const bottom = 190;
  const right = WIDTH - 170;
  const low = Math.min(...all.map(({ timeMs }) => timeMs)) / 1.06;
  const high = Math.max(...all.map(({ timeMs }) => timeMs)) * 1.06;
  const x = (size: number): number => LEFT + 10 + (sizes.indexOf(size) / (sizes.length - 1)) * (right - LEFT - 20);
  const y = (timeMs: number): number => bottom - (Math.log(timeMs / low) / Math.log(high / low)) * (bottom - top);
  const parts: string[] = [];
  for (const tick of logTicks(low, high)) {
    parts.push(
      line(LEFT, y(tick), right, y(tick), 'grid'),
      text(LEFT - 6, y(tick) + 4, String(tick), 'text-anchor="end"'),
    );
  }
  parts.push(line(LEFT, bottom, right, bottom, 'axis'));
  for (const size of sizes) parts.push(text(x(size), bottom + 15, String(size), 'text-anchor="middle"'));
  parts.push(text(right, bottom + 30, 'threads per unit', 'text-anchor="end"'));
  const ends: { y: number; at: number; name: string; x: number }[] = [];
  curves.forEach(({ name, points }, at) => {
    if (points.length === 0) return;
    const series = `s${(at % 5) + 1}`;
    const path = points.map(
      (point, i) => `${i ? 'L' : 'M'}${x(point.threadsPerUnit).toFixed(1)} ${y(point.timeMs).toFixed(1)}`,
    );
    parts.push(`<path d="${path.join('')}" class="curve ${series}"/>`);
    const best = points.reduce((a, b) => (b.timeMs < a.timeMs ? b : a));
    for (const point of points)
      parts.push(
        `<path d="${SHAPES[at % 5]}" transform="translate(${x(point.threadsPerUnit).toFixed(1)} ${y(point.timeMs).toFixed(1)})" class="shape ${series}"/>`,
      );
    parts.push(
      `<circle cx="${x(best.threadsPerUnit).toFixed(1)}" cy="${y(best.timeMs).toFixed(1)}" r="8" class="ring"/>`,
    );
    const end = points[points.length - 1];
    ends.push({ y: y(end.timeMs), x: x(end.threadsPerUnit), at, name });
  });
  // Labels at the ends of their lines, pushed apart where lines end together.
  ends.sort((a, b) => a.y - b.y);
  let free = -Infinity;
  for (const end of ends) {
    const at = Math.max(end.y, free);
    parts.push(text(end.x + 12, at + 4, end.name, 'class="strong"'));
    free = at + 14;
  }
  return svg(Math.max(224, free + 10), 'Best predicted time by threads per unit, one line per device', parts.join(''));
}

/** Each device's best time as a bar of its parts. */
export function compositionPlot(devices: readonly DeviceBest[]): string {
  const shown = devices.filter((entry) => entry.best && entry.breakdown);
  const most = Math.max(...shown.map((entry) => entry.best!.timeMs));
  const left = 168;
  const scale = (WIDTH - left - 70) / most;
  const row = 26;
  const parts: string[] = [];
  shown.forEach(({ device, best, breakdown }, at) => {
    const y = 6 + at * row;
    parts.push(text(0, y + 11, device.name, 'class="strong"'));
    let from = left;
    for (const { id, label } of BREAKDOWN_PARTS) {
      const width = breakdown!.parts[id] * scale;
      if (width <= 0) continue;
      parts.push(
        `<g><title>${html(`${label}: ${ms(breakdown!.parts[id])} ms`)}</title>${rect(from, y, width > 2 ? width - 1 : width, 13, `part-${id}`)}</g>`,
      );
      from += width;
    }
    parts.push(text(from + 8, y + 11, ms(best!.timeMs)));
  });
  const legend = BREAKDOWN_PARTS.filter(({ id }) => shown.some(({ breakdown }) => breakdown!.parts[id] > 0))
    .map(({ id, label, hint }) => `<li title="${html(hint)}"><i class="part-${id}"></i>${html(label)}</li>`)
    .join('');
  return `${svg(shown.length * row + 4, 'Where the time of the best design of each device goes', parts.join(''))}<ul class="legend">${legend}</ul>`;
}
