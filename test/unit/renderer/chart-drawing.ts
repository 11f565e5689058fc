import { vi } from 'vitest';
import { init, type EChartsOption } from '../../../src-renderer/charts/echarts.ts';
import type { ChartSize } from '../../../src-renderer/charts/parts.ts';
import type { ChartTheme } from '../../../src-renderer/charts/theme.svelte.ts';

const named = (name: string, length: number) => Array.from({ length }, (_, i) => `${name}-${i + 1}`);
/** In this theme, each colour is the name of its token, so that a test can see which token was used. */
const THEME: ChartTheme = {
  dark: false,
  colour: new Proxy({} as ChartTheme['colour'], { get: (_, token) => token }),
  series: named('series', 5),
  sequential: named('seq', 6),
  diverging: named('div', 7),
  part: (id) => `part-${id}`,
  font: 'Inter',
  animationMs: 0,
};

export function drawn(build: (theme: ChartTheme, size: ChartSize) => EChartsOption, size: ChartSize): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, ...size });
  chart.setOption({ animation: false, ...build(THEME, size) });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

export const draw = <Input>(
  chart: (input: Input, theme: ChartTheme, size: ChartSize) => EChartsOption,
  input: Input,
  size: ChartSize = { width: 480, height: 250 },
): string => drawn((theme, at) => chart(input, theme, at), size);

export function wordsOf(svg: string): readonly string[] {
  return [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text);
}

export function countOf(svg: string, colour: string): number {
  return svg.split(`"${colour}"`).length - 1;
}

export function tipOf<Input>(
  chart: (input: Input, theme: ChartTheme, size: ChartSize) => EChartsOption,
  input: Input,
  mark: { readonly dataIndex: number },
): readonly string[] {
  const texts: string[] = [];
  const append = (...content: readonly unknown[]) => texts.push(...content.filter((part) => typeof part === 'string'));
  vi.stubGlobal('document', { createElement: () => ({ append }) });
  const { tooltip } = chart(input, THEME, { width: 480, height: 250 });
  (tooltip as { formatter: (mark: object) => unknown }).formatter(mark);
  vi.unstubAllGlobals();
  return texts;
}
