import type { Command } from 'commander';
import { deviceOccupancy, nvidiaOccupancy, occupancyBatch } from '../../services/devices/occupancy.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { counted } from '../../services/export/text.ts';
import { readText } from '../../services/files/files.ts';
import { call, command, type CommandLine, type GlobalOptions, positive, whole } from '../command-line.ts';
import { badUsage } from '../output.ts';

export function addOccupancy(program: Command, { terminal, withEngine }: CommandLine): void {
  command(program, 'occupancy', 'compute the resident blocks of a launch, and what limits them')
    .option('--cc <version>', 'NVIDIA compute capability, as in 9.0')
    .option('--device <id>', 'device of the catalogue instead of a compute capability')
    .option('--block <threads>', 'threads per block', positive)
    .option('--registers <count>', 'registers per thread', whole, 32)
    .option('--shared <bytes>', 'shared memory per block', whole, 0)
    .option(
      '--batch <file>',
      'CSV with compute_capability,block_threads,registers_per_thread,dynamic_shared_memory_bytes',
    )
    .action(
      async (
        options: GlobalOptions & {
          cc?: string;
          device?: string;
          block?: number;
          registers: number;
          shared: number;
          batch?: string;
        },
      ) => {
        if (options.batch !== undefined) {
          const rows = unwrap(occupancyBatch(unwrap(await readText(options.batch)), options.batch));
          if (options.json) return terminal.json({ rows });
          return terminal.rows(rows, [
            ['cc', (row) => row.computeCapability],
            ['block', (row) => row.blockThreads],
            ['registers', (row) => row.registersPerThread],
            ['shared', (row) => row.sharedMemoryBytes],
            ['blocks/SM', (row) => row.blocksPerSm],
            ['limited by', (row) => row.refused ?? row.limitedBy.join(' ')],
          ]);
        }
        if (options.block === undefined || (options.cc === undefined) === (options.device === undefined))
          throw badUsage('Specify --block and one of --cc or --device, or --batch FILE.csv.');
        const usage = {
          blockThreads: options.block,
          registersPerThread: options.registers,
          sharedMemoryBytesPerBlock: options.shared,
        };
        const print = (result: ReturnType<typeof nvidiaOccupancy>): void => {
          const value = unwrap(result);
          if (options.json) terminal.json(value);
          else
            terminal.say(
              value.refused !== null
                ? `This block cannot run: ${value.refused}.`
                : `${counted(value.blocksPerSm, 'block')}, ${counted(value.warpsPerSm, 'thread group')} per multiprocessor, ${(value.occupancyFraction * 100).toFixed(1)} % occupied, limited by ${value.limitedBy.join(', ')}`,
            );
        };
        if (options.cc !== undefined) return print(nvidiaOccupancy(options.cc, usage));
        await withEngine(
          options,
          async (engine) => {
            const [device] = await call(engine, 'devices.get', { ids: [options.device!] });
            print(deviceOccupancy(device, usage));
          },
          { reads: true },
        );
      },
    );
}
