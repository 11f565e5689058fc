import { LIMITING_FACTORS, type LimitingFactor } from '../../src-workers/domain/design.ts';
import type { Term } from '../../src-workers/domain/terms.ts';

export function limitWord(code: LimitingFactor, term: Term): string {
  switch (code) {
    case 'warps':
      return `${term('threadGroup')} slots`;
    case 'registers':
      return term('register', 'many');
    case 'sharedMemory':
      return term('sharedMemory');
    case 'blocks':
      return `${term('block')} slots`;
  }
}

export function limitWords(codes: readonly string[], term: Term): string {
  return LIMITING_FACTORS.filter(({ code }) => codes.includes(code))
    .map(({ code }) => limitWord(code, term))
    .join(', ');
}
