import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { openEngine } from '../../src-main/services/engine.ts';
import { KERNEL_INPUTS, kernelInput, VARIED_INPUTS, type KernelNumber } from '../../src-workers/domain/provenance.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { inFolder } from '../db/sample.ts';
import { call, ended } from '../unit/engine-calls.ts';
import { EXAMPLES, ROOT } from './random-study.ts';
import { inSeconds, type Report, type Section } from './report.ts';

/**
 * Requests all advice on a study, with every input varied. The engine ends a hanging call, which counts as a failure.
 */
async function verifyAdvice(report: Report, amount: number): Promise<void> {
  const names = readdirSync(EXAMPLES).filter((name) => name.endsWith('.json'));
  // The study with the most kinds of designs is always included.
  names.sort((a, b) => Number(b.includes('implementations')) - Number(a.includes('implementations')));
  await inFolder(async (folder) => {
    const engine = unwrap(
      await openEngine({ databaseFile: join(folder, 'advice.db'), resourceFolder: ROOT, host: 'cli', workers: 2 }),
    );
    for (const name of names.slice(0, amount)) {
      const start = performance.now();
      const study = JSON.parse(readFileSync(join(EXAMPLES, name), 'utf8')) as StudyFile;
      const about = { study, folder: EXAMPLES };
      try {
        const { device, designIndex } = await call(engine, 'advice.recommend', about);
        for (const deviceId of study.devices)
          for (const look of ['glance', 'coarse', 'fastest', 'all'])
            await call(engine, 'advice.recommend', { ...about, deviceId, look });
        const asked = { ...about, deviceId: device.id, designIndex };
        const { inputs } = await call(engine, 'advice.sensitivity', { ...asked, inputs: VARIED_INPUTS });
        if (inputs.length === 0) report.fail(`${name}: no input was varied, so nothing was tested`);
        if (!device.id.startsWith('cpu'))
          await call(engine, 'advice.code', { ...asked, format: 'cuda' }).catch(() => null);
        const run = await ended(engine, 'runs.start', about);
        for (const input of VARIED_INPUTS) {
          const field = kernelInput(input)?.field as KernelNumber | undefined;
          const values = field ? KERNEL_INPUTS[field].usual : input === 'workload.units' ? [1, 100_003] : [0.5, 1.7];
          const robust = await engine.call('advice.robust', {
            runIds: [run.id],
            deviceIds: [device.id],
            vary: [{ input, values: [...values] }],
          });
          // With few units or many registers, a study may have no valid design, and the answer says so.
          if (!robust.ok && robust.error.code !== 'conflict') report.fail(`${name}, ${input}: ${robust.error.message}`);
        }
        report.figure(name, `${inputs.length} inputs, ${inSeconds(performance.now() - start)}`);
      } catch (error) {
        report.fail(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    await engine.close();
  });
}

export const section: Section = {
  what: 'all advice for the examples with every input varied: each call is answered, and no task hangs',
  full: 99,
  quick: 1,
  unit: 'examples at most',
  run: verifyAdvice,
};
