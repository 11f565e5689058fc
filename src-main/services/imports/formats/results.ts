import { ok } from '../../../../src-workers/domain/result.ts';
import { parseBenchResults } from '../../../../src-workers/parse/bench-results.ts';
import { namedDevice, NOTHING_SAID, type Importer } from '../importer.ts';

export const results: Importer = {
  id: 'results',
  text: 'a result file of a measurement (JSON lines, the plan first)',
  help: [
    'results.jsonl of a bundle',
    'JSON lines: the plan first, then a record per line; a folder may hold several such files',
  ],
  matches: ({ head }) => /^\{\s*"type"\s*:/.test(head),
  async read(input) {
    const found = await parseBenchResults(input.bytes, input.fileName);
    if (!found.ok) return found;
    const { plan, device, cases, warnings } = found.value;
    const deviceName = namedDevice(input);
    const ignored =
      deviceName !== null && device && deviceName !== device.name
        ? [`The file says that it was measured on ${device.name}, so "${deviceName}" was ignored.`]
        : [];
    return ok({
      kind: 'results',
      ...NOTHING_SAID,
      cases,
      device,
      plan,
      head: { source: plan.source, lengthsDigest: plan.lengthsDigest, workload: plan.plan.workload },
      warnings: [...warnings, ...ignored],
    });
  },
};
