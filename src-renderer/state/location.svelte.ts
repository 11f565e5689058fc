/* eslint-disable svelte/prefer-svelte-reactivity -- these collections are replaced whole or are not state */
import type { ViewId } from '../shell/views.ts';

/** The address of the view: `#/ranking?study=1&run=14&sort=waves`. A link reopens the view with its selection. */

/** One value of an address: how its text is read and written, and its default, which an address leaves out. */
export interface Field<T> {
  readonly fallback: T;
  parse(text: string): T | undefined;
  print(value: T): string;
}

export function textField<T extends string | null = string>(fallback: T): Field<T | string> {
  return { fallback, parse: (text) => text, print: (value) => value ?? '' };
}
export function numberField<T extends number | null>(fallback: T): Field<T | number> {
  return {
    fallback,
    parse: (text) => (text !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined),
    print: (value) => String(value),
  };
}
export function choiceField<const T extends string>(choices: readonly T[], fallback: T): Field<T> {
  return { fallback, parse: (text) => choices.find((choice) => choice === text), print: (value) => value };
}
export function flagField(): Field<boolean> {
  return { fallback: false, parse: (text) => text === '1', print: (value) => (value ? '1' : '0') };
}
/** Makes a field for a structured value, such as a filter, as plain JSON. `check` narrows a value, or refuses it. */
export function jsonField<T>(fallback: T, check: (value: unknown) => T | undefined): Field<T> {
  return {
    fallback,
    parse: (text) => {
      try {
        return check(JSON.parse(text));
      } catch {
        return undefined;
      }
    },
    print: (value) => JSON.stringify(value),
  };
}

export type Address<C> = { readonly [Key in keyof C]: C[Key] extends Field<infer T> ? T : never };

export function readAddress<C>(codec: C, params: URLSearchParams): Address<C> {
  const out: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(codec as Record<string, Field<unknown>>)) {
    const text = params.get(key);
    const value = text === null ? undefined : field.parse(text);
    out[key] = value === undefined ? field.fallback : value;
  }
  return out as Address<C>;
}

export function writeAddress<C>(codec: C, change: Partial<Address<C>>, params: URLSearchParams): void {
  for (const [key, value] of Object.entries(change)) {
    const field = (codec as Record<string, Field<unknown>>)[key];
    const text = field.print(value);
    if (value === undefined || value === null || text === field.print(field.fallback)) params.delete(key);
    else params.set(key, text);
  }
}

/** The value of `device` in an address that means all devices, in views that can show several together. */
export const ALL_DEVICES = 'all';

/** The values that all views of a study share. They stay when the view changes. */
const COMMON = ['study', 'run', 'device'] as const;

type Change = Readonly<Record<string, string | number | null>>;

export class Location {
  #view = $state<ViewId>('study');
  readonly view = $derived(this.#view);
  #query = $state('');
  #views: readonly ViewId[];
  #unknownView = $state<string | null>(null);
  readonly unknownView = $derived(this.#unknownView);
  /** The last address of each view, so that going back to it restores the selection. */
  #left = new Map<ViewId, string>();
  /** Called when an address comes from outside (a link, the history or typing), before views read it. */
  onArrival: (() => void) | null = null;
  readonly params = $derived(new URLSearchParams(this.#query));
  readonly studyId = $derived(positive(this.params.get('study')));
  readonly runId = $derived(positive(this.params.get('run')));
  readonly device = $derived(this.params.get('device'));

  constructor(views: readonly ViewId[]) {
    this.#views = views;
    this.#read();
    window.addEventListener('hashchange', () => {
      const { href: before, studyId, runId } = this;
      this.#read();
      if (this.studyId === null) this.resume(before);
      // What the other views had selected belongs to the study and run that were left.
      if (this.studyId !== studyId || this.runId !== runId) this.#left.clear();
      this.onArrival?.();
    });
  }

  get href(): string {
    return `#/${this.#view}${this.#query && `?${this.#query}`}`;
  }

  #read(): void {
    const [path = '', query = ''] = window.location.hash.replace(/^#\/?/, '').split('?');
    this.#view = this.#views.find((view) => view === path) ?? 'study';
    this.#unknownView = path !== '' && !this.#views.some((view) => view === path) ? path : null;
    this.#query = query;
  }

  #write(view: ViewId, params: URLSearchParams, replace: boolean): void {
    this.#left.set(this.#view, this.#query);
    this.#view = view;
    this.#query = params.toString();
    history[replace ? 'replaceState' : 'pushState'](null, '', this.href);
  }

  go(view: ViewId, change: Change = {}): void {
    const params = new URLSearchParams(view === this.#view ? this.#query : (this.#left.get(view) ?? ''));
    const common = Object.fromEntries(COMMON.map((key) => [key, this.params.get(key)]));
    this.#write(view, changed(changed(params, common), change), false);
  }

  openStudy(id: number | null, view: ViewId = this.#view, replace = this.studyId === null): void {
    this.#left.clear();
    this.#write(view, changed(new URLSearchParams(), { study: id }), replace);
  }

  drop(...fields: readonly string[]): void {
    const params = new URLSearchParams(this.#query);
    for (const field of fields) params.delete(field);
    this.#write(this.#view, params, true);
  }

  /** Shows another run of the study, in this or another view. The old selection is dropped; the device stays. */
  openRun(id: number | null, view: ViewId = this.#view): void {
    this.#left.clear();
    const kept = { study: this.studyId, device: this.device, run: id };
    this.#write(view, changed(new URLSearchParams(), kept), false);
  }

  read<C>(codec: C): Address<C> {
    return readAddress(codec, this.params);
  }

  chooseDevice(device: string | null): void {
    this.#write(this.#view, changed(new URLSearchParams(this.#query), { device }), true);
  }

  set<C>(codec: C, change: Partial<Address<C>>, options: { readonly push?: boolean } = {}): void {
    const params = new URLSearchParams(this.#query);
    writeAddress(codec, change, params);
    this.#write(this.#view, params, !options.push);
  }

  /** Restores the study and run of an earlier address, or the whole address if the current one names no view. */
  resume(earlier: string): void {
    const named = /^#\/?[^?]/.test(window.location.hash);
    const params = new URLSearchParams(named ? this.#query : '');
    for (const [key, value] of new URLSearchParams(earlier.split('?')[1] ?? ''))
      if (!named || ((key === 'study' || key === 'run') && !params.has(key))) params.set(key, value);
    history.replaceState(null, '', named ? `#/${this.#view}?${params}` : earlier);
    this.#read();
  }
}

/** Returns the device that a view shows for a run. Null means all devices; undefined means not known yet. */
export function deviceInView(
  devices: readonly { readonly id: string }[],
  chosen: string | null,
  otherwise: string | undefined,
): string | null | undefined {
  if (devices.length < 2) return devices[0]?.id;
  if (chosen === ALL_DEVICES) return null;
  return devices.find(({ id }) => id === chosen)?.id ?? otherwise;
}

function changed(params: URLSearchParams, change: Change): URLSearchParams {
  for (const [key, value] of Object.entries(change)) {
    if (value === null) params.delete(key);
    else params.set(key, String(value));
  }
  return params;
}

function positive(text: string | null): number | null {
  const value = Number(text);
  return text !== null && Number.isSafeInteger(value) && value > 0 ? value : null;
}
