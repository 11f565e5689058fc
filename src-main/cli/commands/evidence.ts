import { basename } from 'node:path';
import type { Command } from 'commander';
import type { ChoiceEvidence, DatasetEvidence, GpuEvidence } from '../../../src-workers/domain/evidence.ts';
import type { Engine } from '../../services/engine.ts';
import { counted } from '../../services/export/text.ts';
import { readImportFile } from '../../services/imports/file-kind.ts';
import { command, type CommandLine, type GlobalOptions } from '../command-line.ts';
import { percent, type Terminal, usage } from '../output.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';

export function addEvidence(program: Command, { terminal, withEngine }: CommandLine): void {
  command(
    program,
    'evidence [dataset]',
    'compare with measurements: ginkgo, loops, convolution, hasan, smite; ours: swiftshader, h100-loops, h100-products',
  )
    .option('--data <file>', 'another file with the same columns (CSV, also gzip)')
    .action((dataset: string | undefined, options: GlobalOptions & { data?: string }) =>
      withEngine(options, (engine) => evidenceCommand(engine, terminal, dataset, options), { reads: true }),
    );
}

async function evidenceCommand(
  engine: Engine,
  terminal: Terminal,
  dataset: string | undefined,
  options: { readonly json?: boolean; readonly data?: string },
): Promise<void> {
  const { data } = options;
  const judged = await engine.call('evidence.judge', {
    dataset,
    ...(data !== undefined && { data: { fileName: basename(data), bytes: unwrap(await readImportFile(data)) } }),
  });
  if (!judged.ok && judged.error.code === 'not-found') usage(judged);
  const found = unwrap(judged);
  if (options.json) return terminal.json(found);
  for (const one of found.datasets) sayDataset(terminal, one, data === undefined);
}

function sayDataset(terminal: Terminal, dataset: DatasetEvidence, heldOut: boolean): void {
  const { title, source, licence, notes, gpus, unseen } = dataset;
  terminal.say(`${title}. ${source} (${licence}).`);
  if (dataset.gpus.some(({ implementations }) => implementations.some(({ parameters }) => parameters.length > 0)))
    terminal.say(
      heldOut
        ? 'Each matrix is predicted with parameters fitted without it (five folds).'
        : 'The parameters were fitted on all matrices of the shipped data.',
    );
  for (const note of notes) terminal.say(note);
  for (const gpu of gpus) sayGpu(terminal, gpu);
  if (unseen.length > 0) {
    terminal.say('');
    terminal.say('Each GPU is judged with parameters of the other GPUs, scaled by the data sheets.');
    terminal.table(
      ['device', 'times', 'median error', 'regret', 'median error, large', 'regret, large'],
      unseen.map((one) => [
        one.device,
        one.count,
        percent(one.medianError),
        one.regret.toFixed(3),
        one.medianErrorLarge === null ? '–' : percent(one.medianErrorLarge),
        one.regretLarge?.toFixed(3) ?? '–',
      ]),
    );
  }
  terminal.say('');
}

function sayGpu(terminal: Terminal, { device, column, implementations, choice, choiceLarge }: GpuEvidence): void {
  terminal.say('');
  terminal.say(`${device} (${column})`);
  terminal.table(
    ['implementation', 'count', 'median error', 'p90 error', 'Spearman', '≥ 10⁶ non-zeros', 'nearest'],
    implementations.map((one) => [
      one.name,
      one.count,
      percent(one.medianError),
      percent(one.p90Error),
      one.spearman.toFixed(3),
      one.large?.spearman.toFixed(3) ?? '–',
      one.nearest?.spearman.toFixed(3) ?? '–',
    ]),
  );
  // Only a data set of matrices has `fourNumbersRegret`. The choices of any other data set are called cases.
  const cases =
    choice && (choice.fourNumbersRegret === null ? counted(choice.count, 'case') : `${choice.count} matrices`);
  if (choice) terminal.say(`For ${cases}, the predicted choice ${choiceText(choice)}`);
  if (choiceLarge)
    terminal.say(
      `For the ${choiceLarge.count} with at least 10⁶ non-zeros, the predicted choice ${choiceText(choiceLarge)}`,
    );
}

function choiceText({ regret, regretP95, hitRate, bestFixed }: ChoiceEvidence): string {
  const fixed = bestFixed
    ? ` Always choosing ${bestFixed.name} takes ${bestFixed.regret.toFixed(3)} times as long as the fastest.`
    : '';
  return `takes ${regret.toFixed(3)} times as long as the fastest on average (95 % are below ${regretP95.toFixed(2)}), and is the fastest for ${percent(hitRate)}.${fixed}`;
}
