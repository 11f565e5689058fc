import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Recommendation } from '../../src-main/contract/advice.ts';
import type { ProcedureName } from '../../src-main/contract/procedures.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { KERNEL_INPUTS, kernelInput, VARIED_INPUTS, type KernelNumber } from '../../src-workers/domain/provenance.ts';
import type { Failure } from '../../src-workers/domain/result.ts';
import { median } from '../../src-workers/numeric/statistics.ts';
import { inFolder } from '../db/sample.ts';
import { testEngine } from '../unit/engine-calls.ts';
import { inSeconds, oneOf, type Report, type Section } from './report.ts';
import { EXAMPLES, exampleStudies, randomStudy } from './random-study.ts';

/** Longest wait for an answer, ms. A user would give up after this time, even on a busy machine. */
const LIMIT_MS = 120_000;
/** Failure codes whose message explains what is wrong with the inputs. */
const SAID: readonly Failure['code'][] = ['bad-input', 'conflict', 'unsupported'];

/** Calls all procedures of advice with random inputs. In time, an answer must come, or a failure that explains. */
async function verifyInputs(report: Report, amount: number): Promise<void> {
  const { uniform } = report;
  const times = new Map<string, number[]>();
  let refused = 0;
  await inFolder(async (folder) => {
    const engine = await testEngine(join(folder, 'inputs.db'), { workers: 2 });
    const examples = exampleStudies();
    for (let round = 0; round < amount; round += 1) {
      const [name, example] = examples[round % examples.length];
      const study = randomStudy(example, uniform);
      const about = { study, folder: EXAMPLES };
      const what = `${name} with ${JSON.stringify({ ...study.workload, devices: study.devices, kernel: study.kernel })}`;
      const ask = async (call: ProcedureName, input: object, inStudy: object = about): Promise<unknown> => {
        const start = performance.now();
        const late = pause(LIMIT_MS, null, { ref: false });
        const answer = await Promise.race([engine.dispatch(call, { ...inStudy, ...input }), late]);
        const ms = performance.now() - start;
        times.set(call, [...(times.get(call) ?? []), ms]);
        if (answer === null) report.fail(`${call} took more than ${inSeconds(LIMIT_MS)}: ${what}`);
        else if (answer.ok) return answer.value;
        else if (SAID.includes(answer.error.code)) refused += 1;
        else report.fail(`${call}: ${answer.error.message}: ${what}`);
        return null;
      };
      const look = oneOf(uniform, ['glance', 'coarse', 'fastest', 'all']);
      const found = (await ask('advice.recommend', { look })) as Recommendation | null;
      const { designIndex, device } = found ?? { designIndex: 0, device: { id: study.devices[0] } };
      if (found && !(found.time.ms > 0 && found.time.lowMs <= found.time.ms && found.time.ms <= found.time.highMs))
        report.fail(`advice.recommend: ${JSON.stringify(found.time)} is not a positive time inside its range: ${what}`);
      await ask('advice.recommend', { robust: true });
      await ask('advice.uncertainty', { designs: found ? [designIndex] : [] });
      await ask('advice.sensitivity', { inputs: [oneOf(uniform, VARIED_INPUTS), oneOf(uniform, VARIED_INPUTS)] });
      const format = oneOf(uniform, ['cuda', 'wgsl', 'python', 'sycl']);
      await ask('advice.code', { deviceId: device.id, designIndex, format });
      await ask('advice.predict', { designs: askedDesigns(study), deviceId: device.id });
      const started = await engine.call('runs.start', about);
      if (!started.ok) continue;
      const { runId } = started.value;
      await engine.call('runs.wait', { id: runId });
      const input = oneOf(uniform, VARIED_INPUTS);
      const field = kernelInput(input)?.field as KernelNumber | undefined;
      const values = field ? KERNEL_INPUTS[field].usual : input === 'workload.units' ? [1, 100_003] : [0.5, 1.7];
      const vary = [{ input, values: [...values] }];
      await ask('advice.robust', { runIds: [runId], deviceIds: [device.id], vary }, {});
    }
    await engine.close();
  });
  for (const [call, all] of times) {
    const half = inSeconds(median(Float64Array.from(all)));
    report.figure(call, `${all.length} calls, half within ${half}, the longest ${inSeconds(Math.max(...all))}`);
  }
  report.figure('said to be wrong', refused);
}

function askedDesigns({ axes }: StudyFile): readonly object[] {
  const balancing = axes.balancing?.[0] ?? 'none';
  const design = { threads_per_unit: 4, units_per_thread: 2, loop: 'nested', balancing, register_cap: 0 };
  return [64, 256, 1000].map((block) => ({ ...design, block_threads: block }));
}

export const section: Section = {
  what: 'every procedure of advice for the examples with random inputs: an answer or an explanation within two minutes',
  amount: { full: 200, quick: 18, unit: 'studies' },
  run: verifyInputs,
};
