import { parseSmiteMeans } from '../../../../src-workers/parse/smite.ts';
import { bytesSource } from '../../../../src-workers/parse/source.ts';
import { hasColumns, readCases, type Importer } from '../importer.ts';

export const smite: Importer = {
  id: 'smite',
  text: 'mean losses of SMITE (CSV: distribution, n, groups, …)',
  help: ['mean losses of SMITE', 'CSV: distribution,n,groups,measured_mean_loss,…'],
  matches: (file) => hasColumns(file, 'distribution', 'n', 'measured_mean_loss'),
  read: (input) => readCases('smite', input, parseSmiteMeans(bytesSource(input.bytes), input.fileName)),
};
