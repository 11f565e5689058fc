import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StudyFile } from '../src-main/contract/study.ts';
import type { CpuDevice, Device, GpuDevice } from '../src-workers/domain/device.ts';

/** Reads the devices and examples that come with Lockstep from their files. */

const DB = join(import.meta.dirname, '../db');
const readJson = (path: string): unknown => JSON.parse(readFileSync(join(DB, path), 'utf8'));

export const devicesIn = <Kind extends Device = GpuDevice>(file: string): Kind[] =>
  readJson(`devices/${file}.json`) as Kind[];

export const GPUS: readonly GpuDevice[] = ['nvidia', 'amd', 'software'].flatMap((file) => devicesIn(file));
export const CPUS: readonly CpuDevice[] = devicesIn<CpuDevice>('cpus');

function find<Kind extends Device>(devices: readonly Kind[], id: string): Kind {
  const device = devices.find((one) => one.id === id);
  if (!device) throw new Error(`no device ${id}`);
  return device;
}
export const gpu = (id: string): GpuDevice => find(GPUS, id);
export const cpu = (id: string): CpuDevice => find(CPUS, id);

export const exampleStudy = (name: string): StudyFile => readJson(`examples/${name}.json`) as StudyFile;
