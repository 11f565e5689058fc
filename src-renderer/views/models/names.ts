/** The Models view's pages in the order of the list. The palette reads the names without loading the pages. */
export const MODEL_NAMES = [
  { id: 'imbalance', label: 'Imbalance', words: 'loss lockstep' },
  { id: 'granularity', label: 'Granularity', words: 'threads per unit serial sigma kappa' },
  { id: 'balancing', label: 'Balancing', words: 'sorting buckets fetch' },
  { id: 'divergence', label: 'Divergence stack', words: 'reconvergence' },
  { id: 'occupancy', label: 'Occupancy', words: 'resident registers' },
  { id: 'hasan', label: 'Efficiency (Hasan)', words: 'pipeline waves' },
  { id: 'kim', label: 'Scheduler (Kim)', words: 'pipeline waves' },
  { id: 'soft-saturation', label: 'Soft saturation', words: 'knee latency issue tau waves' },
  { id: 'contention', label: 'Memory contention', words: 'bandwidth langguth' },
  { id: 'composite', label: 'Composite prediction', words: 'regimes' },
  { id: 'simulator', label: 'Simulator', words: 'event simulation' },
  { id: 'measuring', label: 'Measuring', words: 'benchmark' },
  { id: 'agreement', label: 'Agreement, calibration', words: 'fit error' },
  { id: 'evidence', label: 'Evidence', words: 'public measurements h100' },
] as const;
export type ModelName = (typeof MODEL_NAMES)[number];
