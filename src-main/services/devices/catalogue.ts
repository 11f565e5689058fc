import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoreClient } from '../../../db/store-api.ts';
import type { Device } from '../../../src-workers/domain/device.ts';
import { deviceById, findWhole } from '../../../src-workers/domain/device-part.ts';
import { fail, ok, type Result, notFound, badInput, conflict } from '../../../src-workers/domain/result.ts';
import { editDistance } from '../../../src-workers/domain/nearest.ts';
import { validateDevice } from '../../../src-workers/parse/device.ts';

/** The shipped devices and the user's. A user's device replaces the shipped device with the same id. */
export interface Catalogue {
  list(): Promise<Result<readonly (Device & { readonly own: boolean })[]>>;
  /** Returns devices or their parts (`ID:66`) by id, in order. For an unknown id, the failure names similar ids. */
  devices(ids: readonly string[]): Promise<Result<readonly Device[]>>;
  save(device: unknown): Promise<Result<Device>>;
  remove(id: string): Promise<Result<null>>;
}

/**
 * Returns up to three similar names, ignoring hyphens and spaces. Names that contain the wanted name come before names
 * that have most of its words or differ in a few letters.
 */
function nearestNames(wanted: string, names: readonly string[]): readonly string[] {
  const lower = wanted.toLowerCase();
  const words = lower.split(/[^a-z0-9]+/).filter(Boolean);
  const letters = words.join('');
  const score = (name: string): number => {
    if (letters.length > 1 && name.replaceAll('-', '').includes(letters)) return name.length - 1000;
    const distance = editDistance(lower, name);
    const hits = words.filter((word) => name.includes(word)).length;
    return hits > words.length / 2 || distance <= lower.length / 3 ? distance - 8 * hits : Infinity;
  };
  return names
    .map((name) => ({ name, score: score(name) }))
    .filter((one) => one.score < Infinity)
    .sort((a, b) => a.score - b.score)
    .slice(0, 3)
    .map(({ name }) => name);
}

export async function openCatalogue(resourceFolder: string, store: StoreClient): Promise<Result<Catalogue>> {
  const folder = join(resourceFolder, 'db', 'devices');
  const shipped = new Map<string, Device>();
  for (const fileName of (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()) {
    const entries: unknown = JSON.parse(await readFile(join(folder, fileName), 'utf8'));
    if (!Array.isArray(entries)) return fail('internal', `${fileName} must be a list of devices.`);
    for (const entry of entries) {
      const device = validateDevice(entry);
      if (!device.ok) return fail('internal', `${fileName}: ${device.error.message}`);
      shipped.set(device.value.id, device.value);
    }
  }

  const list: Catalogue['list'] = async () => {
    const own = await store.listDevices();
    if (!own.ok) return own;
    const all = new Map<string, Device & { own: boolean }>();
    for (const device of shipped.values()) all.set(device.id, { ...device, own: false });
    for (const device of own.value) all.set(device.id, { ...device, own: true });
    return ok([...all.values()]);
  };

  const devices: Catalogue['devices'] = async (ids) => {
    const all = await list();
    if (!all.ok) return all;
    const known = all.value.map(({ own: _own, ...device }): Device => device);
    const found: Device[] = [];
    for (const [position, id] of ids.entries()) {
      const device = deviceById(known, id);
      const field = `devices[${position}]`;
      if (!device) {
        const near = nearestNames(
          findWhole(id) ?? id,
          known.map((each) => each.id),
        );
        return notFound(
          `No device has the id "${id}". ${near.length > 0 ? `Did you mean ${near.join(', ')}?` : 'lockstep devices list shows all.'} If it is your own device, add its file with lockstep devices add.`,
          { field },
        );
      }
      if (!device.ok) return badInput(device.error.message, { field });
      found.push(device.value);
    }
    return ok(found);
  };

  return ok({
    list,
    devices,
    async save(value) {
      const device = validateDevice(value);
      if (!device.ok) return device;
      const saved = await store.saveDevice(device.value);
      return saved.ok ? device : saved;
    },
    async remove(id) {
      const removed = await store.deleteDevice(id);
      if (!removed.ok && removed.error.code === 'not-found' && shipped.has(id))
        return conflict(`The device "${id}" comes with Lockstep and cannot be deleted. Specify a device of your own.`);
      return removed;
    },
  });
}
