import { reportFormat } from '../report-format.ts';
import { reportPage } from './html.ts';

export const pdf = reportFormat({
  id: 'pdf',
  label: 'PDF report',
  text: 'The HTML report on paper',
  words: 'print paper acrobat',
  extension: 'pdf',
  mediaType: 'application/pdf',
  write: reportPage,
});
