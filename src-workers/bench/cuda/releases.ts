/**
 * Releases of the CUDA toolkit, and the compute capabilities for which they compile (70 is 7.0), from release notes.
 * CUDA 7.0 removed 1.x; 9.0 removed 2.x; 11.0 removed 3.0 and 3.2; 12.0 removed 3.5 and 3.7; 13.0 removed 5.x to 7.2.
 */

export const LAST_RELEASES: readonly (readonly [capability: number, release: string])[] = [
  [13, '6.5'],
  [21, '8.0'],
  [32, '10.2'],
  [37, '11.8'],
  [72, '12.9'],
];

const FIRST_RELEASES: Readonly<Record<number, string>> = {
  35: '5.0',
  37: '6.5',
  50: '6.5',
  52: '7.0',
  60: '8.0',
  61: '8.0',
  70: '9.0',
  72: '9.2',
  75: '10.0',
  80: '11.0',
  86: '11.1',
  87: '11.4',
  88: '13.0',
  89: '11.8',
  90: '11.8',
  100: '12.8',
  103: '12.9',
  110: '13.0',
  120: '12.8',
  121: '12.9',
};

/** The first release whose nvcc compiles C++17, which our kernels need. */
const FIRST_WITH_CPP17 = '11.0';

const before = (a: string, b: string): boolean => a.localeCompare(b, 'en', { numeric: true }) < 0;

const lastRelease = (capability: number): string | null =>
  LAST_RELEASES.find(([upTo]) => capability <= upTo)?.[1] ?? null;

export function knownByRelease(release: string): readonly number[] {
  if (before(release, '7.0')) return [];
  return Object.entries(FIRST_RELEASES).flatMap(([capability, first]) => {
    const last = lastRelease(Number(capability));
    const tooNew = last !== null && before(`${last}.999`, release);
    return before(release, first) || tooNew ? [] : [Number(capability)];
  });
}

export function findReleases(capability: number): string | null {
  const last = lastRelease(capability);
  if (last !== null) return `CUDA ${last} or older`;
  const first = FIRST_RELEASES[capability];
  return first === undefined ? null : `CUDA ${first} or newer`;
}

const written = (capability: number): string => `${Math.floor(capability / 10)}.${capability % 10}`;

export const SET_NVCC = 'set NVCC=/path/to/nvcc';

export function neededToolkit(capability: number): string {
  const last = lastRelease(capability);
  const needed = `compute capability ${written(capability)} needs ${findReleases(capability) ?? 'another release of CUDA'}`;
  return last !== null && before(last, FIRST_WITH_CPP17)
    ? `${needed}, which does not compile these C++17 kernels`
    : `${needed}; ${SET_NVCC}`;
}

/**
 * Returns what nvcc's error "Unsupported gpu architecture" means, and an empty text for any other error.
 * @param remedy how the user names another nvcc
 */
export function unsupportedHint(error: string, remedy: string): string {
  const capability = /Unsupported gpu architecture '(?:compute|sm)_(\d+)/i.exec(error)?.[1];
  const needed = capability === undefined ? null : findReleases(Number(capability));
  return needed === null ? '' : `: compute capability ${written(Number(capability))} needs ${needed}; ${remedy}`;
}
