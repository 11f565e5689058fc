import { FIGURES, type FigureAnswer, type FigureRequest } from './figures.ts';

self.onmessage = ({ data: { id, name, input } }: MessageEvent<FigureRequest>) => {
  const compute = FIGURES[name] as (input: unknown) => unknown;
  self.postMessage({ id, output: compute(input) } satisfies FigureAnswer);
};
