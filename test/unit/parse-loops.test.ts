import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { parseLoopTimes } from '../../src-workers/parse/loops.ts';
import { parseSmiteMeans } from '../../src-workers/parse/smite.ts';
import { chunks, dataText } from '../data.ts';

const PUBLISHED = dataText('loops/spmv-times-ms.csv');
const HEADER = 'dataset,rows,cols,nnzs,merge_path,thread_mapped';

it('measured loops become a case for each matrix and schedule', async () => {
  const cases = unwrap(await parseLoopTimes(chunks(PUBLISHED), 'loops.csv'));
  expect(cases).toHaveLength(15);
  expect(cases[0]).toMatchObject({
    case: {
      benchmark: 'external',
      parameters: {
        kernel: 'spmv',
        configuration: { matrix: '1138_bus', schedule: 'merge_path', rows: 1138, columns: 1138, nonZeros: 4054 },
      },
    },
    timesMs: [0.0200195],
    failure: null,
  });
  expect(cases.at(-1)).toMatchObject({ timesMs: [], failure: 'the file gives no time for this case' });
  expect(new Set(cases.map((one) => one.case.id)).size).toBe(15);
});

it.each([
  ['a,b\n1,2\n', 'loops.csv, line 1: the header "a,b" has no column dataset'],
  ['', 'loops.csv, line 1: the file ends without a matrix'],
  [`${HEADER}\n`, 'loops.csv, line 2: the file ends after its header without a matrix'],
  ['dataset,rows,cols,nnzs\nx,1,1,1\n', 'loops.csv, line 1: the file has 0 schedules. It needs 1 to 50'],
  [`${HEADER}\nx,1,1,1,0.5,fast\n`, 'loops.csv, line 2, column 6: "fast" is not a number ≥ 0'],
  [`${HEADER}\nx,1,-1,1,0.5,1\n`, 'loops.csv, line 2, column 3: "-1" is not a number ≥ 0'],
  [`${HEADER}\n,1,1,1,0.5,1\n`, 'loops.csv, line 2, column 1: the dataset is empty. It must name a matrix'],
])('measured loops refuses %j', async (text, message) =>
  expect(await parseLoopTimes(chunks(text), 'loops.csv')).toFail(null, message),
);

describe('mean losses of the SMITE repository', () => {
  const MEANS = dataText('smite/measured-means.csv');
  it('become cases of matrix powers with their losses', async () => {
    const cases = unwrap(await parseSmiteMeans(chunks(MEANS), 'means.csv'));
    expect(cases).toHaveLength(18);
    expect(cases[7]).toMatchObject({
      case: {
        benchmark: 'matrix-power',
        parameters: {
          lengths: 'geometric(0.05)',
          unitsPerGroup: 2,
          workGroups: 131072,
          execution: 'lockstep',
          synchronised: true,
        },
      },
      values: {
        simulatedMeanLoss: 1.476026,
        simulatedAggregateLoss: 1.486902,
        meanLoss: 1.464614,
        aggregateLoss: 1.474837,
      },
      timesMs: [],
      failure: null,
    });
  });

  const header = MEANS.split('\n', 1)[0];
  it.each([
    ['distribution,n\n', 'means.csv, line 1: the header "distribution,n" has no column groups'],
    [`${header}\n`, 'means.csv, line 2: the file has no rows'],
    [`${header}\ngeometric(0.05),0,1,1,1,1,1\n`, 'means.csv, line 2: n 0 is not a whole number ≥ 1'],
    [`${header}\ngeometric(0.05),2,1,1,1,1,\n`, 'means.csv, line 2, column 7: "" is not a number ≥ 0'],
  ])('refuses %j', async (text, message) =>
    expect(await parseSmiteMeans(chunks(text), 'means.csv')).toFail(null, message),
  );

  it('refuses an unknown distribution', async () => {
    const parsed = await parseSmiteMeans(chunks(`${header}\ngaussian(1),2,1,1,1,1,1\n`), 'means.csv');
    expect(parsed).toFail(null, /^means\.csv, line 2: .*gaussian/);
  });
});
