import { VOCABULARIES, term, type Term, type Vocabulary } from '../../src-workers/domain/terms.ts';
import type { Engine } from './engine.svelte.ts';

export const THEMES = ['system', 'light', 'dark'] as const;
export const DENSITIES = ['compact', 'comfortable'] as const;

interface Stored {
  readonly theme: (typeof THEMES)[number];
  readonly density: (typeof DENSITIES)[number];
  readonly vocabulary: Vocabulary;
  readonly splits: Readonly<Record<string, number>>;
  readonly choices: Readonly<Record<string, string>>;
  readonly lastAddress: string;
}

const DEFAULTS: Stored = {
  theme: 'system',
  density: 'compact',
  vocabulary: 'cuda',
  splits: {},
  choices: {},
  lastAddress: '',
};
const KEY = 'ui.preferences';
const SAVE_AFTER_MS = 400;

/** The user's choices for the interface. The engine stores them; the page uses a copy until the engine answers. */
export class Preferences {
  #stored = $state.raw<Stored>(DEFAULTS);
  #systemDark = $state(false);
  #forced = $state(false);
  #engine: Engine;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly theme = $derived(this.#stored.theme);
  readonly density = $derived(this.#stored.density);
  readonly vocabulary = $derived(this.#stored.vocabulary);
  readonly lastAddress = $derived(this.#stored.lastAddress);
  // Saving the last address replaces `#stored`, but not these parts of it, so their readers need not run again.
  readonly #choices = $derived(this.#stored.choices);
  readonly #splits = $derived(this.#stored.splits);
  /** The drawn theme. If the system forces its own colours, the theme follows the system. */
  readonly drawnTheme = $derived(this.#forced ? 'system' : this.#stored.theme);
  readonly dark = $derived(this.drawnTheme === 'dark' || (this.drawnTheme === 'system' && this.#systemDark));

  constructor(engine: Engine) {
    this.#engine = engine;
    const system = window.matchMedia('(prefers-color-scheme: dark)');
    this.#systemDark = system.matches;
    system.addEventListener('change', () => (this.#systemDark = system.matches));
    const forced = window.matchMedia('(forced-colors: active)');
    this.#forced = forced.matches;
    forced.addEventListener('change', () => (this.#forced = forced.matches));
    try {
      this.#take(JSON.parse(localStorage.getItem(KEY) ?? 'null'));
    } catch {
      // A damaged copy is ignored, because the engine's settings replace it soon.
    }
  }

  split(id: string, fallback: number): number {
    return this.#splits[id] ?? fallback;
  }
  choice<const T extends string>(id: string, choices: readonly T[], fallback: T): T {
    return choices.find((choice) => choice === this.#choices[id]) ?? fallback;
  }
  /** Returns a saved list of words. `setChoice` saves such a list as one text, joined by spaces. */
  words(id: string): readonly string[] {
    return this.#choices[id]?.split(' ').filter(Boolean) ?? [];
  }

  async load(): Promise<void> {
    const result = await this.#engine.call('settings.get', { key: KEY });
    if (result.ok) this.#take(result.value);
  }

  set(change: Partial<Stored>): void {
    this.#stored = { ...this.#stored, ...change };
    this.#save();
  }
  setSplit(id: string, px: number): void {
    this.set({ splits: { ...this.#stored.splits, [id]: Math.round(px) } });
  }
  setChoice(id: string, value: string): void {
    this.set({ choices: { ...this.#stored.choices, [id]: value } });
  }

  readonly term: Term = (key, form) => term(key, this.vocabulary, form);

  #take(value: unknown): void {
    if (value === null || typeof value !== 'object') return;
    const read = value as Partial<Record<keyof Stored, unknown>>;
    this.#stored = {
      theme: THEMES.find((theme) => theme === read.theme) ?? DEFAULTS.theme,
      density: DENSITIES.find((density) => density === read.density) ?? DEFAULTS.density,
      vocabulary: VOCABULARIES.find(({ id }) => id === read.vocabulary)?.id ?? DEFAULTS.vocabulary,
      splits: record(read.splits, 'number'),
      choices: record(read.choices, 'string'),
      lastAddress: typeof read.lastAddress === 'string' ? read.lastAddress : '',
    };
  }

  #save(): void {
    localStorage.setItem(KEY, JSON.stringify(this.#stored));
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      void this.#engine.call('settings.set', { key: KEY, value: this.#stored });
    }, SAVE_AFTER_MS);
  }
}

function record<Kind extends 'string' | 'number'>(
  value: unknown,
  kind: Kind,
): Record<string, Kind extends 'string' ? string : number> {
  const entries = value !== null && typeof value === 'object' ? Object.entries(value) : [];
  return Object.fromEntries(entries.filter(([, item]) => typeof item === kind));
}
