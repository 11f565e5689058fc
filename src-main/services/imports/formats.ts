import { kernelTuner } from './formats/kernel-tuner.ts';
import { loops } from './formats/loops.ts';
import { optuna } from './formats/optuna.ts';
import { results } from './formats/results.ts';
import { smite } from './formats/smite.ts';
import { times } from './formats/times.ts';
import type { Importer } from './importer.ts';

/** The first format that matches a file is used. */
export const IMPORTERS: readonly Importer[] = [results, optuna, kernelTuner, times, loops, smite];

const texts = IMPORTERS.map(({ text }) => text);
export const KNOWN_FORMATS = `${texts.slice(0, -1).join(', ')}, or ${texts.at(-1)}; each also as .gz`;
