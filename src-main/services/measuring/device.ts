import type { MeasuringDevice } from '../../../src-workers/domain/benchmark.ts';
import type { Device } from '../../../src-workers/domain/device.ts';
import { findWhole } from '../../../src-workers/domain/device-part.ts';
import { fail, ok, type Result, badInput } from '../../../src-workers/domain/result.ts';
import type { Catalogue } from '../devices/catalogue.ts';

/** Words that drivers and browsers add to a device's name or leave out: makers, trademarks, kinds and capacities. */
const NOISE =
  /\((?:r|tm|c|[^)]*)\)|\b(?:nvidia|amd|advanced micro devices|intel|google|apple|ati|tesla|corporation|inc|cpu|gpu|device|processor|graphics|nv|\d+-core|one|hbm\d?e?|@.*|\d+(?:\.\d+)?\s*(?:gb|gib|ghz))\b|[®™,]/gi;

/** Drivers leave out these words of the catalogue: the usual form of a board, and words for a part of a card. */
const USUAL = /^(?:sxm\d?|gcd|stack)$/;

function words(name: string): readonly string[] {
  return name.replaceAll('_', ' ').replace(NOISE, ' ').toLowerCase().split(/[^a-z0-9]+/).filter((word) => word !== ''); // prettier-ignore
}

function modelWords(name: string): readonly string[] {
  const all = words(name);
  const numbered = all.filter((word) => /\d/.test(word));
  return numbered.length > 0 ? numbered : all;
}

function variant(board: string): readonly (string | undefined)[] {
  // The memory in the name of a Grace Hopper belongs to its CPU.
  const name = board.replaceAll('_', ' ').replace(/\b480 ?GB/, '');
  return [/(\d+)\s*gi?b\b/i.exec(name)?.[1], /sxm|pcie|nvl/i.exec(name)?.[0].toLowerCase()];
}

/**
 * Returns whether the device that measured is a given device of the catalogue. Their names must have the same words,
 * apart from makers and capacities. A shorter name (`NVIDIA H100 80GB HBM3` for the SXM5 board) also matches if it has
 * the word of the model and the number of multiprocessors is equal, because most variants differ in this number. If the
 * number is unknown, the shorter name may lack only words that drivers leave out. Boards never match if both names
 * state the memory or the form, and these differ.
 */
export function isSameDevice(device: Device, measuring: Pick<MeasuringDevice, 'name' | 'multiprocessors'>): boolean {
  // A driver may report the name of the whole device for a part of it, so the multiprocessors decide.
  if (findWhole(device.id) !== null && device.kind === 'gpu' && measuring.multiprocessors !== device.multiprocessors)
    return false;
  const theirs = variant(measuring.name);
  if (variant(device.name).some((value, at) => value && theirs[at] && value !== theirs[at])) return false;
  const [ours, others] = [words(device.name).join(''), words(measuring.name).join('')];
  if (ours === '' || others === '') return false;
  if (ours === others) return true;
  const bare = (name: string): string => words(name).filter((word) => !USUAL.test(word)).join(''); // prettier-ignore
  if (measuring.multiprocessors === null && bare(device.name) === bare(measuring.name)) return true;
  const model = modelWords(device.name)[0];
  if (device.kind !== 'gpu' || model === undefined || modelWords(measuring.name)[0] !== model) return false;
  return measuring.multiprocessors === device.multiprocessors;
}

/**
 * Returns the id of the device with this id (`ID:66` has 66 of its multiprocessors) or this name, as drivers write it.
 * Fails like the catalogue if there is none, and with `bad-input` if several devices match.
 */
export async function namedDevice(
  catalogue: Pick<Catalogue, 'list' | 'devices'>,
  device: Pick<MeasuringDevice, 'name' | 'multiprocessors'>,
): Promise<Result<string>> {
  const { name } = device;
  const byId = await catalogue.devices([name]);
  if (byId.ok) return ok(name);
  const all = await catalogue.list();
  if (!all.ok) return all;
  const found = all.value.filter((one) => one.name === name || isSameDevice(one, device)).map(({ id }) => id);
  if (found.length === 1) return ok(found[0]);
  return found.length === 0
    ? fail(byId.error.code, byId.error.message, { field: 'device' })
    : badInput(`"${name}" may be ${found.join(', ')}. Specify one of these.`, { field: 'device' });
}
