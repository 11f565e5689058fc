import { parseLoopTimes } from '../../../../src-workers/parse/loops.ts';
import { bytesSource } from '../../../../src-workers/parse/source.ts';
import { hasColumns, readCases, type Importer } from '../importer.ts';

export const loops: Importer = {
  id: 'loops',
  text: 'measured loops (CSV: dataset, rows, cols, nnzs and a column per schedule)',
  help: ['measured loops', 'CSV: dataset,rows,cols,nnzs and a column of times, ms, per schedule'],
  matches: (file) => hasColumns(file, 'dataset', 'rows', 'cols', 'nnzs'),
  read: (input) => readCases('loops', input, parseLoopTimes(bytesSource(input.bytes), input.fileName)),
};
