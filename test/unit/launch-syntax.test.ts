import { expect, it } from 'vitest';
import { inlinePtx, rewriteLaunches } from '../../src-workers/bench/cuda/launch-syntax.ts';
import { unwrap } from '../../src-workers/domain/result.ts';

/** CUDA's own syntax is translated to C++ for the emulation. */

const rewritten = (text: string): string => unwrap(rewriteLaunches(text));
const start = (kernel: string, config: string): string =>
  `cuda_shim::Start{cuda_shim::Config(${config}), [&](auto... lockstepGiven) { ${kernel}(lockstepGiven...); }}`;

it.each([
  ['a<<<g, b>>>(x, y);', `${start('a', 'g, b')}(x, y);`],
  [
    'if (n) ns::a <<< dim3(g, 1), b, 4 * sizeof(int), s >>> ();',
    `if (n) ${start('ns::a', ' dim3(g, 1), b, 4 * sizeof(int), s ')} ();`,
  ],
  ['a<float, (4 > 2)><<<n >> 8, 256>>>(x);', `${start('a<float, (4 > 2)>', 'n >> 8, 256')}(x);`],
  ['(a<T>)<<<1, 2>>>(x);', `${start('(a<T>)', '1, 2')}(x);`],
  ['plan->kernels[i]<< <g, b> >>(x);', `${start('plan->kernels[i]', 'g, b')}(x);`],
  ['a<<<1, 2>>>(f(x)); b<<<3, 4>>>(")");', `${start('a', '1, 2')}(f(x)); ${start('b', '3, 4')}(")");`],
  ['cout << "a<<<1>>>()" << \'<\' << x;', 'cout << "a<<<1>>>()" << \'<\' << x;'],
  ['ostream& operator<< <char>(ostream&);', 'ostream& operator<< <char>(ostream&);'],
  ['extern static float s[];', 'static float* const s = (float*)cuda_shim::dynamicShared;'],
  ['extern volatile static unsigned char s [ ];', 'static volatile unsigned char* const s = (volatile unsigned char*)cuda_shim::dynamicShared;'], // prettier-ignore
  ['extern static __attribute__((aligned(16))) T s[];', 'static T* const s = (T*)cuda_shim::dynamicShared;'],
  ['static static int n;', 'static int n;'],
  ['asm volatile("// lockstep:loop");', '((void)0);'],
])('%s', (text, expected) => expect(rewritten(text)).toBe(expected));

it('does not change system headers, and keeps line numbers', () => {
  const text =
    '# 1 "/usr/include/x.h" 1 3\nT operator<<\n<int>(); << <\n# 5 "a.cu" 2\nvoid f() {\n  a<<<1,\n    2>>>(x);\n}\n';
  expect(rewritten(text)).toBe(text.replace('a<<<1,\n    2>>>(x);', `${start('a', '1,\n    2')}(x);`));
});

it.each(['a<<<1, 2>>>;', 'a<<<1, 2(x);', '<<<1, 2>>>(x);'])('refuses %s', (text) => {
  const found = rewriteLaunches(text);
  expect(found).toFail(null, /^a launch cannot be read: .*Write kernel<<<grid, block>>>\(arguments\)$/s);
});

it('finds PTX instructions in a source', () => {
  expect(inlinePtx('asm volatile("mov.u32 %0, %%smid;" : "=r"(id));')).toBe('mov.u32');
  expect(inlinePtx('asm("{ .reg .f32 a; add.f32 a, a, a; }");')).toBe(null);
  expect(inlinePtx('# 1 "/usr/include/x.h" 3\nasm ("mov.u32 x");')).toBe(null);
  expect(inlinePtx('asm volatile("// lockstep:loop");')).toBe(null);
});
