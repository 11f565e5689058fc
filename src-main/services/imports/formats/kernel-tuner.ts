import { ok } from '../../../../src-workers/domain/result.ts';
import { parseKernelTuner } from '../../../../src-workers/parse/kernel-tuner.ts';
import { hasMembers, namedDevice, nameParts, NOTHING_SAID, type Importer } from '../importer.ts';

export const kernelTuner: Importer = {
  id: 'kernel-tuner',
  text: 'a cache, T4 results or stored results of Kernel Tuner (JSON)',
  help: ['Kernel Tuner', 'a cache, results in the T4 format, or the output of store_results (JSON)'],
  // `json` is undefined if the file is large or truncated, as caches often are. The reader then says what is wrong.
  matches: ({ head, json }) =>
    head.startsWith('{') &&
    (json === undefined ||
      hasMembers(json, 'cache') ||
      hasMembers(json, 'results') ||
      hasMembers(json, 'data', 'tunable_parameters')),
  async read(input) {
    const guess = nameParts(input.fileName);
    const file = await parseKernelTuner(input.bytes, input.fileName, guess.kernel);
    if (!file.ok) return file;
    const { format, cases, devices, sweep, head, warnings } = file.value;
    return ok({
      ...NOTHING_SAID,
      kind: `kernel-tuner-${format}`,
      cases,
      devices,
      deviceName: namedDevice(input) ?? file.value.deviceName,
      deviceGuess: devices ? null : guess.device,
      sweep,
      predicted: devices !== null,
      head,
      warnings,
    });
  },
};
