import { reportFormat } from '../report-format.ts';
import { reportPage } from './html.ts';

/** The report as an HTML page, which the host prints to a PDF file. */
export const pdf = reportFormat({
  id: 'pdf',
  label: 'PDF report',
  text: 'The HTML report on paper',
  words: 'print paper acrobat',
  extension: 'pdf',
  mediaType: 'application/pdf',
  write: reportPage,
});
