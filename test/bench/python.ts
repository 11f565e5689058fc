/** What a call from Python takes once `lockstep rpc` is warm: the median of `loss` and `rank`, against 20 ms. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { lockstep } from '../command-line.ts';
import { inTemporaryFolder } from '../../src-main/services/app/temporary-folder.ts';
import { unwrap } from '../../src-workers/domain/result.ts';

const MAX_MEDIAN_MS = 20;
const study = join(import.meta.dirname, '..', '..', 'db', 'examples', 'geometric.json');
const script = `
import json, random, statistics, time, lockstep
lengths = [random.randint(1, 500) for _ in range(1000)]
with lockstep.Lockstep(db="bench.db") as session:
    run = session.sweep(${JSON.stringify(study)})
    calls = {
        "loss of geometric(0.05)": lambda: session.loss("geometric(0.05)"),
        "loss of 1000 lengths": lambda: session.loss(lengths),
        "rank, 10 of %d designs" % run["designs"]["enumerated"]: lambda: session.rank(run),
    }
    times = {}
    for name, call in calls.items():
        call()
        times[name] = []
        for _ in range(101):
            start = time.perf_counter()
            call()
            times[name].append(1000 * (time.perf_counter() - start))
print(json.dumps({name: sorted(each) for name, each in times.items()}))
`;

unwrap(
  await inTemporaryFolder(async (folder) => {
    const { err } = await lockstep('python', '-o', join(folder, 'lockstep.py'));
    if (err !== '') throw new Error(err);
    const out = execFileSync('python3', ['-c', script], { cwd: folder, encoding: 'utf8' });
    for (const [name, times] of Object.entries(JSON.parse(out) as Record<string, readonly number[]>)) {
      const [median, p95] = [times[50], times[95]];
      process.stdout.write(`${name}: median ${median.toFixed(1)} ms, 95th percentile ${p95.toFixed(1)} ms\n`);
      if (median > MAX_MEDIAN_MS) process.exitCode = 1;
    }
  }),
);
