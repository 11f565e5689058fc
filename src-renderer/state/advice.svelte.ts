import { createContext, tick, untrack } from 'svelte';
import type { Recommendation, Uncertainty } from '../../src-main/contract/advice.ts';
import type { ProcedureInput } from '../../src-main/contract/procedures.ts';
import type { Study } from '../../src-main/contract/study.ts';
import type { Failure } from '../../src-workers/domain/result.ts';
import { axisCounts } from '../views/study/space-text.ts';
import { PAGE_ID } from './engine.svelte.ts';
import type { App } from './app.svelte.ts';
import { pinnedOn, readBaselines, type StoredBaselines } from './baselines.ts';
import { CoarseFirst } from './coarse-first.ts';
import { lasting } from './lasting.svelte.ts';

type Asked = ProcedureInput<'advice.recommend'> & { readonly study: Study };

/** How long an exact answer must stay unchanged before its uncertainty is requested, ms. */
const IDLE_MS = 150;
const SLOW_AFTER_MS = 250;
/** How long an answer is outdated before it is dimmed, ms. Without this wait, a moving slider would make it flicker. */
const DIM_AFTER_MS = 100;
/** How long the answer of a glance stands before it is dimmed, ms. Most studies have a better answer by then. */
const DIM_GLANCE_AFTER_MS = 250;
/** How long the thumbnails are outdated before a text says so, ms. Most edits get new ones in less time. */
const SAY_OLD_AFTER_MS = 1000;

type State = 'none' | 'loading' | 'coarse' | 'exact' | 'failed';

export class Advice {
  #app: App;
  #answer = $state.raw<Recommendation | null>(null);
  readonly answer = $derived(this.#answer);
  #asked = $state.raw<Asked | null>(null);
  readonly answered = $derived(this.#asked?.study ?? null);
  #failure = $state.raw<Failure | null>(null);
  readonly failure = $derived(this.#failure);
  #state = $state<State>('none');
  readonly state = $derived(this.#state);
  readonly #isSlow = lasting(() => this.#state === 'loading' || this.#state === 'coarse', SLOW_AFTER_MS);
  /** Whether the answer is a glance (see `Look`), which may have found only the best designs before the edit. */
  #isGlance = $state(false);
  readonly #isEarly = lasting(() => this.#isGlance && this.#state === 'coarse', DIM_GLANCE_AFTER_MS);
  readonly #isOutdated = lasting(
    () => this.#answer !== null && this.#input !== null && question(this.#input) !== this.#answeredQuestion,
    DIM_AFTER_MS,
  );
  #oldMaps = $state(false);
  /** Whether the thumbnails belong to an earlier answer, because the new ones are not predicted yet. */
  readonly oldMaps = $derived(this.#oldMaps);
  readonly #areMapsLate = lasting(() => this.#oldMaps, SAY_OLD_AFTER_MS);
  readonly mapsLate = $derived(this.#areMapsLate());
  #answeredQuestion = $state('');
  #uncertainty = $state.raw<Uncertainty | null>(null);
  #uncertaintyFailure = $state.raw<Failure | null>(null);
  #exact = $state.raw<Recommendation | null>(null);
  #weighed = $state.raw<Recommendation | null>(null);
  #baselines = $state.raw<StoredBaselines | null>(null);
  open = $state(false);
  readonly askAgain: () => void;
  card: HTMLElement | null = null;
  line: HTMLElement | null = null;

  readonly study: Study | null = $derived.by(() =>
    this.#app.editor.id === this.#app.location.studyId ? this.#app.editor.study : null,
  );
  readonly docked: boolean = $derived.by(() => this.#app.location.view === 'study');
  /** Whether the view and its run show the study of the answer. A sweep of the command line may have no study. */
  readonly applies: boolean = $derived.by(() => {
    const { run, location } = this.#app;
    return this.docked || run === null || run.studyId === location.studyId;
  });
  /** Whether the answer is exact and for the current study. Only then may it be copied, simulated or measured. */
  readonly current = $derived(this.#answer !== null && this.#state === 'exact');
  /** Whether the answer has belonged to an earlier input, or has been that of a glance, for a noticeable time. */
  readonly outdated = $derived(this.#isOutdated() || this.#isEarly());
  /** Whether the answer may still change, because not all designs are predicted yet. */
  readonly partial = $derived(
    this.#state === 'coarse' && this.#answer !== null && this.#answer.predicted < this.#answer.of,
  );
  /** Whether the answer has been loading or inexact for a noticeable time. */
  readonly slow = $derived(this.#isSlow());
  readonly uncertainty = $derived(this.#weighed === this.#answer ? this.#uncertainty : null);
  readonly uncertaintyFailure = $derived(this.#weighed === this.#answer ? this.#uncertaintyFailure : null);
  /** Whether the answer may still change, because not all draws of the assumed inputs are predicted yet. */
  readonly isWeighing = $derived(
    this.#state !== 'failed' && this.uncertainty === null && this.uncertaintyFailure === null,
  );
  readonly deviceId = $derived.by(() => {
    const { device } = this.#app.location;
    return device !== null && this.study?.devices.includes(device) ? device : null;
  });
  readonly #input: Asked | null = $derived.by(() => {
    const { study } = this;
    const studyId = this.#app.editor.id;
    if (!study || studyId === null) return null;
    const { deviceId } = this;
    const designs = axisCounts(study).reduce((size, { count }) => size * count, 1);
    const device = study.devices.indexOf(deviceId ?? this.#answer?.device.id ?? '');
    const pinned = pinnedOn(this.#baselines, designs, study.devices.length, device);
    return {
      studyId,
      study,
      ...(deviceId === null ? {} : { deviceId }),
      ...(pinned === null ? {} : { baseline: pinned }),
    };
  });

  constructor(app: App) {
    this.#app = app;
    const { engine } = app;
    $effect(() => void this.#readBaseline(app.location.studyId));

    const calls = new CoarseFirst<Asked, Recommendation>({
      ask: (input, look) => engine.call('advice.recommend', { ...input, look, client: PAGE_ID }),
      show: (result, input, look) => {
        if (result.ok && look === 'all' && this.#answer && this.#asked === input) {
          // Only thumbnails, counts and times of devices are new. The rest stays, with its uncertainty if known.
          const isWeighed = this.#weighed === this.#answer;
          this.#answer = withSpace(this.#answer, result.value);
          if (isWeighed) this.#weighed = this.#answer;
          this.#oldMaps = false;
        } else if (result.ok) {
          const { maps } = result.value.landscape;
          this.#answer = withMaps(result.value, this.#answer);
          this.#oldMaps = maps === null && this.#answer.landscape.maps !== null;
          this.#asked = input;
          this.#answeredQuestion = question(input);
          this.#failure = null;
          const whole = result.value.predicted === result.value.of;
          this.#isGlance = look === 'glance';
          this.#state = (look === 'glance' || look === 'coarse') && !whole ? 'coarse' : 'exact';
          if (this.#state === 'exact') this.#exact = this.#answer;
        } else {
          this.#failure = result.error;
          this.#state = 'failed';
        }
      },
    });
    const isSlider = ({ target }: Event) => target instanceof HTMLInputElement && target.type === 'range';
    window.addEventListener('pointerdown', (event) => isSlider(event) && (calls.held = true), { capture: true });
    for (const end of ['pointerup', 'pointercancel'] as const)
      window.addEventListener(end, () => (calls.held = false), { capture: true });
    let written = '';
    const follow = () => {
      const input = untrack(() => this.#input);
      if (input) calls.follow(input);
    };
    this.askAgain = () => {
      this.#failure = null;
      this.#state = 'loading';
      follow();
    };
    $effect(() => {
      const input = this.#input;
      const text = input && engine.state === 'ready' ? `${engine.generation} ${question(input)}` : '';
      if (text === written) return;
      const sameStudy = written !== '' && input?.studyId === untrack(() => this.#asked?.studyId);
      written = text;
      untrack(() => {
        if (!sameStudy) this.#forget();
        if (!input || text === '') return calls.stop();
        this.#state = this.#state !== 'none' && this.#answer ? 'coarse' : 'loading';
        calls.follow(input);
      });
    });
    // The store also changes while another program saves the designs of a run. That must not restart the answer.
    let known = app.library.devices;
    $effect(() => {
      const { devices } = app.library;
      if (known.length > 0 && JSON.stringify(devices) !== JSON.stringify(known)) follow();
      known = devices;
    });
    $effect(() =>
      engine.on('store.changed', ({ what }) => {
        if (what === 'settings' || what === 'all') void this.#readBaseline(app.location.studyId);
      }),
    );
    this.#followUncertainty();
  }

  /** Requests the uncertainty of an exact answer. The design with the least expected regret becomes the answer. */
  #followUncertainty(): void {
    $effect(() => {
      const answer = this.#exact;
      const asked = this.#asked;
      if (this.#state !== 'exact' || !answer || !asked) return;
      let left = false;
      const weigh = async (): Promise<void> => {
        const { engine } = this.#app;
        const weighed = await engine.call('advice.recommend', {
          ...asked,
          deviceId: answer.device.id,
          robust: true,
          look: 'fastest',
          client: PAGE_ID,
        });
        if (left || (!weighed.ok && weighed.error.code === 'cancelled')) return;
        const newest = this.#answer ?? answer;
        this.#answer = weighed.ok ? withSpace(weighed.value, newest) : newest;
        this.#weighed = this.#answer;
        this.#uncertainty = weighed.ok ? (weighed.value.uncertainty ?? null) : null;
        this.#uncertaintyFailure = weighed.ok ? null : weighed.error;
      };
      const timer = setTimeout(() => void weigh(), IDLE_MS);
      return () => {
        left = true;
        clearTimeout(timer);
      };
    });
  }

  async #readBaseline(studyId: number | null): Promise<void> {
    if (studyId === null) return;
    const result = await this.#app.engine.call('settings.get', { key: `baseline.${studyId}` });
    this.#baselines = result.ok ? readBaselines(result.value) : null;
  }

  toggle(): void {
    if (this.docked) return this.card?.focus();
    this.open = !this.open;
    void tick().then(() => (this.open ? this.card : this.line)?.focus());
  }

  #forget(): void {
    this.#answer = null;
    this.#exact = null;
    this.#oldMaps = false;
    this.#asked = null;
    this.#failure = null;
    this.#state = 'none';
    this.#uncertainty = null;
    this.#uncertaintyFailure = null;
  }
}

function withSpace(answer: Recommendation, other: Recommendation): Recommendation {
  const { landscape, devices, predicted, of, invalid } = other;
  return { ...answer, landscape: { ...answer.landscape, maps: landscape.maps }, devices, predicted, of, invalid };
}

function withMaps(answer: Recommendation, last: Recommendation | null): Recommendation {
  const { device, landscape } = answer;
  const fits =
    last?.device.id === device.id &&
    last.landscape.rows === landscape.rows &&
    last.landscape.columns === landscape.columns;
  return landscape.maps === null && fits
    ? { ...answer, landscape: { ...landscape, maps: last.landscape.maps } }
    : answer;
}

function question({ study, ...rest }: Asked): string {
  return JSON.stringify([rest, { ...study, name: '', description: '' }]);
}

export const [useAdvice, provideAdvice] = createContext<Advice>();
