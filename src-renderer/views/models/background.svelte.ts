/* eslint-disable svelte/prefer-svelte-reactivity -- the address of the worker never changes */
import type { FigureAnswer, FigureInput, FigureName, FigureOutput, FigureRequest } from './figures.ts';

/** Computes a figure in a worker whenever its input changes. Create it while a component initialises. */
export class Background<Name extends FigureName> {
  #value = $state.raw<FigureOutput<Name> | null>(null);
  #asked = $state(0);
  #answered = $state(0);

  constructor(name: Name, input: () => FigureInput<Name>) {
    const worker = new Worker(new URL('./figures.worker.ts', import.meta.url), { type: 'module' });
    let last = 0;
    worker.onmessage = ({ data: { id, output } }: MessageEvent<FigureAnswer>) => {
      if (id !== last) return;
      this.#value = output as FigureOutput<Name>;
      this.#answered = id;
    };
    $effect(() => {
      const request: FigureRequest = { id: (last += 1), name, input: input() };
      this.#asked = last;
      worker.postMessage(request);
    });
    $effect(() => () => worker.terminate());
  }

  get value(): FigureOutput<Name> | null {
    return this.#value;
  }
  get pending(): boolean {
    return this.#asked !== this.#answered;
  }
}
