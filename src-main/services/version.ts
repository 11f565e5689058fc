import manifest from '../../package.json' with { type: 'json' };

export const APP_VERSION: string = manifest.version;

/** The version of the prediction. It is raised whenever a prediction changes. */
export const MODEL_VERSION = 'composite 4.14';

function isSince(version: string | undefined, major: number, minor: number): boolean {
  const [, ownMajor, ownMinor = 0] = /^composite (\d+)(?:\.(\d+))?/.exec(version ?? '') ?? [];
  return Number(ownMajor) > major || (Number(ownMajor) === major && Number(ownMinor) >= minor);
}

/** Earlier versions ignored the order of the units in the workload. */
export const isOrderAware = (version: string | undefined): boolean => isSince(version, 3, 0);

/** Earlier versions replaced unstated inputs by zero instead of the middles of their laws. */
export const takesMiddles = (version: string | undefined): boolean => isSince(version, 4, 2);

export const SIMULATOR_VERSION = 'events 3.6';
