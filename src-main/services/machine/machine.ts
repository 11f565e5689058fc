import { cpus, hostname, platform, release } from 'node:os';
import { coresText } from '../../../src-workers/domain/terms.ts';

export function thisMachine(): Readonly<Record<string, string | number>> {
  return {
    host: hostname(),
    platform: `${platform()} ${release()}`,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    node: process.version,
  };
}

export function machineText(machine: unknown): string {
  const words = (name: string, value: unknown): string => {
    if (name === 'cores') return coresText(Number(value));
    return name === 'node' ? `Node ${String(value).replace(/^v/, '')}` : String(value);
  };
  return Object.entries(machine ?? {})
    .map(([name, value]) => words(name, value))
    .join(', ');
}
