import { sentenceCase, type Term } from '../../src-workers/domain/terms.ts';

export function quantityName(id: string, term: Term): string {
  const blocks = term('block', 'many');
  const names: Readonly<Record<string, string>> = {
    threadsPerUnit: `${term('thread', 'many')} per unit`,
    unitsPerThread: `units per ${term('thread')}`,
    blockThreads: `${term('block')} size`,
    blockWidth: `${term('block')} width`,
    gridBlocks: `${blocks} of the ${term('grid')}`,
    blocksPerMultiprocessor: `${blocks} per ${term('multiprocessor', 'short')}`,
    registerCap: `${term('register')} cap`,
    cores: 'cores of a CPU',
    occupancyFraction: 'occupancy',
    residentBlocks: `resident ${blocks}`,
  };
  return names[id] ?? id;
}

export function quantityLabel(id: string, term: Term): string {
  return sentenceCase(quantityName(id, term));
}
