import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The path of a file in `test/data`. */
export const dataFile = (name: string): string => join(import.meta.dirname, 'data', name);

export const dataText = (name: string): string => readFileSync(dataFile(name), 'utf8');
