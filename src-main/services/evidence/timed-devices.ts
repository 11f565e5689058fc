import type { TimedDevice } from '../../../src-workers/domain/evidence.ts';
import { timedKinds } from '../../../src-workers/sweep/ties.ts';
import type { RunView } from '../runs/run-view.ts';
import { deviceEvidence } from './tie-band.ts';

export function timedDevices({
  devices,
  ties,
  ranking,
}: Pick<RunView, 'devices' | 'ties' | 'ranking'>): readonly TimedDevice[] {
  const kinds = timedKinds(ties, ranking);
  return devices.map((device, at) => ({
    id: device.id,
    name: device.name,
    evidence: deviceEvidence(device),
    kinds: [...kinds[at]].sort(),
  }));
}
