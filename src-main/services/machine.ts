import { cpus, hostname, platform, release } from 'node:os';

/** What a run executes on, as the run keeps it. */
export function thisMachine(): Readonly<Record<string, string | number>> {
  return {
    host: hostname(),
    platform: `${platform()} ${release()}`,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    node: process.version,
  };
}
