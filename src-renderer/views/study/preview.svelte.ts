import type { WorkloadOrder } from '../../../src-main/contract/api.ts';
import type { Study } from '../../../src-main/contract/study.ts';
import type { Failure } from '../../../src-workers/domain/result.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import { kernelValue } from '../../../src-workers/domain/provenance.ts';
import { costFactor, type GranularityRow } from '../../../src-workers/models/granularity/granularity.ts';
import { lossMoments, type LossMoments } from '../../../src-workers/models/imbalance/closed-form.ts';
import { mappedLaw, moments, quantile } from '../../../src-workers/models/workload/laws.ts';
import type { App } from '../../state/app.svelte.ts';
import { Query } from '../../state/query.svelte.ts';
import { readDistribution } from './distributions.ts';
import type { QuantileReply, QuantileRequest } from './quantiles.worker.ts';

const GROUP_SIZES = [1, 2, 4, 8, 16, 32, 64];
const BAND_LEVELS = [0.05, 0.95];
/** Delay after the last step of a slider, ms. The worker is too slow to run at each step. */
const BAND_AFTER_MS = 60;

export interface Band {
  readonly n: number;
  readonly low: number;
  readonly high: number;
}

export interface GroupRow extends Omit<GranularityRow, 'laneCostMean' | 'laneCostAggregate'> {
  /** Iterations of all lanes that share a unit, divided by the mean length. Other phases count as iterations. */
  readonly laneCost: number;
}

export class Preview {
  // eslint-disable-next-line svelte/prefer-svelte-reactivity -- the bundler looks for exactly this form
  #worker = new Worker(new URL('./quantiles.worker.ts', import.meta.url), { type: 'module' });
  #band = $state.raw<readonly Band[]>([]);
  #bandLaw = $state.raw<LengthLaw | null>(null);
  #asked = 0;
  #study: () => Study;
  readonly resolved: Query<'workload.resolve'>;

  /** Editing the kernel does not recompute the law, because the lengths are derived on their own. */
  readonly #lengths = $derived.by(() => this.#study().workload.lengths);
  readonly written = $derived.by(() => readDistribution(this.#lengths));
  readonly #own = $derived.by(() => this.written?.distribution.law(this.written.values) ?? null);
  /** The last valid law stays visible after a typing error. */
  #kept: LengthLaw | null = null;
  readonly law: LengthLaw | null = $derived.by(() => {
    if (this.#own) {
      if (this.#own.ok) this.#kept = this.#own.value;
    } else if (this.resolved.value) this.#kept = this.resolved.value;
    return this.#kept;
  });
  readonly order: WorkloadOrder | null = $derived.by(() => (this.#own ? null : (this.resolved.value?.order ?? null)));
  readonly failure: Failure | null = $derived.by(() => {
    if (this.#own) return this.#own.ok ? null : this.#own.error;
    return this.resolved.failure;
  });
  readonly moments = $derived.by(() => this.law && moments(this.law));
  readonly quantiles = $derived.by(
    () => this.law && { p50: quantile(this.law, 0.5), p95: quantile(this.law, 0.95), p99: quantile(this.law, 0.99) },
  );
  readonly losses: readonly LossMoments[] = $derived.by(() => (this.law ? lossMoments(this.law, GROUP_SIZES) : []));

  /** The losses of groups of units in their order, if it is known, and otherwise of units drawn from the law. */
  readonly #groupLosses = $derived.by(() =>
    this.losses.map((drawn) => this.order?.losses.find(({ n }) => n === drawn.n) ?? drawn),
  );

  constructor(app: App, study: () => Study, studyId: () => number | null) {
    this.#study = study;
    this.resolved = new Query(
      app.engine,
      'workload.resolve',
      () => {
        const { lengths, units, truncation } = study().workload;
        if (readDistribution(lengths)) return null;
        const id = studyId();
        return {
          ...(id === null ? {} : { studyId: id }),
          workload: truncation === undefined ? { lengths, units } : { lengths, units, truncation },
        };
      },
      { debounceMs: 80 },
    );
    this.#worker.addEventListener('message', ({ data }: MessageEvent<QuantileReply>) => {
      if (data.id !== this.#asked) return;
      const row = { n: data.n, low: data.values[0], high: data.values[1] };
      const kept = this.#bandLaw === this.law ? this.#band : [{ n: 1, low: 1, high: 1 }];
      this.#bandLaw = this.law;
      this.#band = [...kept.filter(({ n }) => n !== row.n), row].sort((a, b) => a.n - b.n);
    });
    $effect(() => {
      const { law } = this;
      if (!law) return;
      const timer = setTimeout(() => {
        this.#asked += 1;
        const request: QuantileRequest = {
          id: this.#asked,
          law: {
            label: law.label,
            truncatedMass: law.truncatedMass,
            support: law.support,
            probability: law.probability,
          },
          groupSizes: GROUP_SIZES.slice(1),
          levels: BAND_LEVELS,
        };
        this.#worker.postMessage(request);
      }, BAND_AFTER_MS);
      return () => clearTimeout(timer);
    });
    $effect(() => () => this.#worker.terminate());
  }

  /** The 5th and 95th percentile of the loss by group size, for the last law whose quantiles are computed. */
  get band(): readonly Band[] {
    return this.#band;
  }

  depth(unitsPerGroup: number): number {
    const row = this.#groupLosses.find(({ n }) => n === unitsPerGroup);
    return row && this.moments ? row.aggregateLoss * this.moments.mean : NaN;
  }

  /** Whether the units have an order that `rows` ignores. */
  isShuffled(kernel: Study['kernel']): boolean {
    return this.order !== null && kernel.sharing === 'deal';
  }

  /**
   * Returns the loss and lane cost of every way to divide a thread group of `width` lanes. If iterations are split,
   * each of u lanes is busy for φ(u) (`costFactor`) times the unit's iterations; if dealt, for ⌈length / u⌉, with units
   * drawn from the law (`isShuffled`). Each lane also runs the other phases. All instructions are assumed to cost the same.
   */
  rows(width: number, kernel: Study['kernel']): GroupRow[] {
    const { law } = this;
    if (!law) return [];
    const mean = this.moments!.mean;
    return (kernel.sharing === 'deal' ? this.losses : this.#groupLosses)
      .filter(({ n }) => n <= width)
      .map(({ n, meanLoss, aggregateLoss }) => {
        const threadsPerUnit = width / n;
        const iterations =
          kernel.sharing === 'deal' && threadsPerUnit > 1
            ? this.#dealtDepth(law, threadsPerUnit, n)
            : aggregateLoss * mean * costFactor(threadsPerUnit, kernel.serialFraction, kernel.cooperationCost);
        const steps = Math.log2(threadsPerUnit);
        const beside =
          ((kernel.unit?.instructions ?? 0) + steps * kernelValue(kernel, 'combine')) / kernel.instructionsPerIteration;
        return {
          unitsPerGroup: n,
          threadsPerUnit,
          depth: aggregateLoss * mean,
          meanLoss,
          aggregateLoss,
          laneCost: (threadsPerUnit * (iterations + beside)) / mean,
        };
      });
  }

  /** Returns the expected maximum of ⌈length / u⌉ over n units, iterations. */
  #dealtDepth(law: LengthLaw, threadsPerUnit: number, unitsPerGroup: number): number {
    const lanes = mappedLaw(law, (length) => Math.ceil(length / threadsPerUnit));
    return lossMoments(lanes, [unitsPerGroup])[0].aggregateLoss * moments(lanes).mean;
  }
}
