import type { MeasurementRecord, RunRecord } from '../../../db/records.ts';
import {
  deviceTitle,
  THROTTLE_REASONS,
  type BenchCase,
  type MeasuringDevice,
  type PlanLine,
} from '../../../src-workers/domain/benchmark.ts';
import { designText, type Design } from '../../../src-workers/domain/design.ts';
import { ok, type Result } from '../../../src-workers/domain/result.ts';
import { coresText } from '../../../src-workers/domain/terms.ts';
import { disturbedFraction } from '../../../src-workers/bench/cpu/analysis.ts';
import { REPEAT_WARNINGS, type RepeatWarning } from '../../../src-workers/models/calibration/repeats.ts';
import type { MeasuredCase, MeasuringDetail, MeasuringRequest } from '../../contract/measuring.ts';
import { fewerDesignsText, roughDuration } from '../../contract/probe.ts';
import type { StoreClient } from '../../../db/store-api.ts';
import { percent } from '../export/text.ts';
import { isSameDevice } from './device.ts';
import { measuredRunStudy, type MeasuredCaseDetail } from './records.ts';
import { measuredTime, repeatsOf, summariseAll } from './times.ts';

export function caseLabel(measured: BenchCase): string {
  switch (measured.benchmark) {
    case 'unit-loop':
      return designText(measured.parameters.design);
    case 'matrix-power': {
      const { lengths, unitsPerGroup, workGroups, execution, synchronised } = measured.parameters;
      return `${lengths}, ${workGroups} groups of ${unitsPerGroup}, ${execution}${synchronised ? ', synchronised' : ''}`;
    }
    case 'divergent-loops': {
      const { loops, divergentLanes, iterations } = measured.parameters;
      return `${loops} loop, ${divergentLanes} divergent lanes, ${iterations} iterations`;
    }
    case 'launch-grid': {
      const { blocks, threads, elements } = measured.parameters;
      return `${blocks} blocks of ${threads} threads, ${elements} elements`;
    }
    case 'probe': {
      const settings = Object.entries(measured.parameters.arguments).map(([name, value]) => `${name} ${value}`);
      return [measured.parameters.probe, ...settings].join(', ');
    }
    case 'stream':
      return `triad on ${coresText(measured.parameters.cores)}`;
    case 'triangular':
      return `triangular, ${measured.parameters.rows} rows on ${coresText(measured.parameters.cores)}`;
    case 'imbalanced-stream':
      return `imbalanced triad on ${coresText(measured.parameters.cores)}`;
    case 'external': {
      const { kernel, configuration, linked } = measured.parameters;
      if (linked) return designText(linked.design);
      const settings = Object.entries(configuration).map(([name, value]) => `${name}=${value}`);
      return [kernel, ...settings].join(' ');
    }
  }
}

/** @param ofSweep whether the designs come from a sweep; their device ids are then the ids of its devices */
function measuredCase(record: MeasurementRecord, position: number, ofSweep: boolean): MeasuredCase {
  const detail = record.detail as MeasuredCaseDetail;
  const { benchmark, parameters } = detail.case;
  const isDesign = benchmark === 'unit-loop' || (benchmark === 'external' && parameters.linked !== undefined);
  const design = isDesign ? (record.design as Design) : null;
  return {
    position,
    case: detail.case,
    label: caseLabel(detail.case),
    deviceId: ofSweep ? record.deviceId : null,
    designIndex: record.designIndex,
    design,
    predictedMs: record.predictedMs,
    measured: record.failure === null ? measuredTime(record) : null,
    correct: record.correct,
    ...(detail.digest !== undefined && { digest: detail.digest }),
    ...(detail.conditions && { conditions: detail.conditions }),
    failure: record.failure ?? (record.correct === false ? detail.checkMessage || 'wrong result' : null),
    registersPerThread: detail.compiled?.registersPerThread ?? null,
    values: detail.values,
  };
}

function waitingCase(one: BenchCase, position: number, deviceId: string | null): MeasuredCase {
  const ofSweep = one.benchmark === 'unit-loop' ? one.parameters : null;
  return {
    position,
    case: one,
    label: caseLabel(one),
    deviceId: ofSweep && deviceId,
    designIndex: ofSweep?.designIndex ?? null,
    design: ofSweep?.design ?? null,
    predictedMs: ofSweep?.predictedMs ?? null,
    measured: null,
    correct: null,
    failure: null,
    registersPerThread: null,
    values: {},
  };
}

export function isDone({ measured, failure, values }: MeasuredCase): boolean {
  return measured !== null || failure !== null || Object.keys(values).length > 0;
}

function counted(cases: readonly string[]): string {
  return cases.length === 1 ? cases[0] : `${cases.length} cases`;
}

function reducedTexts({ part, probe, repeats, cases }: MeasuringRequest): readonly string[] {
  const texts: string[] = [];
  const instead = probe ? `, because all would take about ${roughDuration(probe.fullMs)}` : '';
  // Designs with too many blocks for the units are also missing, but they are reported below.
  const fewer = probe?.ofDesigns !== undefined && cases + (part?.designsLeftOut ?? 0) < probe.ofDesigns;
  if (fewer) texts.push(`Measured ${fewerDesignsText(cases, probe.ofDesigns)}${instead}.`);
  if (part) {
    const { units, ofUnits, designsLeftOut } = part;
    texts.push(
      `Measured on ${units.toLocaleString('en')} of ${ofUnits.toLocaleString('en')} units${fewer ? '' : instead}. The predictions beside these times are for the same number of units; with all units, the order of designs may differ.`,
    );
    if (designsLeftOut > 0)
      texts.push(
        `${designsLeftOut} of the chosen designs ${designsLeftOut === 1 ? 'is left out, because it has' : 'are left out, because they have'} more blocks than ${units.toLocaleString('en')} units fill.`,
      );
  }
  if (probe && repeats < probe.ofRepeats)
    texts.push(`Measured with ${repeats} of ${probe.ofRepeats} repeats${part || fewer ? '' : instead}.`);
  return texts;
}

/** If clocks differ by more than this fraction, the times differ too much to judge a model. */
const CLOCK_SPREAD = 0.02;

function clockWarnings(measuring: MeasuringDevice | null, records: readonly MeasurementRecord[]): readonly string[] {
  const found = records.flatMap(({ detail }) => (detail as MeasuredCaseDetail).conditions ?? []);
  const low = Math.min(...found.map(({ minClockMhz = Infinity }) => minClockMhz));
  const high = Math.max(...found.map(({ maxClockMhz = -Infinity }) => maxClockMhz));
  const warnings: string[] = [];
  if (high > low * (1 + CLOCK_SPREAD)) {
    const busId = measuring?.properties.pciBusId;
    const which = busId === undefined ? '' : ` -i ${busId}`;
    const clock = (mhz: number): string => mhz.toLocaleString('en');
    warnings.push(
      `The clock varied from ${clock(low)} to ${clock(high)} MHz (${percent(high / low - 1)}). To lock it, as an administrator: nvidia-smi${which} -lgc ${low} (and -rgc afterwards).`,
    );
  }
  for (const [bit, text] of THROTTLE_REASONS) {
    const slowed = found.filter(({ throttleReasons = 0 }) => (throttleReasons & bit) !== 0).length;
    if (slowed > 0)
      warnings.push(`The device lowered its clocks because of ${text} in ${slowed} of ${found.length} cases.`);
  }
  return warnings;
}

export function measuringWarnings(
  run: RunRecord,
  request: MeasuringRequest,
  records: readonly MeasurementRecord[],
  noticed: readonly string[],
): readonly string[] {
  const measuring = run.measuringDevice as MeasuringDevice | null;
  const warnings = [...noticed, ...reducedTexts(request)];
  const predicted = run.devices.find((device) => device.id === request.deviceId);
  if (measuring?.backend === 'program' && !request.kernel && measuring.properties.deviceFrom === 'machine')
    warnings.push('The program did not name its device. Print {"device": "NAME"} to see its times in the ranking.');
  else if (predicted && measuring && !isSameDevice(predicted, measuring))
    warnings.push(
      `The times are predicted for ${predicted.name} but measured on ${deviceTitle(measuring)}, so only their order can be compared.`,
    );
  const labels = (matches: (record: MeasurementRecord) => boolean): string[] =>
    records.filter(matches).map((record) => caseLabel((record.detail as MeasuredCaseDetail).case));
  const wrong = labels((record) => record.correct === false);
  if (wrong.length > 0) warnings.push(`Wrong results, left out of comparisons: ${counted(wrong)}.`);
  const failed = labels((record) => record.failure !== null);
  if (failed.length > 0) warnings.push(`Not measured: ${counted(failed)}.`);
  const instant = labels((record) => repeatsOf(record)?.time.medianMs === 0);
  if (instant.length > 0) warnings.push(`Too fast for the timer, left out of comparisons: ${counted(instant)}.`);
  // For the suite `contention`, the findings already report disturbances by other programs.
  const disturbed = labels(({ detail }) => {
    const { case: one, values } = detail as MeasuredCaseDetail;
    return one.benchmark === 'unit-loop' && disturbedFraction(values) !== null;
  });
  if (disturbed.length > 0)
    warnings.push(`Other programs used some of the cores while these were measured: ${counted(disturbed)}.`);
  const elsewhere = records.flatMap(({ detail }) => {
    const { case: one, compiled } = detail as MeasuredCaseDetail;
    const planned = one.benchmark === 'unit-loop' ? one.parameters.residentBlocks : null;
    const resident = compiled?.residentBlocks ?? null;
    return planned === null || resident === null || resident === planned
      ? []
      : [`${caseLabel(one)} (${resident}, planned ${planned})`];
  });
  if (elsewhere.length > 0)
    warnings.push(
      `The number of resident blocks per multiprocessor differs from the prediction, so these cases have another occupancy: ${counted(elsewhere)}.`,
    );
  warnings.push(...clockWarnings(measuring, records));
  const noted = new Map<RepeatWarning, string[]>();
  for (const record of records) {
    if (record.failure !== null) continue;
    for (const warning of repeatsOf(record)?.warnings ?? [])
      noted.set(warning, [...(noted.get(warning) ?? []), caseLabel((record.detail as MeasuredCaseDetail).case)]);
  }
  for (const { code, text } of REPEAT_WARNINGS) {
    const cases = noted.get(code);
    if (cases) warnings.push(`${counted(cases)}: ${text}.`);
  }
  return warnings;
}

export async function measuringDetail(store: StoreClient, run: RunRecord): Promise<Result<MeasuringDetail>> {
  const study = measuredRunStudy(run);
  if (!study.ok) return study;
  const records = await store.listMeasurements(run.id);
  if (!records.ok) return records;
  await summariseAll(records.value);
  const { request, warnings } = study.value;
  const ofSweep = request.sourceRunId !== null;
  const planned = (run.study as { readonly bench?: PlanLine } | null)?.bench?.plan.cases;
  const byCase = new Map(records.value.map((record) => [(record.detail as MeasuredCaseDetail).case.id, record]));
  const cases = planned
    ? planned.map((one, at) => {
        const record = byCase.get(one.id);
        return record ? measuredCase(record, at, ofSweep) : waitingCase(one, at, request.deviceId);
      })
    : records.value.map((record, at) => measuredCase(record, at, ofSweep));
  return ok({
    runId: run.id,
    request,
    device: run.measuringDevice as MeasuringDevice | null,
    cases,
    warnings: measuringWarnings(run, request, records.value, warnings),
  });
}
