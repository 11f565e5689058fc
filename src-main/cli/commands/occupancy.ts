import type { Command } from 'commander';
import { deviceOccupancy, nvidiaOccupancy, occupancyBatch } from '../../services/devices/occupancy.ts';
import { counted } from '../../services/export/text.ts';
import { readText } from '../../services/files/files.ts';
import { command, type CommandLine, type GlobalOptions, positive, whole } from '../command-line.ts';
import { badUsage } from '../output.ts';

/** The command that computes the occupancy of one launch, or of a table of launches. */
export function addOccupancy(program: Command, cli: CommandLine): void {
  const { terminal, show, withEngine } = cli;
  command(program, 'occupancy', 'resident blocks of a launch, and what limits them')
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
          const text = await readText(options.batch);
          const rows = text.ok ? occupancyBatch(text.value, options.batch) : text;
          show(rows.ok ? { ok: true, value: { rows: rows.value } } : rows, options, ({ rows: all }) =>
            terminal.table(
              ['cc', 'block', 'registers', 'shared', 'blocks/SM', 'limited by'],
              all.map((row) => [
                row.computeCapability,
                row.blockThreads,
                row.registersPerThread,
                row.sharedMemoryBytes,
                row.blocksPerSm,
                row.refused ?? row.limitedBy.join(' '),
              ]),
            ),
          );
          return;
        }
        if (options.block === undefined || (options.cc === undefined) === (options.device === undefined))
          throw badUsage('Specify --block and one of --cc or --device, or --batch FILE.csv.');
        const usage = {
          blockThreads: options.block,
          registersPerThread: options.registers,
          sharedMemoryBytesPerBlock: options.shared,
        };
        const print = (result: ReturnType<typeof nvidiaOccupancy>): void =>
          show(result, options, (value) =>
            terminal.say(
              value.refused !== null
                ? `This block cannot run: ${value.refused}.`
                : `${counted(value.blocksPerSm, 'block')}, ${counted(value.warpsPerSm, 'thread group')} per multiprocessor, ${(value.occupancyFraction * 100).toFixed(1)} % occupied, limited by ${value.limitedBy.join(', ')}`,
            ),
          );
        if (options.cc !== undefined) print(nvidiaOccupancy(options.cc, usage));
        else
          await withEngine(options, async (engine) => {
            const found = await engine.call('devices.get', { ids: [options.device!] });
            print(found.ok ? deviceOccupancy(found.value[0], usage) : found);
            return cli.status;
          });
      },
    );
}
