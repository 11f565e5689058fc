import { ok } from '../../../../src-workers/domain/result.ts';
import { hasDesignColumns, parseMeasuredTimes } from '../../../../src-workers/parse/measured-times.ts';
import { bytesSource } from '../../../../src-workers/parse/source.ts';
import { namedDevice, nameParts, NOTHING_SAID, type Importer } from '../importer.ts';

export const times: Importer = {
  id: 'times',
  text: 'measured times of designs (CSV: columns design, or one per axis, and time_ms)',
  help: ['measured times of designs', 'CSV: columns design (or one per axis) and time_ms; needs --run'],
  matches: ({ columns, mapped }) => hasDesignColumns(columns) || mapped.some((name) => columns.includes(name)),
  async read(input) {
    const { bytes, fileName } = input;
    const read = await parseMeasuredTimes(bytesSource(bytes), fileName, nameParts(fileName).stem);
    return read.ok ? ok({ ...NOTHING_SAID, kind: 'times', ...read.value, deviceName: namedDevice(input) }) : read;
  },
};
