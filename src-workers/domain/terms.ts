import { countedText } from './text.ts';

export const VOCABULARIES = [
  { id: 'cuda', label: 'CUDA' },
  { id: 'hip', label: 'HIP' },
  { id: 'sycl', label: 'SYCL' },
  { id: 'opencl', label: 'OpenCL' },
  { id: 'webgpu', label: 'WebGPU' },
] as const;
export type Vocabulary = (typeof VOCABULARIES)[number]['id'];

interface Words {
  readonly one: string;
  readonly many: string;
  readonly short: string;
}

function words(one: string, many = `${one}s`, short = one): Words {
  return { one, many, short };
}

/**
 * `workGroup` is the n units that run in lockstep. No programming model has a word for it. It is called a lockstep
 * group in vocabularies where "work-group" means a block.
 */
const TERMS = {
  thread: {
    cuda: words('thread'),
    hip: words('thread'),
    sycl: words('work-item'),
    opencl: words('work-item'),
    webgpu: words('invocation'),
  },
  lane: { cuda: words('lane'), hip: words('lane'), sycl: words('lane'), opencl: words('lane'), webgpu: words('lane') },
  threadGroup: {
    cuda: words('warp'),
    hip: words('wavefront', 'wavefronts', 'wave'),
    sycl: words('sub-group'),
    opencl: words('sub-group'),
    webgpu: words('subgroup'),
  },
  workGroup: {
    cuda: words('work group'),
    hip: words('work group'),
    sycl: words('lockstep group'),
    opencl: words('lockstep group'),
    webgpu: words('lockstep group'),
  },
  block: {
    cuda: words('block', 'blocks', 'bl'),
    hip: words('block', 'blocks', 'bl'),
    sycl: words('work-group', 'work-groups', 'wg'),
    opencl: words('work-group', 'work-groups', 'wg'),
    webgpu: words('workgroup', 'workgroups', 'wg'),
  },
  grid: {
    cuda: words('grid'),
    hip: words('grid'),
    sycl: words('ND-range'),
    opencl: words('NDRange'),
    webgpu: words('dispatch', 'dispatches'),
  },
  multiprocessor: {
    cuda: words('streaming multiprocessor', 'streaming multiprocessors', 'SM'),
    hip: words('compute unit', 'compute units', 'CU'),
    sycl: words('compute unit', 'compute units', 'CU'),
    opencl: words('compute unit', 'compute units', 'CU'),
    webgpu: words('core', 'cores', 'core'),
  },
  sharedMemory: {
    cuda: words('shared memory', 'shared memory', 'shared'),
    hip: words('LDS', 'LDS', 'LDS'),
    sycl: words('local memory', 'local memory', 'local'),
    opencl: words('local memory', 'local memory', 'local'),
    webgpu: words('workgroup memory', 'workgroup memory', 'wg mem'),
  },
  register: {
    cuda: words('register', 'registers', 'reg'),
    hip: words('VGPR', 'VGPRs', 'VGPR'),
    sycl: words('register', 'registers', 'reg'),
    opencl: words('register', 'registers', 'reg'),
    webgpu: words('register', 'registers', 'reg'),
  },
  kernel: {
    cuda: words('kernel'),
    hip: words('kernel'),
    sycl: words('kernel'),
    opencl: words('kernel'),
    webgpu: words('compute shader', 'compute shaders', 'shader'),
  },
} as const satisfies Readonly<Record<string, Readonly<Record<Vocabulary, Words>>>>;

export type TermKey = keyof typeof TERMS;
export type TermForm = keyof Words;

export type Term = (key: TermKey, form?: TermForm) => string;

export function term(key: TermKey, vocabulary: Vocabulary, form: TermForm = 'one'): string {
  return TERMS[key][vocabulary][form];
}

/** The word is the same in every vocabulary. */
export const coresText = (cores: number): string => countedText(cores, 'core');

export function sentenceCase(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
