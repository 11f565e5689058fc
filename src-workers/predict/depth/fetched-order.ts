import { countLengths } from '../../models/workload/generated.ts';
import { greatestCommonDivisor } from '../../numeric/lattice.ts';
import { indexedQueue } from '../../numeric/queue.ts';
import { GIVEN_UNITS, LAST_FETCHERS, LAST_FETCHES, LAST_LIVES } from '../constants.ts';
import { fromMasses, type DiscreteLaw } from './discrete-law.ts';

/** What fetchers take of units in a given order: each fetch is some consecutive units. */
export interface FetchedOrder {
  readonly units: number;
  /** Of what is run between two fetches, iterations. */
  readonly law: DiscreteLaw;
  /**
   * P(a fetcher has more than lengths[i] iterations to go when the units run out), each i: the last fetches are played.
   * @param fetchers of the device
   */
  lastLives(fetchers: number, lengths: Float64Array): Float64Array;
}

/**
 * @param lengths of the first units, which repeat
 * @param perFetch units that a fetch takes
 * @param together whether these run at the same time, so that the longest counts, or one after another
 */
export function fetchedOrder(lengths: Float64Array, units: number, perFetch: number, together: boolean): FetchedOrder {
  const kept = Math.min(lengths.length, units);
  const count = Math.ceil(units / perFetch);
  const known = Math.min(count, kept / greatestCommonDivisor(kept, perFetch), GIVEN_UNITS);
  const fetches = new Float64Array(known);
  for (let fetch = 0, at = 0; fetch < known; fetch++) {
    let run = 0;
    for (let i = 0; i < perFetch && fetch * perFetch + i < units; i++) {
      run = together ? Math.max(run, lengths[at]) : run + lengths[at];
      if (++at === kept) at = 0;
    }
    fetches[fetch] = run;
  }
  const counts = countLengths(fetches);
  const values = Float64Array.from(counts.keys()).sort();
  const masses = values.map((run) => counts.get(run)! / known);
  return {
    units,
    law: fromMasses(values, masses),
    lastLives(fetchers, at) {
      // Of many fetchers some stand for all, each with as many fetches as it would have.
      const each = Math.max(1, Math.floor(fetchers / LAST_FETCHERS));
      const played = Math.max(1, Math.round(fetchers / each));
      const ends = new Float64Array(played);
      const queue = indexedQueue(ends);
      for (let fetcher = 0; fetcher < played; fetcher++) queue.push(fetcher);
      const first = Math.max(0, count - each * LAST_FETCHES);
      const starts = new Float64Array(Math.ceil((count - first) / each));
      for (let i = 0; i < starts.length; i++) {
        const fetcher = queue.first();
        starts[i] = ends[fetcher];
        ends[fetcher] += fetches[(first + i * each) % known];
        queue.settle();
      }
      const last = starts[starts.length - 1];
      // The longest count, so all fetches are looked at: each starts when the one that stands for it does.
      const stride = Math.max(1, Math.floor((count - first) / LAST_LIVES));
      const lives: number[] = [];
      for (let fetch = first; fetch < count; fetch += stride) {
        const life = fetches[fetch % known] - (last - starts[Math.floor((fetch - first) / each)]);
        if (life > 0) lives.push(life);
      }
      const sorted = Float64Array.from(lives).sort();
      const weight = stride / Math.max(fetchers, stride * sorted.length);
      let ended = 0;
      return at.map((iterations) => {
        while (ended < sorted.length && sorted[ended] <= iterations) ended++;
        return (sorted.length - ended) * weight;
      });
    },
  };
}
