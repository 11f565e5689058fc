import { verifyMonkey } from './monkey.ts';
import type { Section } from './report.ts';

export const section: Section = {
  what: 'random actions on the study with the most implementations, opened, edited and swept at once: no worker hangs',
  amount: { full: 30, quick: 1, unit: 'minutes' },
  run: (report, minutes) => verifyMonkey(report, minutes, 'SpMV implementations'),
};
