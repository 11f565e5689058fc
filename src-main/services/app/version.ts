/** Version of the application, kept equal to package.json by a test. */
export const APP_VERSION = '0.1.0';

/** Version of the prediction: raised whenever a saved prediction would come out different. */
export const MODEL_VERSION = 'composite 2.0';

/** Version of the simulator: raised whenever a saved simulation would come out different. */
export const SIMULATOR_VERSION = 'events 1.1';
