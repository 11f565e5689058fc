import { PUBLISHED_STACK, type StackRun, type Token } from '../../../src-workers/models/divergence/emulator.ts';

/** Returns the tokens after instruction `step` of a run (0 … executed − 1), from the bottom of the stack to its top. */
export function tokensAt(run: StackRun, step: number): readonly Token[] {
  const tokens: Token[] = [];
  for (const { kind, step: at, token } of run.events) {
    if (at > step) break;
    if (kind === 'push') tokens.push(token);
    else tokens.pop();
  }
  return tokens;
}

/** Returns how many tokens, from the bottom of the stack, are spilled to memory after every instruction. */
export function inMemoryBySteps(run: StackRun): Uint16Array {
  const { fastEntries, chunkEntries } = PUBLISHED_STACK;
  const out = new Uint16Array(run.executed);
  let depth = 0;
  let inMemory = 0;
  let next = 0;
  for (let step = 0; step < run.executed; step += 1) {
    for (; next < run.events.length && run.events[next].step === step; next += 1) {
      if (run.events[next].kind === 'push') {
        if (depth - inMemory === fastEntries) inMemory += chunkEntries;
        depth += 1;
      } else {
        if (depth === inMemory) inMemory -= chunkEntries;
        depth -= 1;
      }
    }
    out[step] = inMemory;
  }
  return out;
}

export function nextEvent(run: StackRun, step: number, direction: -1 | 1): number {
  const found =
    direction > 0 ? run.events.find((event) => event.step > step) : run.events.findLast((event) => event.step < step);
  return found?.step ?? step;
}
