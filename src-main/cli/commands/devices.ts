import { join } from 'node:path';
import type { Command } from 'commander';
import { type Device, isEstimate } from '../../../src-workers/domain/device.ts';
import { fail, ok, type Result, unwrap } from '../../../src-workers/domain/result.ts';
import { parseJson } from '../../contract/json.ts';
import { deviceRows } from '../../services/devices/compare.ts';
import type { Engine } from '../../services/engine.ts';
import { readText, writeFor } from '../../services/files/files.ts';
import type { Options } from '../best-designs.ts';
import { command, type CommandLine, type GlobalOptions, group, call } from '../command-line.ts';
import { runId } from '../follow.ts';
import { type Terminal, badUsage, failure, signedPercent, usage } from '../output.ts';

export function addDevices(program: Command, { terminal, places, withEngine, withRuns }: CommandLine): void {
  const devices = group(program, 'devices', 'the device catalogue');
  command(devices, 'list', 'list all devices: the catalogue and your own').action((options: GlobalOptions) =>
    withEngine(options, (engine) => devicesList(engine, terminal, options), { reads: true }),
  );
  command(devices, 'show <id>', 'show one device with its sources, and which values are estimates').action(
    (id: string, options: GlobalOptions) =>
      withEngine(
        options,
        async (engine) => {
          const known = await call(engine, 'devices.get', { ids: [id] });
          const list = await call(engine, 'devices.list', {});
          const measured = await call(engine, 'evidence.devices', {});
          // Only the list says which devices are the user's own, but parts of devices (`ID:66`) are not in it.
          const device = list.find((entry) => entry.id === id) ?? known[0];
          const estimates = Object.keys(device).filter((field) => isEstimate(device, field));
          terminal.json({ ...device, estimates, evidence: measured[id] ?? null });
        },
        { reads: true },
      ),
  );
  command(devices, 'compare <ids...>', 'compare devices side by side').action((ids: string[], options: GlobalOptions) =>
    withEngine(options, (engine) => compareCommand(engine, terminal, ids, options), { reads: true }),
  );
  command(devices, 'add <file>', 'add your own device from a JSON file')
    .action((file: string, options: GlobalOptions) =>
      withEngine(options, async (engine) => {
        const { device, replaced, namesake } = unwrap(await saveDevice(engine, unwrap(await readText(file)), file));
        if (options.json) return terminal.json(device);
        terminal.say(replaced ? `Replaced ${device.id}, ${replaced}.` : `Saved ${device.id}.`);
        if (namesake !== null)
          terminal.say(
            `${namesake} has the same name, ${device.name}. Give ${device.id} another name to tell them apart.`,
          );
      }),
    )
    .addHelpText(
      'after',
      `
FILE is one device in the format of lockstep devices show: start from a similar device, give it another id and name, and
change the values that differ. A GPU has kind "gpu", id, name, vendor, architecture, occupancy (the family of its allocation rules),
multiprocessors, clockMhz, …, limits and sources; a CPU has kind "cpu", cores and its bandwidths. Each field is
explained in
  ${join(places.root, 'db', 'devices', 'README.md')}`,
    );
  command(devices, 'calibrate <run>', 'write what the probes of a run measured into the measured device')
    .option('--device <id>', 'the device, if the name that its driver reports does not identify it')
    .option('--into <file>', 'change the device in this file instead of your saved device')
    .action((run: string, options: CalibrateOptions) =>
      withRuns(options, (engine) => calibrateDevice(engine, terminal, run, options)),
    )
    .addHelpText(
      'after',
      `
  lockstep bench --suite probes --target cuda:0      on the GPU, or as a bundle whose results are imported
  lockstep devices calibrate 3                       the number of that run
The fields are achievedBandwidthFraction, randomSectorsGbS and cachedSectorsGbS. Their sources get the date of the run.
Other fields stay. Results of another device, or of a CPU that emulates a GPU, are refused. The device is saved
among your own and replaces the device of the catalogue, until you delete it. Later predictions use it, and saved runs
keep their devices.
With --json: {runId, deviceId, measuredOn, file, changes: [{field, before, after, source}]}; before and file may be null.`,
    );
  command(devices, 'delete <id>', 'delete one of your own devices').action((id: string, options: GlobalOptions) =>
    withEngine(options, async (engine) => {
      await call(engine, 'devices.delete', { id });
      if (options.json) terminal.json({ deviceId: id, deleted: true });
      else terminal.say(`Deleted ${id}.`);
    }),
  );
}

async function devicesList(engine: Engine, terminal: Terminal, options: Options): Promise<void> {
  const devices = await call(engine, 'devices.list', {});
  const evidence = await call(engine, 'evidence.devices', {});
  const timesOf = (id: string): string => {
    const count = evidence[id]?.agreement.reduce((sum, one) => sum + one.count, 0);
    return count === undefined ? 'none' : `${count.toLocaleString('en')} times`;
  };
  if (options.json)
    terminal.json({ devices: devices.map((device) => ({ ...device, evidence: evidence[device.id] ?? null })) });
  else
    terminal.rows(devices, [
      ['id', ({ id }) => id],
      ['name', ({ name }) => name],
      ['kind', ({ kind }) => kind],
      ['architecture', (one) => (one.kind === 'gpu' ? one.architecture : one.vendor)],
      ['SMs', (one) => (one.kind === 'gpu' ? one.multiprocessors : one.cores)],
      ['GHz', (one) => (one.kind === 'gpu' ? (one.clockMhz / 1000).toFixed(2) : '–')],
      ['GB/s', (one) => (one.kind === 'gpu' ? one.memoryBandwidthGbS : one.fullBandwidthGbS)],
      ['width', (one) => (one.kind === 'gpu' ? one.threadGroupWidth : '–')],
      ['evidence', ({ id }) => timesOf(id)],
    ]);
}

async function compareCommand(
  engine: Engine,
  terminal: Terminal,
  ids: readonly string[],
  options: Options,
): Promise<void> {
  const different = [...new Set(ids)];
  if (different.length < 2) throw badUsage('Specify at least 2 different devices to compare.');
  const chosen = await engine.call('devices.get', { ids: different });
  const table = unwrap(chosen.ok ? deviceRows(chosen.value) : chosen);
  if (options.json) terminal.json(table);
  else {
    const { devices, names } = table;
    const isShared = (name: string): boolean => names.indexOf(name) !== names.lastIndexOf(name);
    terminal.table(
      ['', ...names.map((name, at) => (isShared(name) ? `${name} (${devices[at]})` : name))],
      table.rows.map((row) => [
        row.label + (row.unit ? `, ${row.unit}` : ''),
        ...row.values.map((value) => Number(value.toPrecision(6))),
      ]),
    );
  }
}

interface CalibrateOptions extends GlobalOptions {
  readonly device?: string;
  readonly into?: string;
}

async function calibrateDevice(
  engine: Engine,
  terminal: Terminal,
  run: string,
  { device: named, into, json }: Options & CalibrateOptions,
): Promise<void> {
  const id = usage(runId(run));
  if (named !== undefined && into !== undefined) throw badUsage('Specify only one of --device and --into.');
  const written = into === undefined ? undefined : await readDevice(into);
  const given = named === undefined ? written : (await call(engine, 'devices.get', { ids: [named] }))[0];
  const found = await engine.call('bench.measuredDevice', { id, device: given });
  if (!found.ok && into !== undefined) throw failure(found.error.code, `${into}: ${found.error.message}`);
  const { device, measuredOn, changes } = unwrap(found);
  const changed = { ...Object.fromEntries(changes.map(({ field, after }) => [field, after])), sources: device.sources };
  const wasOwn = (await call(engine, 'devices.list', {})).find((one) => one.id === device.id)?.own === true;
  if (into === undefined) await call(engine, 'devices.save', { device });
  else unwrap(await writeFor(into, `${JSON.stringify({ ...(written as object), ...changed }, null, 2)}\n`));
  if (json) return terminal.json({ runId: id, deviceId: device.id, measuredOn, file: into ?? null, changes });
  terminal.say(`${device.name}, by the probes of run ${id} on ${measuredOn}:`);
  terminal.table(
    ['field', 'before', 'measured', 'change'],
    changes.map(({ field, before, after }) => [
      field,
      before ?? '–',
      after,
      before === null ? '–' : signedPercent(after / before - 1),
    ]),
  );
  const { id: deviceId } = device;
  if (into !== undefined) terminal.say(`Changed ${into}. To use the device, run lockstep devices add ${into}.`);
  else if (wasOwn) terminal.say(`Changed your device ${deviceId}. Later predictions use it.`);
  else terminal.say(`Saved ${deviceId} among your devices. To stop using it, run lockstep devices delete ${deviceId}.`);
}

async function readDevice(file: string): Promise<unknown> {
  return withoutNotes(unwrap(parseJson(unwrap(await readText(file, 'a device (JSON)')), file)));
}

function withoutNotes(device: unknown): unknown {
  if (typeof device !== 'object' || device === null || !('own' in device)) return device;
  const { own: _own, estimates: _estimates, evidence: _evidence, ...rest } = device as Record<string, unknown>;
  return rest;
}

interface SavedDevice {
  readonly device: Device;
  readonly replaced: string | null;
  /** The id of another device with the same name. */
  readonly namesake: string | null;
}

export async function saveDevice(engine: Engine, text: string, file: string): Promise<Result<SavedDevice>> {
  const json = parseJson(text, file);
  if (!json.ok) return json;
  const known = await engine.call('devices.list', {});
  if (!known.ok) return known;
  const saved = await engine.call('devices.save', { device: withoutNotes(json.value) });
  if (!saved.ok) return fail(saved.error.code, `${file}: ${saved.error.message}`, saved.error.context);
  const before = known.value.find(({ id }) => id === saved.value.id);
  const whose = before?.own ? 'a device of your own' : 'the device of the catalogue';
  const other = known.value.find(({ id, name }) => name === saved.value.name && id !== saved.value.id);
  return ok({
    device: saved.value,
    replaced: before ? `${whose} that had this id` : null,
    namesake: other?.id ?? null,
  });
}
