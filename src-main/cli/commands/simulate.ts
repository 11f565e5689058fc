import type { Command } from 'commander';
import { isContradicted } from '../../contract/accuracy.ts';
import type { RunSummary, SimulatedDesign } from '../../contract/api.ts';
import { partialText } from '../../contract/counts.ts';
import { counted } from '../../services/export/text.ts';
import { validate } from '../../contract/parse.ts';
import { procedures } from '../../contract/procedures.ts';
import type { Engine } from '../../services/engine.ts';
import { designFields } from '../../services/export/tables.ts';
import { predictionAgreement } from '../../services/simulations/simulations.ts';
import { byAgents, command, type CommandLine, type GlobalOptions, positive, call } from '../command-line.ts';
import { contradictedCell, designColumns, evidenceGapsOf, regimeFields, sayContradicted } from '../design-columns.ts';
import { followRun, runId } from '../follow.ts';
import { percent, signedPercent, type Terminal, timeCells, usage } from '../output.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';

export function addSimulate(program: Command, { terminal, withRuns }: CommandLine): void {
  byAgents(command(program, 'simulate <run>', 'simulate the best designs of a run, event by event'))
    .option('--top <count>', 'designs to simulate', positive, 20)
    .option('--device <id>', 'only this device')
    .action((run: string, options: SimulateOptions) =>
      withRuns(options, (engine) => simulateCommand(engine, terminal, run, options)),
    );
}

interface SimulateOptions extends GlobalOptions {
  readonly top: number;
  readonly device?: string;
}

export async function simulateCommand(
  engine: Engine,
  terminal: Terminal,
  run: string,
  options: SimulateOptions,
): Promise<void> {
  const id = usage(runId(run));
  const input = usage(
    validate(
      procedures['simulations.start'].input,
      { runId: id, top: options.top, deviceId: options.device },
      'simulate',
    ),
  );
  const done = await followRun(engine, terminal, 'Simulating', () => engine.call('simulations.start', input));
  return reportSimulations(engine, terminal, unwrap(done), options);
}

export async function reportSimulations(
  engine: Engine,
  terminal: Terminal,
  run: RunSummary,
  options: { readonly json?: boolean },
): Promise<void> {
  const rows = await call(engine, 'simulations.list', { runId: run.id });
  const agreement = predictionAgreement(rows);
  const gaps = await evidenceGapsOf(engine, run.sourceRunId, rows);
  const sweep = run.sourceRunId === null ? null : await engine.call('runs.get', { id: run.sourceRunId });
  const partial = sweep?.ok ? partialText(sweep.value) : null;
  if (options.json)
    return terminal.json({
      runId: run.id,
      sourceRunId: run.sourceRunId,
      rows: rows.map(plainSimulation),
      ...agreement,
      evidenceGaps: gaps,
      partial,
    });
  terminal.say(
    `Run ${run.id}: ${counted(rows.length, 'design')} of run ${run.sourceRunId}, ${run.name}, simulated in ${(run.elapsedMs / 1000).toFixed(2)} s.`,
  );
  const { unit, cell } = timeCells(rows.flatMap((row) => [row.simulated.medianMs, row.predictedMs]));
  const ties = rows.filter((row) => row.tied).length;
  terminal.rows(rows, [
    ['rank', (row) => (row.tied && ties > 1 ? `=${row.rank}` : row.rank)],
    ['design', (row) => row.designIndex],
    ['device', (row) => row.device],
    ...designColumns<SimulatedDesign>(),
    ['cap', (row) => row.design.registerCap ?? '–'],
    [`simulated, ${unit}`, (row) => cell(row.simulated.meanMs)],
    [
      '±',
      (row) =>
        isRandom(row) ? percent((row.simulated.highMs - row.simulated.lowMs) / 2 / row.simulated.meanMs, 2) : '–',
    ],
    ['median', (row) => cell(row.simulated.medianMs)],
    ['replications', (row) => row.simulated.replications],
    [`predicted, ${unit}`, (row) => cell(row.predictedMs)],
    ['difference', (row) => signedPercent(row.difference, 2)],
    ['', contradictedCell],
  ]);
  const random = rows.filter(isRandom);
  if (random.length < rows.length)
    terminal.say(
      `Nothing is random in ${random.length === 0 ? (rows.length === 1 ? 'this design' : 'these designs') : 'the designs with one replication'}. Equal times only show that model and simulation agree, not that the time is right.`,
    );
  if (random.length > 0) {
    const { spearman, medianAbsoluteDifference } = predictionAgreement(random);
    const order = spearman === null ? '' : `, rank correlation ${spearman.toFixed(3)}`;
    terminal.say(`Predictions and simulations differ by a median of ${percent(medianAbsoluteDifference, 2)}${order}.`);
  }
  if (ties > 1) terminal.say('= marks ranks whose interval overlaps the interval of the first rank.');
  sayContradicted(terminal, rows);
  if (partial !== null) terminal.say(partial);
  if (gaps !== null) terminal.say(gaps);
}

/** A design without randomness is simulated only once. */
const isRandom = ({ simulated }: SimulatedDesign): boolean => simulated.replications > 1;

function plainSimulation(row: SimulatedDesign) {
  const { rank, tied, deviceId, predictedMs, simulated, difference, designIndex, order } = row;
  return {
    rank,
    tied,
    device: deviceId,
    design: designFields(row.design),
    predictedMs,
    simulatedMs: {
      median: simulated.medianMs,
      mean: simulated.meanMs,
      low: simulated.lowMs,
      high: simulated.highMs,
      standardDeviation: simulated.standardDeviationMs,
    },
    replications: simulated.replications,
    random: isRandom(row),
    precise: simulated.precise,
    difference,
    contradicted: isContradicted(predictedMs, simulated),
    designIndex,
    regime: regimeFields(row.regime),
    order,
  };
}
