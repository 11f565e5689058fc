import { unwrap } from '../../../src-workers/domain/result.ts';
import { type Command, Option } from 'commander';
import { MAX_TRUNCATION, MIN_TRUNCATION } from '../../contract/study.ts';
import { workloadLoss } from '../../services/models/loss.ts';
import { command, type CommandLine, type GlobalOptions, sizes } from '../command-line.ts';
import { badUsage } from '../output.ts';

export function addLoss(program: Command, { terminal }: CommandLine): void {
  command(program, 'loss', 'compute the loss of lockstep execution for several group sizes')
    .requiredOption(
      '--workload <W>',
      'lengths of the units: geometric(0.05), file:lengths.csv, mtx:matrix.mtx, example:collatz, …',
    )
    .addOption(
      new Option('--n <list>', 'units per work group').argParser(sizes).default([2, 4, 8, 16, 32], '2,4,8,16,32'),
    )
    .option('--truncation <mass>', 'probability cut from an infinite support (default: 1e-6)')
    .action(async (options: GlobalOptions & { workload: string; n: readonly number[]; truncation?: string }) => {
      const truncation = options.truncation === undefined ? undefined : Number(options.truncation);
      if (truncation !== undefined && !(truncation >= MIN_TRUNCATION && truncation <= MAX_TRUNCATION))
        throw badUsage(
          `--truncation must be a number from ${MIN_TRUNCATION} to ${MAX_TRUNCATION}, not "${options.truncation}".`,
        );
      const report = unwrap(await workloadLoss(options.workload, options.n, process.cwd(), truncation));
      if (options.json) return terminal.json(report);
      const { workload, rows } = report;
      const cut = workload.truncatedMass;
      terminal.say(
        `${workload.label}: mean ${workload.mean.toPrecision(6)}, standard deviation ${workload.standardDeviation.toPrecision(5)}, lengths ${workload.supportMin} to ${workload.supportMax}${cut > 0 ? `, ${cut.toExponential(2)} of the probability cut` : ''}${workload.fitted ? '; the law is assumed, and fitted to these figures' : ''}`,
      );
      if (workload.note) terminal.say(workload.note);
      const ordered = rows.some(({ givenOrder }) => givenOrder !== null);
      if (ordered)
        terminal.say('"In order" means n consecutive units. The other losses are for n units drawn at random.');
      terminal.rows(rows, [
        ['n', (row) => row.n],
        ordered && ['mean in order', (row) => row.givenOrder?.meanLoss.toFixed(4) ?? '–'],
        ordered && ['aggregate in order', (row) => row.givenOrder?.aggregateLoss.toFixed(4) ?? '–'],
        ['mean loss', (row) => row.meanLoss.toFixed(4)],
        ['deviation', (row) => row.standardDeviationLoss.toFixed(4)],
        ['aggregate', (row) => row.aggregateLoss.toFixed(4)],
        ['p50', (row) => row.quantiles?.p50.toFixed(3) ?? '–'],
        ['p95', (row) => row.quantiles?.p95.toFixed(3) ?? '–'],
        ['p99', (row) => row.quantiles?.p99.toFixed(3) ?? '–'],
      ]);
    });
}
