/** Names of a design's fields in Kernel Tuner's T4 files, and in the CSV and JSON of a ranking. */
export const DESIGN_NAMES = {
  designIndex: ['design', 'design_index', 'designIndex'],
  device: ['device'],
  implementation: ['implementation'],
  threadsPerUnit: ['threads_per_unit', 'threadsPerUnit'],
  unitsPerThread: ['units_per_thread', 'unitsPerThread'],
  loop: ['loop'],
  balancing: ['balancing'],
  blockThreads: ['block_size_x', 'block_threads', 'blockThreads'],
  blockWidth: ['block_width', 'blockWidth'],
  gridBlocks: ['grid_size_x', 'grid_blocks', 'gridBlocks'],
  registerCap: ['register_cap', 'registerCap'],
} as const;
export type DesignField = keyof typeof DESIGN_NAMES;
export const DESIGN_FIELDS = Object.keys(DESIGN_NAMES) as readonly DesignField[];

/** The name of a field in exports that are not for Kernel Tuner. */
export function axisName(field: DesignField): string {
  return DESIGN_NAMES[field].at(field === 'blockThreads' || field === 'gridBlocks' ? 1 : 0)!;
}

export function fieldNamed(name: string): string {
  return DESIGN_FIELDS.find((each) => (DESIGN_NAMES[each] as readonly string[]).includes(name)) ?? name;
}

export type NamedParameters = Readonly<Record<string, DesignField | null>>;

/** Values of fields that a file lacks, the same for all its configurations. */
export type FixedParameters = Readonly<Partial<Record<DesignField, number | string>>>;
