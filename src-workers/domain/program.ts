export const PLACEHOLDERS = {
  design: 'number of the design in the sweep',
  implementation: 'name of its implementation; empty if the study names none',
  threadsPerUnit: 'threads that share a unit',
  unitsPerThread: 'units of each slot, one after another',
  blockThreads: 'threads of a block',
  blockWidth: 'threads of a block side by side; 0 if blocks do not take tiles',
  gridBlocks: 'blocks; on a CPU, cores',
  registerCap: 'maximum registers of a thread; 0 without a cap',
  balancing: 'how slots take units, such as none or window-sort(4096)',
  loop: 'nested or flattened',
  classes: 'classes of length of a mixed design, as JSON; otherwise []',
  device: 'id of the device for which the design was predicted',
  units: 'number of units',
  lengthsFile: 'file of the lengths of the units in order: 32-bit numbers, lowest byte first',
  orderFile:
    'file of the unit numbers in the order in which the design (or its tiles) takes them: 32-bit, lowest byte first',
  launches:
    'FIRST:UNITS:THREADS:BLOCKS of each launch, separated by commas: the position of its first unit in the order, units, threads per unit, blocks',
  binary: 'the file that --build makes',
} as const;
export type Placeholder = keyof typeof PLACEHOLDERS;

export const MAX_COMMAND_CHARACTERS = 8000;

/** Programs that Lockstep starts do not get the secrets in `SECRET_VARIABLES`. */
export const PASSWORD_VARIABLE = 'LOCKSTEP_REDIS_PASSWORD';
export const TOKEN_VARIABLE = 'LOCKSTEP_TOKEN';
export const SECRET_VARIABLES: readonly string[] = [PASSWORD_VARIABLE, TOKEN_VARIABLE];

/** This variable names the variables that programs must not get, because they would change measured times. */
export const ENGINE_ONLY_VARIABLE = 'LOCKSTEP_ENGINE_ONLY';
