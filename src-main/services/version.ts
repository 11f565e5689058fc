import manifest from '../../package.json' with { type: 'json' };

export const APP_VERSION: string = manifest.version;

/** The version of the prediction, raised whenever a prediction changes. */
export const MODEL_VERSION = 'composite 4.8';

/** Whether a version of the prediction uses the order of the units in the workload, as since 3.0. */
export function isOrderAware(version: string | undefined): boolean {
  return Number(/^composite (\d+)/.exec(version ?? '')?.[1] ?? 0) >= 3;
}

/** Whether a version replaces unstated inputs by the middles of their laws, as since 4.2, and not by zero. */
export function takesMiddles(version: string | undefined): boolean {
  return Number(/^composite (\d+\.\d+)/.exec(version ?? '')?.[1] ?? 0) >= 4.2;
}

/** The version of the simulator, raised whenever a simulation changes. */
export const SIMULATOR_VERSION = 'events 3.2';
