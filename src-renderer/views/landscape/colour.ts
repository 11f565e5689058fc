/** Colour scales: tokens are interpolated in OKLab, so that equal steps look equal. */

type Triple = readonly [number, number, number];

function parseRgb(text: string): Triple {
  const [r = 0, g = 0, b = 0] = (text.match(/[\d.]+/g) ?? []).map(Number);
  return [r, g, b];
}

const linear = (channel: number) => {
  const c = channel / 255;
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
};
const gamma = (c: number) => {
  const v = c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055;
  return Math.round(Math.min(1, Math.max(0, v)) * 255);
};

/** Converts sRGB (0…255) to OKLab. Source: Ottosson 2020, "A perceptual color space for image processing". */
export function oklab([r, g, b]: Triple): Triple {
  const [R, G, B] = [linear(r), linear(g), linear(b)];
  const l = Math.cbrt(0.4122214708 * R + 0.5363325363 * G + 0.0514459929 * B);
  const m = Math.cbrt(0.2119034982 * R + 0.6806995451 * G + 0.1073969566 * B);
  const s = Math.cbrt(0.0883024619 * R + 0.2817188376 * G + 0.6299787005 * B);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

export function srgb([L, a, b]: Triple): Triple {
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    gamma(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    gamma(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    gamma(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

const STEPS = 256;

/** A colour scale as a table of 256 colours: packed for canvases (0xAABBGGRR), and as text. */
export interface Ramp {
  readonly packed: Uint32Array;
  readonly css: readonly string[];
}

export function ramp(stops: readonly string[]): Ramp {
  const labs = stops.map((stop) => oklab(parseRgb(stop)));
  const colours = Array.from({ length: STEPS }, (_, step) => {
    const at = (step / (STEPS - 1)) * (labs.length - 1);
    const i = Math.min(labs.length - 2, Math.floor(at));
    const f = at - i;
    const [p, q] = [labs[i], labs[i + 1]];
    return srgb([p[0] + (q[0] - p[0]) * f, p[1] + (q[1] - p[1]) * f, p[2] + (q[2] - p[2]) * f]);
  });
  return tableOf(colours);
}

function tableOf(colours: readonly Triple[]): Ramp {
  return {
    packed: Uint32Array.from(colours, ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0),
    css: colours.map(([r, g, b]) => `rgb(${r}, ${g}, ${b})`),
  };
}

function mapped({ css }: Ramp, change: (colour: Triple) => Triple): Ramp {
  return tableOf(css.map((colour) => change(parseRgb(colour))));
}

export function greyed(scale: Ramp): Ramp {
  return mapped(scale, (colour) => srgb([oklab(colour)[0], 0, 0]));
}

/** The fraction of its own colour that a cell outside the filter keeps. The rest is the background. */
const KEPT = 0.2;

export function faded(scale: Ramp, canvas: string): Ramp {
  const ground = parseRgb(canvas);
  return mapped(scale, (colour) => {
    const [r, g, b] = colour.map((channel, i) => Math.round(KEPT * channel + (1 - KEPT) * ground[i]));
    return [r, g, b];
  });
}

/** In pictures other than maps, the scale ends at this multiple of the best time. Slower times get its last colour. */
const CLIP = 2;

const ENDS = [1.1, 1.25, 1.5, 2, 3, 4, 6, 10, 20, 50, 100];
/** The fraction of the cells with a time that should be on the scale. */
const INSIDE = 0.75;

/** Returns the end of a scale as a multiple of the best time, so that most cells of the maps (ms or NaN) are on it. */
export function fittedClip(bestMs: number, maps: readonly ArrayLike<number>[]): number {
  const ratios: number[] = [];
  let slowestBest = 1;
  for (const times of maps) {
    let best = Infinity;
    for (let at = 0; at < times.length; at += 1) {
      const ratio = times[at] / bestMs;
      if (Number.isNaN(ratio)) continue;
      ratios.push(ratio);
      if (ratio < best) best = ratio;
    }
    if (Number.isFinite(best)) slowestBest = Math.max(slowestBest, best);
  }
  if (ratios.length === 0) return CLIP;
  const sorted = Float64Array.from(ratios).sort();
  const wanted = Math.max(sorted[Math.floor(INSIDE * (sorted.length - 1))], slowestBest * 1.1);
  return ENDS.find((end) => end >= wanted) ?? ENDS[ENDS.length - 1];
}

/** Returns the position of a time, 0…255, on the logarithmic scale from the best time to `clip` times it. */
export function timeStep(timeMs: number, bestMs: number, clip = CLIP): number {
  const place = Math.log(timeMs / bestMs) / Math.log(clip);
  return Math.round(Math.min(1, Math.max(0, place)) * (STEPS - 1));
}

/** Returns the position of a time, 0…255, on the scale from 1/`clip` to `clip` times the baseline's time. */
export function changeStep(timeMs: number, baselineMs: number, clip = CLIP): number {
  const place = 0.5 + Math.log(timeMs / baselineMs) / (2 * Math.log(clip));
  return Math.round(Math.min(1, Math.max(0, place)) * (STEPS - 1));
}
