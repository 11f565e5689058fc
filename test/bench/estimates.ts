import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startOf } from '../../src-main/contract/probe.ts';
import type { ProcedureInput } from '../../src-main/contract/procedures.ts';
import { openEngine } from '../../src-main/services/engine.ts';
import { unwrap } from '../../src-workers/domain/result.ts';

/*
 * `npm run bench -- estimates`: what a probe expects of a measurement beside what it takes, on the software adapter and
 * the CPU. Within a factor of two on an idle machine; what else runs changes between the probe and the measurement.
 */
const ROOT = join(import.meta.dirname, '../..');
const EXAMPLES = join(ROOT, 'db/examples');
const MAX_RATIO = 2;
const CASES = [
  { example: 'software', target: 'webgpu', count: 10, timeLimitMs: 60_000 },
  { example: 'acts', target: 'webgpu', deviceId: 'nvidia-v100-sxm2-16gb', count: 10, timeLimitMs: 20_000 },
  { example: 'spmv-cpu', target: 'cpu', deviceId: 'amd-epyc-7302p', count: 6, timeLimitMs: 30_000 },
] as const;

const folder = mkdtempSync(join(tmpdir(), 'lockstep-estimates-'));
const engine = unwrap(
  await openEngine({ databaseFile: join(folder, 'bench.db'), resourceFolder: ROOT, host: 'cli', workers: 1 }),
);
try {
  for (const { example, ...asked } of CASES) {
    const { $schema: _schema, ...study } = JSON.parse(readFileSync(join(EXAMPLES, `${example}.json`), 'utf8'));
    const { id: studyId } = unwrap(await engine.call('studies.save', { study, folder: EXAMPLES }));
    const { runId } = unwrap(await engine.call('runs.start', { studyId }));
    unwrap(await engine.call('runs.wait', { id: runId }));
    const input: ProcedureInput<'bench.probe'> = { ...asked, runId };
    const before = performance.now();
    const probed = unwrap(await engine.call('bench.probe', input));
    const probeMs = performance.now() - before;
    const proposal = probed.kind === 'done' ? probed.proposal : null;
    if (!proposal) throw new Error(`${example}: the probe gave no time`);
    const { timeLimitMs: _limit, ...start } = { ...input, ...startOf(proposal) };
    const measured = unwrap(await engine.call('bench.start', start));
    const { elapsedMs } = unwrap(await engine.call('runs.wait', { id: measured.runId }));
    const ratio = Math.max(proposal.estimateMs / elapsedMs, elapsedMs / proposal.estimateMs);
    process.stdout.write(
      `${ratio <= MAX_RATIO ? 'ok    ' : 'FAILED'}  ${example} on ${asked.target}: ${proposal.units} of ${proposal.ofUnits} units, ${proposal.repeats} repeats; ` +
        `expected ${Math.round(proposal.estimateMs)} ms, took ${Math.round(elapsedMs)} ms (${ratio.toFixed(2)}, at most ${MAX_RATIO}); ` +
        `all ${Math.round(proposal.fullMs)} ms; probe ${Math.round(probeMs)} ms\n`,
    );
    if (ratio > MAX_RATIO) process.exitCode = 1;
  }
} finally {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
}
