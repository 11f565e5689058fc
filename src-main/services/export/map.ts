import { timeText } from '../../../src-workers/domain/times.ts';
import { hash } from 'node:crypto';
import { AXIS, AXIS_ORDER } from '../../../src-workers/domain/space.ts';
import { axisPosition } from '../../../src-workers/sweep/ranking.ts';
import { NO_DESIGN } from '../../../src-workers/sweep/cells.ts';
import type { RankRow } from '../../contract/api.ts';
import { landscapeAxes, landscapeGrid } from '../ranking/landscape.ts';
import { axisTexts } from '../ranking/rows.ts';
import type { RunView } from '../runs/run-view.ts';
import { html } from './text.ts';

/** The interactive map of the HTML report. Its data is in an attribute, and a single script draws it. */

/** Maximum cells along an axis, for a page 800 px wide. A cell for several values shows the best of them. */
const MAX_CELLS = 96;

interface DeviceMap {
  readonly device: string;
  readonly x: { readonly label: string; readonly texts: readonly string[] };
  readonly y: { readonly label: string; readonly texts: readonly string[] };
  readonly timeMs: readonly (number | null)[];
  /** For each cell, an index into `settings`: the best design's values on the axes that are not drawn. */
  readonly setting: readonly number[];
  readonly settings: readonly string[];
  readonly chosen: number;
}

function deviceMap(view: RunView, device: number, chosen: RankRow): DeviceMap | null {
  const isCpu = view.devices[device].kind === 'cpu';
  const [x, y] = ['launch', isCpu ? 'balancing' : 'blockThreads'] as const;
  const grid = landscapeGrid(view, { runId: view.run.id, x, y, hold: { device }, filter: { validity: 'valid' } });
  if (!grid.ok) return null;
  const { timeMs, designIndex, xValues, yValues } = grid.value;
  const nx = Math.min(xValues.length, MAX_CELLS);
  const ny = Math.min(yValues.length, MAX_CELLS);
  if (nx * ny < 2) return null;
  const best = Array<number>(nx * ny).fill(-1);
  const cellOf = (at: number): number => {
    const i = Math.floor(((at % xValues.length) * nx) / xValues.length);
    const j = Math.floor((Math.floor(at / xValues.length) * ny) / yValues.length);
    return j * nx + i;
  };
  for (let at = 0; at < timeMs.length; at += 1) {
    if (designIndex[at] === NO_DESIGN || !Number.isFinite(timeMs[at])) continue;
    const cell = cellOf(at);
    if (best[cell] < 0 || timeMs[at] < timeMs[best[cell]]) best[cell] = at;
  }
  const axes = landscapeAxes(view);
  const others = AXIS_ORDER.flatMap((id, axis) =>
    id !== x && id !== y && id !== 'device' && axes[axis].values.length > 1 ? [axis] : [],
  );
  const settings: string[] = [];
  const known = new Map<string, number>();
  const setting = best.map((at) => {
    if (at < 0) return -1;
    const text = others
      .map((axis) => `${axes[axis].label}: ${axes[axis].texts[axisPosition(view.ranking, axis, designIndex[at])]}`)
      .join('; ');
    const place = known.get(text) ?? settings.push(text) - 1;
    known.set(text, place);
    return place;
  });
  const named = (texts: readonly string[], cells: number) =>
    Array.from({ length: cells }, (_, i) => texts[Math.ceil((i * texts.length) / cells)]);
  const position = (axis: number) => axisPosition(view.ranking, axis, chosen.designIndex);
  const isChosen = position(AXIS.device) === device;
  const xAt = xValues.indexOf(axisTexts(view, AXIS[x])[position(AXIS[x])]);
  const yAt = position(AXIS[y]);
  return {
    device: view.devices[device].name,
    x: { label: axes[AXIS[x]].label, texts: named(xValues, nx) },
    y: { label: axes[AXIS[y]].label, texts: named(yValues, ny) },
    timeMs: best.map((at) => (at < 0 ? null : Number(timeMs[at].toPrecision(5)))),
    setting,
    settings,
    chosen: isChosen && xAt >= 0 ? cellOf(yAt * xValues.length + xAt) : -1,
  };
}

const COLOURS = {
  light: ['#192159', '#144f84', '#1e809c', '#58b0aa', '#abd7bc', '#f2f1e3'],
  dark: ['#eff3c5', '#a1e4ae', '#57bfaf', '#2c91a7', '#2f628a', '#2d3d5a', '#232733'],
};

/**
 * Draws the map on a canvas. Describes the cell under the pointer, or the one that the arrow keys have chosen. The
 * script writes only text to the page, whose policy allows only this script, by its hash.
 */
const SCRIPT = `'use strict';
const box = document.getElementById('map');
const maps = JSON.parse(box.dataset.maps), colours = JSON.parse(box.dataset.colours);
const [canvas, said, pick] = ['canvas', 'output', 'select'].map((name) => box.querySelector(name));
const dark = matchMedia('(prefers-color-scheme: dark)');
const LEFT = 58, BOTTOM = 34, TOP = 4;
let map = maps[0], at = -1;
const mix = (stops, place) => {
  const i = Math.min(stops.length - 2, Math.floor(place * (stops.length - 1))), f = place * (stops.length - 1) - i;
  const part = (stop, k) => parseInt(stop.slice(1 + 2 * k, 3 + 2 * k), 16);
  return 'rgb(' + [0, 1, 2].map((k) => Math.round(part(stops[i], k) * (1 - f) + part(stops[i + 1], k) * f)) + ')';
};
const best = () => Math.min(...map.timeMs.filter((ms) => ms !== null));
const number = (value) => value.toLocaleString('en-US', { maximumSignificantDigits: 4 });
const time = (ms) => {
  const [unit, per] = [['s', 1e-3], ['ms', 1], ['µs', 1e3]].find(([, per]) => ms * per >= 1) ?? ['ns', 1e6];
  return number(ms * per) + ' ' + unit;
};
const size = () => [(canvas.clientWidth - LEFT) / map.x.texts.length, (canvas.clientHeight - TOP - BOTTOM) / map.y.texts.length];
const cell = (index) => {
  const [w, h] = size(), nx = map.x.texts.length;
  return [LEFT + (index % nx) * w, TOP + (map.y.texts.length - 1 - Math.floor(index / nx)) * h, w, h];
};
function draw() {
  const { clientWidth: width, clientHeight: height } = canvas, ratio = devicePixelRatio || 1, style = getComputedStyle(box);
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const pen = canvas.getContext('2d');
  pen.scale(ratio, ratio);
  const low = best(), stops = dark.matches ? colours.dark : colours.light;
  // The scale goes from the best to twice the best time; slower cells have the last colour.
  map.timeMs.forEach((ms, i) => {
    if (ms === null) return;
    const [x, y, w, h] = cell(i);
    pen.fillStyle = mix(stops, Math.min(1, Math.log2(ms / low)));
    pen.fillRect(Math.floor(x), Math.floor(y), Math.ceil(w), Math.ceil(h));
  });
  const ring = (index, colour, line) => {
    if (index < 0) return;
    const [x, y, w, h] = cell(index);
    pen.strokeStyle = style.getPropertyValue('--bg');
    pen.lineWidth = line + 2;
    pen.strokeRect(x, y, w, h);
    pen.strokeStyle = style.getPropertyValue(colour);
    pen.lineWidth = line;
    pen.strokeRect(x, y, w, h);
  };
  ring(map.chosen, '--accent', 2);
  ring(at, '--text', 1.5);
  pen.fillStyle = style.getPropertyValue('--text-3');
  pen.font = '11px ' + style.fontFamily;
  const [w, h] = size(), every = (texts, px, room) => Math.max(1, Math.ceil((texts.length * room) / px));
  const across = every(map.x.texts, width - LEFT, 64), up = every(map.y.texts, height - BOTTOM, 22);
  pen.textAlign = 'center';
  map.x.texts.forEach((text, i) => i % across === 0 && pen.fillText(text, LEFT + (i + 0.5) * w, height - BOTTOM + 14, across * w));
  pen.fillText(map.x.label, LEFT + (width - LEFT) / 2, height - 4);
  pen.textAlign = 'right';
  map.y.texts.forEach((text, j) => j % up === 0 && pen.fillText(text, LEFT - 6, cell(j * map.x.texts.length)[1] + h / 2 + 4, LEFT - 8));
}
function say() {
  const shown = at >= 0 ? at : map.chosen;
  if (shown < 0) return (said.textContent = '');
  const nx = map.x.texts.length, ms = map.timeMs[shown], low = best();
  const place = map.y.label + ' ' + map.y.texts[Math.floor(shown / nx)] + ', ' + map.x.label.toLowerCase() + ' ' + map.x.texts[shown % nx];
  said.textContent = place + ': ' + (ms === null ? 'no valid design' : time(ms) + ', +' + number(100 * (ms / low - 1)) + ' % over the best of this device' + (map.settings[map.setting[shown]] ? '. ' + map.settings[map.setting[shown]] : ''));
}
function show(index) {
  at = index;
  draw();
  say();
}
canvas.addEventListener('pointermove', (event) => {
  const [w, h] = size(), i = Math.floor((event.offsetX - LEFT) / w), j = map.y.texts.length - 1 - Math.floor((event.offsetY - TOP) / h);
  show(i >= 0 && i < map.x.texts.length && j >= 0 && j < map.y.texts.length ? j * map.x.texts.length + i : -1);
});
canvas.addEventListener('pointerleave', () => show(-1));
canvas.addEventListener('keydown', (event) => {
  const nx = map.x.texts.length, from = at >= 0 ? at : Math.max(0, map.chosen), i = from % nx, j = Math.floor(from / nx);
  const [a, b] = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key] || [0, 0];
  if (!a && !b) return;
  event.preventDefault();
  show(Math.max(0, Math.min(map.y.texts.length - 1, j + b)) * nx + Math.max(0, Math.min(nx - 1, i + a)));
});
canvas.addEventListener('blur', () => show(-1));
if (pick) pick.addEventListener('change', () => { map = maps[pick.selectedIndex]; show(-1); });
addEventListener('resize', draw);
dark.addEventListener('change', draw);
document.getElementById('map-off').remove();
box.hidden = false;
show(-1);
`;

export const MAP_SCRIPT_HASH = `'sha256-${hash('sha256', SCRIPT, 'base64')}'`;

export const MAP_STYLE = `#map canvas{display:block;width:100%;height:340px;cursor:crosshair}#map canvas:focus-visible{outline:2px solid var(--accent);outline-offset:2px}#map output{display:block;min-height:40px;color:var(--text-2);font-size:12px;line-height:18px}#map select{margin:0 0 8px;font:inherit}`;

export function mapSection(view: RunView, chosen: RankRow): string {
  const maps = view.devices
    .flatMap((_, device) => deviceMap(view, device, chosen) ?? [])
    .sort((a, b) => Number(b.chosen >= 0) - Number(a.chosen >= 0));
  if (maps.length === 0) return '';
  const options = maps.map(({ device }) => `<option>${html(device)}</option>`).join('');
  const label = `Predicted time over ${maps[0].x.label.toLowerCase()} and ${maps[0].y.label.toLowerCase()} on ${maps[0].device}; the chosen design takes ${timeText(chosen.timeMs)}. Arrow keys move over the map.`;
  return [
    '<h2>Landscape</h2>',
    '<p>Each cell shows the best predicted time for its two values. Fast designs are dark in the light theme and light in the dark theme. A ring marks the chosen design.</p>',
    `<div id="map" hidden data-maps="${html(JSON.stringify(maps))}" data-colours="${html(JSON.stringify(COLOURS))}">`,
    maps.length > 1 ? `<select aria-label="Device of the landscape">${options}</select>` : '',
    `<canvas tabindex="0" role="img" aria-label="${html(label)}"></canvas><output aria-live="polite"></output></div>`,
    '<p class="note" id="map-off">The map needs scripts, which are not allowed here. Open the saved file in a browser to see it.</p>',
    `<script>${SCRIPT}</script>`,
  ].join('');
}
