/* eslint-disable svelte/prefer-svelte-reactivity -- these collections are replaced whole or are not state */
import { useApp } from '../state/app.svelte.ts';

const COLOURS = [
  'bg', 'chrome', 'sunken', 'raised', 'hover', 'tie', 'line', 'line-2', 'control', 'text', 'text-2', 'text-3', 'disabled',
  'accent', 'accent-weak', 'on-accent', 'faster', 'slower', 'ok', 'warn', 'error', 'base', 'grid', 'plate',
] as const; // prettier-ignore
export type ColourToken = (typeof COLOURS)[number];

export interface ChartTheme {
  readonly dark: boolean;
  readonly colour: Readonly<Record<ColourToken, string>>;
  readonly series: readonly string[];
  readonly sequential: readonly string[];
  readonly diverging: readonly string[];
  readonly part: (id: string) => string;
  readonly font: string;
  readonly animationMs: number;
}

/**
 * Resolves custom properties on a hidden element with a colour scheme of its own. The root gets the new scheme in a
 * later effect, and setting it here would recompute the styles of the whole page.
 */
export function readColours(tokens: readonly string[], dark: boolean): string[] {
  const probe = document.createElement('span');
  probe.hidden = true;
  probe.style.colorScheme = dark ? 'dark' : 'light';
  // Pictures keep their colours even if the system forces its own colours on text.
  probe.style.forcedColorAdjust = 'none';
  document.body.append(probe);
  const colours = tokens.map((token) => {
    probe.style.color = `var(--${token})`;
    return getComputedStyle(probe).color;
  });
  probe.remove();
  return colours;
}

export function hexColour(rgb: string): string {
  const parts = rgb.match(/\d+/g) ?? [];
  return `#${parts
    .slice(0, 3)
    .map((part) => Number(part).toString(16).padStart(2, '0'))
    .join('')}`;
}

function readTheme(dark: boolean): ChartTheme {
  const numbered = (name: string, count: number) =>
    readColours(
      Array.from({ length: count }, (_, i) => `${name}-${i + 1}`),
      dark,
    );
  const colours = readColours(COLOURS, dark);
  const parts = new Map<string, string>();
  return {
    dark,
    colour: Object.fromEntries(COLOURS.map((token, i) => [token, colours[i]])) as Record<ColourToken, string>,
    series: numbered('series', 5),
    sequential: numbered('seq', dark ? 7 : 6),
    diverging: numbered('div', 7),
    part: (id) => {
      if (!parts.has(id)) parts.set(id, readColours([`part-${id}`], dark)[0]);
      return parts.get(id)!;
    },
    font: getComputedStyle(document.documentElement).getPropertyValue('--font'),
    animationMs: window.matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 160,
  };
}

const WISHES = ['(prefers-contrast: more)', '(prefers-reduced-motion: reduce)'] as const;
/** Known themes by their inputs. They are kept, because reading a theme makes the browser compute the page's styles. */
const known = new Map<string, ChartTheme>();

function themeFor(dark: boolean): ChartTheme {
  const key = [dark, ...WISHES.map((wish) => window.matchMedia(wish).matches)].join();
  const theme = known.get(key) ?? readTheme(dark);
  known.set(key, theme);
  return theme;
}

/** Returns the theme of charts. Call it while a component initialises, and read `.current`. */
export function useChartTheme(): { readonly current: ChartTheme } {
  const { preferences } = useApp();
  const theme = $derived(themeFor(preferences.dark));
  return {
    get current() {
      return theme;
    },
  };
}
