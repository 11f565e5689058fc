import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { parseMeasuredTimes, hasDesignColumns } from '../../src-workers/parse/measured-times.ts';
import { chunks } from '../data.ts';

const read = (text: string) => parseMeasuredTimes(chunks(text), 'own.csv', 'walk');
const configurations = async (text: string) =>
  unwrap(await read(text)).cases.map(({ case: one, timesMs }) =>
    one.benchmark === 'external' ? [one.parameters.configuration, timesMs] : null,
  );
const RANKING =
  'rank,device,threads_per_unit,loop,register_cap,time_ms,mean_loss,aggregate_loss,occupancy_fraction,resident_blocks,waves,limited_by';

describe('measured times', () => {
  it('belong to a design by its number or its axes, and several rows of a design are repeats', async () => {
    const text = 'design,time_ms\n7,1.5\n3,2\n7,1.25\n';
    expect(await configurations(text)).toEqual([
      [{ design: 7 }, [1.5, 1.25]],
      [{ design: 3 }, [2]],
    ]);
    expect(unwrap(await read(text)).cases[0].case).toMatchObject({ id: 'c0', parameters: { kernel: 'walk' } });
    const byAxes = '\ufeffthreads_per_unit;balancing;runtime (us);register_cap\r\n4;window-sort(64);250;\r\n';
    const design = { threads_per_unit: 4, balancing: 'window-sort(64)', register_cap: 0 };
    expect(await configurations(byAxes)).toEqual([[design, [0.25]]]);
  });

  it.each([
    ['time_s', 2000],
    ['Time_ms', 2],
    ['measured_us', 2e-3],
    ['kernel_time [ns]', 2e-6],
    ['median µs', 2e-3],
  ])('are read from %s with its unit', async (name, expected) => {
    const [[, timesMs]] = (await configurations(`design,${name}\n1,2\n`)) as [[unknown, number[]]];
    expect(timesMs).toEqual([expected]);
  });

  it('are in milliseconds to the last digit', async () => {
    for (const time of [0.0033249999999999994, 1.2345678901234567, 0.1, 17.000000000000004])
      expect(await configurations(`design,time_ms\n1,${time}\n`)).toEqual([[{ design: 1 }, [time]]]);
  });

  it('may be added to an exported ranking, whose own columns do not count as parameters', async () => {
    const text = `${RANKING},measured_us\n1,gpu,4,nested,,0.5,1,1,1,2,3,warps,700\n2,gpu,8,nested,32,0.6,1,1,1,2,3,warps,\n`;
    expect(await configurations(text)).toEqual([
      [{ device: 'gpu', threads_per_unit: 4, loop: 'nested', register_cap: 0 }, [0.7]],
    ]);
    const { warnings } = unwrap(await read(text));
    expect(warnings).toEqual(['Rows without a time were left out as not measured: 1 of 2.']);
  });

  it.each([
    ['', 'line 1: the file ends without a row. At least one time must have been measured'],
    ['design,time_ms\n', 'line 2: the file ends without a row. At least one time must have been measured'],
    ['design,time_ms\n1,\n2,\n', 'line 4: none of 2 rows has a time. At least one time must have been measured'],
    [
      'design,block\n1,2\n',
      'line 1: the file has no column of times. Use a column of times such as time_ms or time_us',
    ],
    [
      'design,time\n1,2\n',
      'line 1, column 2: the times in "time" have no unit. Use a column of times such as time_ms or time_us',
    ],
    [
      'design,time_ms,runtime_us\n1,2,3\n',
      'line 1, column 3: the file has several columns of times (time_ms, runtime_us). Keep one, or call one measured_ms',
    ],
    [
      `${RANKING}\n1,gpu,4,nested,,0.5,1,1,1,2,3,warps\n`,
      'line 1: this is an exported ranking, whose time_ms is predicted. Put the measured times into a column measured_ms or measured_us',
    ],
    ...['"1,5"', '0', '-1', 'fast', '1e999'].map((time) => [
      `design,time_ms\n1,2\n2,${time}\n`,
      `line 3, column 2: "${time.replaceAll('"', '')}" is not a time > 0 with a decimal point. Leave the field empty if nothing was measured`,
    ]),
  ])('refuses %j', async (text, message) => expect(await read(text)).toFail(null, `own.csv, ${message}`));

  it('are recognised by a header that names designs', () => {
    expect(hasDesignColumns(['design', 'time_ms'])).toBe(true);
    expect(hasDesignColumns(['block_threads', 'grid_blocks', 'runtime_us'])).toBe(true);
    expect(hasDesignColumns(['device', 'loop', 'time_ms'])).toBe(false);
    expect(hasDesignColumns(['n', 'p'])).toBe(false);
  });
});
