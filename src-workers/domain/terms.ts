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

const everywhere = (word: Words) => ({ cuda: word, hip: word, sycl: word, opencl: word, webgpu: word });
const inKhronos = (word: Words) => ({ sycl: word, opencl: word });

/** A work group is the units that run in lockstep. In SYCL, OpenCL and WebGPU, this word means a block. */
const TERMS = {
  thread: { ...everywhere(words('thread')), ...inKhronos(words('work-item')), webgpu: words('invocation') },
  lane: everywhere(words('lane')),
  threadGroup: {
    cuda: words('warp'),
    hip: words('wavefront', 'wavefronts', 'wave'),
    ...inKhronos(words('sub-group')),
    webgpu: words('subgroup'),
  },
  workGroup: { ...everywhere(words('lockstep group')), cuda: words('work group'), hip: words('work group') },
  block: {
    ...everywhere(words('block', 'blocks', 'bl')),
    ...inKhronos(words('work-group', 'work-groups', 'wg')),
    webgpu: words('workgroup', 'workgroups', 'wg'),
  },
  grid: {
    ...everywhere(words('grid')),
    sycl: words('ND-range'),
    opencl: words('NDRange'),
    webgpu: words('dispatch', 'dispatches'),
  },
  multiprocessor: {
    ...everywhere(words('compute unit', 'compute units', 'CU')),
    cuda: words('streaming multiprocessor', 'streaming multiprocessors', 'SM'),
    webgpu: words('core', 'cores', 'core'),
  },
  sharedMemory: {
    cuda: words('shared memory', 'shared memory', 'shared'),
    hip: words('LDS', 'LDS', 'LDS'),
    ...inKhronos(words('local memory', 'local memory', 'local')),
    webgpu: words('workgroup memory', 'workgroup memory', 'wg mem'),
  },
  register: { ...everywhere(words('register', 'registers', 'reg')), hip: words('VGPR', 'VGPRs', 'VGPR') },
  kernel: { ...everywhere(words('kernel')), webgpu: words('compute shader', 'compute shaders', 'shader') },
} as const satisfies Readonly<Record<string, Readonly<Record<Vocabulary, Words>>>>;

export type TermKey = keyof typeof TERMS;
export type TermForm = keyof Words;

export type Term = (key: TermKey, form?: TermForm) => string;

export function term(key: TermKey, vocabulary: Vocabulary, form: TermForm = 'one'): string {
  return TERMS[key][vocabulary][form];
}

export const coresText = (cores: number): string => countedText(cores, 'core');

export function sentenceCase(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
