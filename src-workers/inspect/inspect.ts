import { parsePtxas } from '../bench/cuda/ptxas.ts';
import { lastName, type Inspection } from '../domain/inspection.ts';
import { fail, ok, type Result, badInput, notFound } from '../domain/result.ts';
import { parseCubin } from './cubin.ts';
import { demangled } from './demangle.ts';
import { LOOP_MARK, type KernelCode } from './instruction.ts';
import { fitLengths } from './lengths.ts';
import { findLoops, type FoundLoops } from './loops.ts';
import type { KernelPhases } from './phases.ts';
import { parseProfile } from './profile.ts';
import { parsePtx } from './ptx.ts';
import { parseSass } from './sass.ts';

export interface KernelTexts {
  readonly log?: string;
  readonly ptx?: string;
  readonly sass?: string;
  readonly cubin?: Uint8Array;
  readonly profile?: string;
  readonly capped?: readonly { readonly cap: number; readonly log: string }[];
}

export interface Asked {
  /** The kernel's name in the source or the object file; needed if the file has several kernels. */
  readonly entry?: string | undefined;
  readonly arch?: string | undefined;
  /** The number of the loop to use, from 1; it replaces the automatic choice. */
  readonly loop?: number | undefined;
  /** Source iterations in a pass of this loop; it replaces the number that was found. */
  readonly iterationsPerLoop?: number | undefined;
  readonly meanLength?: number | undefined;
}

/** Returns `csr` for `_ZN4spmv3csrIfEEvPKf` and for `void csr<float>(const float *)`. */
export const sourceName = (name: string): string => lastName(demangled(name));

function isMeant(name: string, asked: string): boolean {
  const plain = (text: string): string => text.replaceAll(/\s/g, '');
  const whole = plain(demangled(name));
  return [whole, whole.split('<', 1)[0], sourceName(name), plain(sourceName(name) + templateOf(name))].includes(
    plain(asked),
  );
}
const templateOf = (name: string): string => /<.*>$/.exec(demangled(name))?.[0] ?? '';

export function inspectKernel(label: string, texts: KernelTexts, asked: Asked): Result<Inspection> {
  const usages = texts.log === undefined ? [] : parsePtxas(texts.log);
  const ptx = texts.ptx === undefined ? [] : parsePtx(texts.ptx);
  const sass = texts.sass === undefined ? [] : parseSass(texts.sass);
  const cubin = texts.cubin === undefined ? ok([]) : parseCubin(texts.cubin);
  if (!cubin.ok) return fail(cubin.error.code, `${label}: ${cubin.error.message}`);
  const profile = texts.profile === undefined ? ok([]) : parseProfile(texts.profile);
  if (!profile.ok) return fail(profile.error.code, `${label}: ${profile.error.message}`);

  const known = [
    // The kernels are in the order of the source, if one of the texts keeps this order.
    ...[...ptx, ...sass, ...cubin.value, ...profile.value].map(({ entry, arch }) => ({ entry, arch })),
    ...usages.map(({ kernel, architecture }) => ({ entry: kernel, arch: architecture })),
  ];
  const named = oneKernel(label, known, asked);
  if (!named.ok) return named;
  const { entry, arch } = named.value;
  const of = <Kernel extends { readonly entry: string; readonly arch: string | null }>(
    all: readonly Kernel[],
  ): Kernel | undefined => all.find((one) => one.entry === entry && (one.arch ?? arch) === arch);
  const usage = usages.find((one) => one.kernel === entry && one.architecture === arch);
  const file = of(cubin.value);
  const measured = of(profile.value);

  const notes: string[] = [];
  const found = inspectLoops(of(ptx), of(sass), asked, notes);
  if (!found.ok) return fail(found.error.code, `${label}: ${found.error.message}`);
  const { loops, chosen, around } = found.value;
  notes.push(...found.value.notes);
  if (around) notes.push(...writeNotes(around));
  if (loops.length === 0 && (of(sass) ?? of(ptx)))
    notes.push('The kernel has no loop, so its code does not say how much work an iteration is.');
  const caps = (texts.capped ?? []).flatMap(({ cap, log }) => {
    const one = parsePtxas(log).find(({ kernel }) => kernel === entry);
    if (!one) return [];
    const { registersPerThread, spillStoreBytes, spillLoadBytes } = one;
    return [{ cap, registersPerThread, spillStoreBytes, spillLoadBytes }];
  });
  const lanes = measured?.launch.meanActiveLanes ?? null;
  const lengths = lanes === null ? null : fitLengths(lanes, asked.meanLength ?? null);
  if (lengths && !lengths.ok) notes.push(lengths.error.message);
  const declared = (texts.ptx ?? '').matchAll(/^[ \t]*\.extern[ \t]+\.shared\b([^;\n]*)/gm);
  const dynamic = new Set([...declared].map(([, rest]) => rest.split('[', 1)[0].split(' ').at(-1)));
  if (of(ptx)?.instructions.some(({ reads }) => reads.some((name) => dynamic.has(name))))
    notes.push(
      'The kernel uses dynamic shared memory, whose size the launch sets. Add this size to the shared memory of the study.',
    );
  if (!usage && file) notes.push('An object file does not list spills. Add a log of ptxas -v to know them.');
  return ok({
    entry,
    name: demangled(entry),
    arch,
    entries: [...new Set(known.map((one) => one.entry))].slice(0, MAX_ENTRIES),
    registersPerThread: usage?.registersPerThread ?? file?.registersPerThread ?? measured?.registersPerThread ?? null,
    sharedMemoryBytesPerBlock:
      usage?.sharedMemoryBytes ?? file?.sharedMemoryBytes ?? measured?.sharedMemoryBytes ?? null,
    spillStoreBytes: usage?.spillStoreBytes ?? null,
    spillLoadBytes: usage?.spillLoadBytes ?? null,
    loops,
    chosen,
    phases: around?.phases ?? {},
    sharing: around?.sharing ?? null,
    serialFraction: around?.serial ? 1 : null,
    accesses: around?.accesses ?? [],
    from: of(sass) ? 'sass' : of(ptx) ? 'ptx' : usage ? 'ptxas' : file ? 'cubin' : 'ncu',
    caps,
    launch: measured?.launch ?? null,
    lengths: lengths?.ok ? lengths.value : null,
    notes,
  });
}

interface Named {
  readonly entry: string;
  readonly arch: string | null;
}

const MAX_ENTRIES = 500;
const MAX_LISTED = 8;
const listed = (names: readonly string[]): string =>
  names.slice(0, MAX_LISTED).join(', ') +
  (names.length > MAX_LISTED ? `, and ${names.length - MAX_LISTED} others` : '');

function oneKernel(label: string, known: readonly Named[], { entry, arch }: Asked): Result<Named> {
  const names = [...new Set(known.map((one) => one.entry))];
  if (names.length === 0)
    return badInput(`${label} names no kernel. Specify a file with a __global__ function or, in PTX, a whole .entry.`);
  const exact = names.filter((name) => entry === undefined || name === entry);
  const wanted = exact.length > 0 ? exact : names.filter((name) => entry === undefined || isMeant(name, entry));
  if (wanted.length === 0) return notFound(`${label} has no kernel ${entry}. It has ${listed(names.map(demangled))}.`);
  if (wanted.length > 1)
    return badInput(
      `${label} has ${wanted.length} kernels${entry === undefined ? '' : ` named ${entry}`}: ` +
        `${listed(wanted.map(demangled))}. Specify one of them (--entry).`,
      { entries: wanted.slice(0, MAX_ENTRIES).join('\n') },
    );
  const archs = [...new Set(known.filter((one) => one.entry === wanted[0]).flatMap((one) => one.arch ?? []))];
  if (arch !== undefined && archs.length > 0 && !archs.includes(arch))
    return notFound(`${label} has ${demangled(wanted[0])} for ${listed(archs)}, not for ${arch}.`);
  if (arch === undefined && archs.length > 1)
    return badInput(`${label} has ${demangled(wanted[0])} for ${listed(archs)}. Specify one of them (--arch).`, {
      archs: archs.join('\n'),
    });
  return ok({ entry: wanted[0], arch: arch ?? archs[0] ?? null });
}

/** Finds the loops in machine code if available, otherwise in PTX. Marks come from PTX; machine code has none. */
function inspectLoops(
  ptx: KernelCode | undefined,
  sass: KernelCode | undefined,
  { loop, iterationsPerLoop: iterations }: Asked,
  notes: string[],
): Result<FoundLoops> {
  const code = sass ?? ptx;
  if (!code) return ok(NO_LOOPS);
  if (code.instructions.some(({ calls }) => calls))
    notes.push('The kernel calls functions, which are counted as one instruction each.');
  if (code.instructions.some(({ expands }) => expands))
    notes.push('PTX counts a division, a remainder or an exact root as one instruction; the machine executes several.');
  if (!sass) return findLoops(code, { loop, iterations });
  const before = ptx ? findLoops(ptx, {}) : ok(NO_LOOPS);
  if (!before.ok) return before;
  const lines = before.value.loops.flatMap(({ marked, line }) => (marked && line !== null ? [line] : []));
  const found = findLoops(sass, { loop, iterations, markedLines: new Set(lines) });
  if (found.ok && lines.length > 0 && found.value.loops.every(({ marked }) => !marked))
    notes.push(
      `The machine code does not show which loop is marked (${LOOP_MARK}). Compile with -lineinfo, and list the code with nvdisasm -c -g.`,
    );
  return found;
}
const NO_LOOPS: FoundLoops = { loops: [], chosen: null, notes: [], around: null };

function writeNotes({ threadsPerUnit, others, serial }: KernelPhases): readonly string[] {
  const places = listed(others.map((at) => String(at + 1)));
  return [
    ...(threadsPerUnit > 1 ? [`The tree of shuffles combines the results of ${threadsPerUnit} threads per unit.`] : []),
    ...(serial === 'remains'
      ? [
          'Each iteration waits for a value from the one before, which decides neither a load nor the end of the loop. ' +
            'If threads can combine parts of it, as for a linear recurrence, set "sharing": "deal" in the study.',
        ]
      : []),
    ...(others.length > 0 ? [`These loops belong to no phase and are not counted: ${places}.`] : []),
  ];
}
