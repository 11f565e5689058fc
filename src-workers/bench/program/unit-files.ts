import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BenchPlan, ProgramTask } from '../../domain/benchmark.ts';
import type { Design } from '../../domain/design.ts';
import { ok, type Result } from '../../domain/result.ts';
import { designOrder, orderKey, unitLaunches } from '../kernel/launches.ts';
import { LENGTHS_FILE } from '../plan-files.ts';
import { wordBytes } from '../words.ts';
import { names, type UnitTexts } from './command-line.ts';

export function openUnitFiles(
  { workload }: Pick<BenchPlan, 'workload'>,
  task: ProgramTask,
  folder: string,
): (design: Design) => Promise<Result<UnitTexts>> {
  const lengths = workload?.lengths ?? new Uint32Array(0);
  const lengthsFile = join(folder, LENGTHS_FILE);
  const [ordered, launched] = [names(task, 'orderFile'), names(task, 'launches')];
  const orders = new Map<string, string>();
  const orderFile = async (design: Design): Promise<Result<string>> => {
    const key = orderKey(design);
    if (!orders.has(key)) {
      const order = designOrder(design, lengths, task.threadGroupWidth ?? null);
      if (!order.ok) return order;
      const path = join(folder, `order-${orders.size}.u32`);
      await writeFile(path, wordBytes(order.value));
      orders.set(key, path);
    }
    return ok(orders.get(key)!);
  };
  return async (design) => {
    const order = ordered ? await orderFile(design) : ok('');
    if (!order.ok) return order;
    const launches = (launched ? unitLaunches(design, lengths) : []).map(
      ({ firstUnit, units, threadsPerUnit, gridBlocks }) => [firstUnit, units, threadsPerUnit, gridBlocks].join(':'),
    );
    return ok({ lengthsFile, orderFile: order.value, launches: launches.join(',') });
  };
}
