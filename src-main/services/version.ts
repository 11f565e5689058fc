import manifest from '../../package.json' with { type: 'json' };

/** Version of the application. */
export const APP_VERSION: string = manifest.version;

/** Version of the prediction: raised whenever a saved prediction would come out different. */
export const MODEL_VERSION = 'composite 4.4';

/** Whether a version of the prediction takes units in the order that the workload gives them: since 3.0. */
export function isOrderAware(version: string | undefined): boolean {
  return Number(/^composite (\d+)/.exec(version ?? '')?.[1] ?? 0) >= 3;
}

/** Whether a version of the prediction takes unstated inputs as the middles of laws, as since 4.2, and not as zeros. */
export function takesMiddles(version: string | undefined): boolean {
  return Number(/^composite (\d+\.\d+)/.exec(version ?? '')?.[1] ?? 0) >= 4.2;
}

/** Version of the simulator: raised whenever a saved simulation would come out different. */
export const SIMULATOR_VERSION = 'events 3.0';
