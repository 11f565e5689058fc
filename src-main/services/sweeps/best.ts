import type { BestDesign, BestDesigns, RunRecord } from '../../../db/records.ts';
import { keepBest, spaceParts, type DesignRange, type PickedDesign } from '../../../src-workers/advise/best.ts';
import { simplerFirst } from '../../../src-workers/advise/pick.ts';
import type { Failure } from '../../../src-workers/domain/result.ts';
import { describeDesign } from '../../../src-workers/predict/designs.ts';
import type { SweepPlan } from '../../../src-workers/predict/plan.ts';
import { createPredictor } from '../../../src-workers/predict/predictor.ts';
import { axisCounts, spaceSize } from '../../../src-workers/domain/space.ts';
import { sortByValue } from '../../../src-workers/sweep/sort.ts';
import { AGREEMENT_FRACTION } from '../../../src-workers/sweep/ties.ts';
import type { Context } from '../context.ts';
import { designText } from '../../../src-workers/domain/design.ts';
import { openExecution, triedTwice } from '../runs/execution.ts';
import type { RunHandle } from '../runs/running.ts';

const BOUND_PARTS = 64;

/** Returns a function that runs tasks for parts of a space, `lanes` at a time. A failed task aborts `controller`. */
function openLanes(lanes: number, controller: AbortController) {
  const { signal } = controller;
  let failure: Failure | null = null;
  const inParts = async <Part, Found>(
    next: () => Part | undefined,
    task: (part: Part) => Promise<Found>,
    rangesOf: (part: Part) => readonly DesignRange[],
    take: (found: Found, part: Part) => void,
  ): Promise<void> => {
    const ended = Array.from({ length: lanes }, async () => {
      for (let part = next(); part !== undefined && !signal.aborted; part = next()) {
        const found = await triedTwice(signal, rangesOf(part), () => task(part!));
        if (found?.ok) take(found.value, part);
        else if (found) {
          failure ??= found.error;
          controller.abort();
        }
      }
    });
    await Promise.all(ended);
  };
  return { inParts, failure: () => failure };
}

/**
 * Finds the best designs of a run's space, exactly the first designs of a complete ranking (`advise/best.ts`), and
 * saves them in one step. A cancelled run has saved nothing, and begins again when it is resumed.
 */
export function runBest(context: Context, run: RunRecord, plan: SweepPlan, wanted: number): RunHandle {
  const controller = new AbortController();
  const { signal } = controller;
  const { pool, store } = context;
  const size = spaceSize(plan.axes);
  const parts = spaceParts(axisCounts(plan.axes));
  // One task more than there are workers, so that no worker waits for the event loop.
  const { inParts, failure } = openLanes(pool.workers + 1, controller);
  let best: BestDesign | null = null;
  const execution = openExecution(context, run, size, 0, () => ({
    stage: execution.done() > 0 ? 'predicting' : 'preparing',
    bestTimeMs: best?.timeMs ?? null,
  }));

  const boundsOfParts = async (): Promise<Float64Array> => {
    const bounds = new Float64Array(parts.count);
    let at = 0;
    await inParts(
      () => {
        const first = at;
        at += BOUND_PARTS;
        return first < parts.count ? first : undefined;
      },
      (first) => pool.run('partBounds', { plan, parts: rangesFrom(first) }, { signal }),
      rangesFrom,
      (found, first) => bounds.set(found, first),
    );
    return bounds;
  };
  const rangesFrom = (first: number): readonly DesignRange[] =>
    Array.from({ length: Math.min(BOUND_PARTS, parts.count - first) }, (_, at) => parts.at(first + at));

  const search = async (): Promise<BestDesigns> => {
    const bounds = await boundsOfParts();
    const order = sortByValue(
      Uint32Array.from(bounds, (_, part) => part),
      bounds,
    );
    const kept = keepBest(wanted);
    let predicted = 0;
    let at = 0;
    const nextWithin = (limitMs: number): number | undefined =>
      at < order.length && bounds[order[at]] <= limitMs && bounds[order[at]] < Infinity ? order[at++] : undefined;
    await inParts(
      () => nextWithin(kept.limitMs()),
      (part) => pool.run('searchBest', { plan, part: parts.at(part), wanted, limitMs: kept.limitMs() }, { signal }),
      (part) => [parts.at(part)],
      (found, part) => {
        predicted += found.predicted;
        kept.merge(found);
        execution.add(parts.at(part).count);
        execution.progressAtTimes();
      },
    );
    const { designs, columns } = kept.found();
    const fastest = columns.timeMs.reduce((first, time, entry) => (time < columns.timeMs[first] ? entry : first), 0);
    let picked: number | null = null;
    if (designs.length > 0 && !signal.aborted) {
      const timeMs = columns.timeMs[fastest];
      best = { timeMs, design: designText(describeDesign(createPredictor(plan), designs[fastest]).design) };
      // A run that does not keep all designs within this limit cannot pick one of them later.
      const limitMs = timeMs * (1 + AGREEMENT_FRACTION);
      if (designs.length === wanted && kept.limitMs() <= limitMs) {
        at = 0;
        picked = await pick(() => nextWithin(limitMs), designs[fastest], limitMs);
      }
    }
    return { ...columns, designs, predicted, picked };
  };

  const pick = async (next: () => number | undefined, fastest: number, limitMs: number): Promise<number | null> => {
    const perDevice = size / plan.axes.devices.length;
    const first = Math.floor(fastest / perDevice) * perDevice;
    const ofDevice = (part: number): DesignRange => {
      const range = parts.at(part);
      const from = Math.max(first, range.first);
      return { first: from, count: Math.min(first + perDevice, range.first + range.count) - from };
    };
    const found = new Map<number, PickedDesign>();
    let picked: number | null = null;
    const compare = simplerFirst(plan.axes, {
      timeMs: (design) => found.get(design)!.timeMs,
      gridBlocks: (design) => found.get(design)!.gridBlocks,
    });
    await inParts(
      () => {
        let part = next();
        while (part !== undefined && ofDevice(part).count <= 0) part = next();
        return part;
      },
      (part) => pool.run('searchPick', { plan, part: ofDevice(part), limitMs }, { signal }),
      (part) => [ofDevice(part)],
      (one) => {
        if (!one) return;
        found.set(one.design, one);
        if (picked === null || compare(one.design, picked) < 0) picked = one.design;
      },
    );
    return picked;
  };

  const finished = execution.finishAfter(async () => {
    execution.progress();
    try {
      const found = await search();
      if (failure() || signal.aborted) return { end: failure() ?? 'cancelled', best: null };
      execution.add(size - execution.done());
      const saved = await store.saveBestDesigns(run.id, found);
      return { end: saved.ok ? 'complete' : saved.error, best };
    } finally {
      // If an exception is thrown, other tasks would go on, so they are cancelled.
      controller.abort();
    }
  });

  return { runId: run.id, finished, cancel: () => controller.abort() };
}
