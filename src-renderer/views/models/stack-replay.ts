import {
  PUBLISHED_STACK,
  type StackRun,
  type StackShape,
  type Token,
} from '../../../src-workers/models/divergence/emulator.ts';

export interface StackState {
  /** The tokens from bottom to top. */
  readonly tokens: readonly Token[];
  /** How many tokens at the bottom are spilled to memory. */
  readonly inMemory: number;
}

/** Returns the stack after instruction `step` of a run (0 … executed − 1), replayed from the pushes and pops. */
export function stackAt(run: StackRun, step: number, shape: StackShape = PUBLISHED_STACK): StackState {
  const tokens: Token[] = [];
  let inMemory = 0;
  for (const { kind, step: at, token } of run.events) {
    if (at > step) break;
    if (kind === 'push') {
      if (tokens.length - inMemory === shape.fastEntries) inMemory += shape.chunkEntries;
      tokens.push(token);
    } else {
      if (tokens.length === inMemory) inMemory -= shape.chunkEntries;
      tokens.pop();
    }
  }
  return { tokens, inMemory };
}

/** Returns the number of tokens in memory after every instruction. */
export function inMemoryBySteps(run: StackRun, shape: StackShape = PUBLISHED_STACK): Uint16Array {
  const out = new Uint16Array(run.executed);
  let depth = 0;
  let inMemory = 0;
  let next = 0;
  for (let step = 0; step < run.executed; step += 1) {
    for (; next < run.events.length && run.events[next].step === step; next += 1) {
      if (run.events[next].kind === 'push') {
        if (depth - inMemory === shape.fastEntries) inMemory += shape.chunkEntries;
        depth += 1;
      } else {
        if (depth === inMemory) inMemory -= shape.chunkEntries;
        depth -= 1;
      }
    }
    out[step] = inMemory;
  }
  return out;
}

/** Returns the nearest push or pop before (−1) or after (1) `step`; `step` if there is none. */
export function nextEvent(run: StackRun, step: number, direction: -1 | 1): number {
  const found =
    direction > 0 ? run.events.find((event) => event.step > step) : run.events.findLast((event) => event.step < step);
  return found?.step ?? step;
}
