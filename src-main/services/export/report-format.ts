import { ok } from '../../../src-workers/domain/result.ts';
import { timeRanges } from '../advice/interval.ts';
import { changedSince } from '../runs/changes.ts';
import { bestRows } from '../ranking/rows.ts';
import type { Exporter, ExportJob, FormatWords } from './exporter.ts';
import { reportFacts, type ReportFacts } from './facts.ts';
import { joined } from './text.ts';

interface ReportOptions extends FormatWords, Pick<Exporter, 'plain'> {
  readonly extension: string;
  readonly mediaType: string;
  write(facts: ReportFacts, job: ExportJob): string | Promise<string>;
}

export function reportFormat({ extension, mediaType, write, ...entry }: ReportOptions): Exporter {
  return {
    ...entry,
    about: 'report',
    rows: false,
    gpus: false,
    async write(job) {
      const { context, view, within, chosen, recommended, base, input } = job;
      const changed = await changedSince(context.store, view.run, view.study);
      const rows = [...bestRows(view, within, input.limit)];
      const ranges = await timeRanges(context.pool, view, [chosen.designIndex]);
      if (!ranges.ok) return ranges;
      const facts = reportFacts(view, rows, chosen, recommended, within, {
        changed: changed.length,
        range: ranges.value[0],
      });
      if (!facts.ok) return facts;
      const text = await write(facts.value, job);
      return ok({ fileName: `${base}.${extension}`, mediaType, parts: joined([text]) });
    },
  };
}
