import { readFile, symlink, writeFile } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { cudaFolders, findNvcc } from '../../../src-workers/bench/cuda/toolkit.ts';
import { firstError } from '../../../src-workers/bench/cuda/ptxas.ts';
import { findProgram, runTool } from '../../../src-workers/bench/tool.ts';
import { kernelFileKind, MAX_KERNEL_FILE_BYTES, type Inspection } from '../../../src-workers/domain/inspection.ts';
import { fail, ok, type Result, badInput, unsupported } from '../../../src-workers/domain/result.ts';
import type { KernelTexts } from '../../../src-workers/inspect/inspect.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import { inTemporaryFolder } from '../files/temporary-folder.ts';
import type { Context } from '../context.ts';

type Input = Omit<ProcedureArguments<'kernel.inspect'>, 'client'>;

/** The time limit for all programs of an inspection together, ms. A compiler may need a minute for a large kernel. */
const TIME_LIMIT_MS = 120_000;

const NO_COMPILER =
  'Specify a file that was compiled elsewhere instead: PTX (nvcc -ptx -lineinfo), a cubin (nvcc -cubin -lineinfo), or the log of nvcc -Xptxas -v.';

/**
 * Fails with `bad-input` if the file does not describe a kernel, with `not-found` if a source needs nvcc and there is
 * none, and with `unsupported` if the compiler reports an error or the time limit is exceeded.
 */
export async function inspectFile(context: Context, input: Input, cancel: AbortSignal): Promise<Result<Inspection>> {
  const { fileName, bytes, entry, arch, loop, iterationsPerLoop, meanLength } = input;
  if (bytes.length > MAX_KERNEL_FILE_BYTES)
    return badInput(`${fileName} has ${bytes.length} bytes, which is more than the limit of ${MAX_KERNEL_FILE_BYTES}.`);
  const limit = AbortSignal.timeout(TIME_LIMIT_MS);
  const signal = AbortSignal.any([cancel, limit]);
  try {
    const texts = await inTemporaryFolder((folder) => kernelTexts(input, new Tools(folder, fileName, signal)));
    if (!texts.ok) return limit.aborted ? tookTooLong(fileName) : texts;
    const { notes, ...read } = texts.value;
    const found = await context.pool.run(
      'inspect',
      { label: fileName, texts: read, asked: { entry, arch, loop, iterationsPerLoop, meanLength } },
      { signal },
    );
    return found.ok ? ok({ ...found.value, notes: [...found.value.notes, ...notes] }) : found;
  } catch (error) {
    if (limit.aborted && !cancel.aborted) return tookTooLong(fileName);
    throw error;
  }
}

const tookTooLong = (fileName: string): Result<never> =>
  unsupported(`${fileName}: The inspection was stopped after ${TIME_LIMIT_MS / 1000} s.`);

class Tools {
  readonly folder: string;
  private readonly fileName: string;
  private readonly signal: AbortSignal;
  constructor(folder: string, fileName: string, signal: AbortSignal) {
    this.folder = folder;
    this.fileName = fileName;
    this.signal = signal;
  }

  /**
   * If the program fails, the failure has its first error message.
   * @param source the file that its messages name; the name of the inspected file replaces it
   */
  async run(program: string, args: readonly string[], source = ''): Promise<Result<string>> {
    const ended = await runTool(program, args, { cwd: this.folder, timeLimitMs: TIME_LIMIT_MS, signal: this.signal });
    if (!ended.ok) return ended;
    const { code, stdout, stderr } = ended.value;
    if (code === 0) return ok(stdout + stderr);
    const error = firstError(stderr + stdout);
    // The name of the linked folder is removed, so a header appears under the name that its #include has.
    return unsupported(source === '' ? error : error.replaceAll(source, this.fileName).replaceAll(`${OWN}/`, ''));
  }

  async disassembled(cubin: string): Promise<Result<string> | null> {
    for (const [name, ...args] of [
      ['nvdisasm', '-c', '-g', cubin],
      ['cuobjdump', '-sass', cubin],
    ]) {
      const file = process.platform === 'win32' ? `${name}.exe` : name;
      const program = await findProgram([file], cudaFolders(process.env));
      if (program !== null) return this.run(program, args);
    }
    return null;
  }
}

type Texts = KernelTexts & { readonly notes: readonly string[] };

async function kernelTexts(input: Input, tools: Tools): Promise<Result<Texts>> {
  const { fileName, bytes, caps } = input;
  const kind = kernelFileKind(fileName, bytes);
  const text = (): string => new TextDecoder().decode(bytes);
  const compiled = kind === 'source' || kind === 'ptx';
  if (caps.length > 0 && !compiled)
    return badInput(`${fileName} cannot be compiled again under register caps. Specify a .cu file or PTX.`);
  switch (kind) {
    case 'source':
      return compiledSource(input, tools);
    case 'ptx':
      return assembledPtx(input, text(), tools);
    case 'sass':
      return ok({ sass: text(), notes: [] });
    case 'ptxas':
      return ok({ log: text(), notes: [] });
    case 'ncu':
      return ok({ profile: text(), notes: [] });
    case 'cubin': {
      await writeFile(join(tools.folder, 'kernel.cubin'), bytes);
      const code = await disassembled(tools, NO_DISASSEMBLER);
      return ok({ cubin: bytes, ...code });
    }
    case null:
      return badInput(
        `${fileName} does not describe a kernel. Specify a CUDA source (.cu), PTX, a cubin, a listing of nvdisasm or cuobjdump, a log of ptxas -v, or a table of Nsight Compute (ncu --csv).`,
      );
  }
}

const NO_DISASSEMBLER =
  "Neither nvdisasm nor cuobjdump was found, so the loops of this cubin were not read. To get them, inspect the kernel's PTX instead (nvcc -ptx -lineinfo).";

async function disassembled(tools: Tools, without: string | null): Promise<Pick<Texts, 'sass' | 'notes'>> {
  const code = await tools.disassembled('kernel.cubin');
  if (code?.ok) return { sass: code.value, notes: [] };
  const note = code ? `The machine code could not be listed: ${code.error.message}` : without;
  return { notes: note === null ? [] : [note] };
}

const OWN = 'own';
const PLAIN_NAME = /^[\w+@][\w.+@-]*$/;
const HIP_HEADER = /^[ \t]*#[ \t]*include[ \t]*[<"]hip\//m;

async function compiledSource(
  { fileName, bytes, arch, caps, flags, folder }: Input,
  tools: Tools,
): Promise<Result<Texts>> {
  const nvcc = await findNvcc(process.env, arch);
  if (!nvcc.ok) return fail(nvcc.error.code, `${fileName} must be compiled: ${nvcc.error.message}. ${NO_COMPILER}`);
  if (arch === undefined) return badInput(`Specify the architecture for ${fileName}, as in --arch sm_90.`);
  // If possible, the file is compiled where it is, since it may include its neighbours. The user's folders get other
  // names, because nvcc passes its arguments to a shell, which could interpret the real ones.
  if (folder !== undefined) await symlink(folder, join(tools.folder, OWN), 'junction');
  const there = folder === undefined ? null : await readFile(join(folder, fileName)).catch(() => null);
  const inPlace = there !== null && there.equals(bytes) && PLAIN_NAME.test(fileName);
  const source = inPlace ? `${OWN}/${fileName}` : PLAIN_NAME.test(fileName) ? fileName : 'inspected.cu';
  if (!inPlace) await writeFile(join(tools.folder, source), bytes);
  const own = ['-O3', '-lineinfo', '-Xptxas', '-v', `-arch=${arch}`, ...(folder === undefined ? [] : ['-I', OWN])];
  const output = ['--keep', '--keep-dir', '.', '-cubin', '-o', 'kernel.cubin'];
  const language = /\.cu$/.test(source) ? [] : ['-x', 'cu'];
  const log = await tools.run(nvcc.value, [...own, ...flags, ...output, ...language, source], source);
  if (!log.ok) {
    const header =
      folder === undefined && /No such file|cannot open source file|could not open source file/.test(log.error.message);
    const advice = HIP_HEADER.test(new TextDecoder().decode(bytes))
      ? '. The file includes headers of HIP, which is not supported. Inspect a CUDA version of the kernel.'
      : header
        ? ' The headers of this file are missing here. Inspect it in their folder: lockstep kernel inspect FILE.'
        : '';
    return fail(log.error.code, `nvcc refused: ${log.error.message}${advice}`, log.error.context);
  }
  const ptx = await readFile(join(tools.folder, `${basename(source, extname(source))}.ptx`), 'utf8');
  await writeFile(join(tools.folder, 'kernel.ptx'), ptx);
  const capped = await underCaps(nvcc.value, arch, caps, tools);
  if (!capped.ok) return capped;
  const code = await disassembled(tools, null);
  return ok({ log: log.value, ptx, capped: capped.value, ...code });
}

/** PTX shows the loops. The assembler, if there is one, shows the resources that the kernel needs. */
async function assembledPtx({ arch, caps }: Input, ptx: string, tools: Tools): Promise<Result<Texts>> {
  const target = arch ?? /^[ \t]*\.target[ \t]+(sm_\w+)/m.exec(ptx)?.[1] ?? '';
  const nvcc = await findNvcc(process.env, target);
  if (!nvcc.ok)
    return caps.length > 0
      ? fail(nvcc.error.code, `Only the compiler can determine registers under caps: ${nvcc.error.message}.`)
      : ok({
          ptx,
          notes: [
            'PTX does not state register counts, and nvcc was not found to compute them. Inspect the output of nvcc -Xptxas -v instead.',
          ],
        });
  await writeFile(join(tools.folder, 'kernel.ptx'), ptx);
  const log = await tools.run(nvcc.value, assemblerArguments(target, 'kernel.cubin'), 'kernel.ptx');
  if (!log.ok) {
    if (log.error.code === 'cancelled') return log;
    return ok({
      ptx,
      notes: [`The registers are not known, because the assembler refused the PTX: ${log.error.message}`],
    });
  }
  const capped = await underCaps(nvcc.value, target, caps, tools);
  if (!capped.ok) return capped;
  const code = await disassembled(tools, null);
  return ok({ ptx, log: log.value, capped: capped.value, ...code });
}

function assemblerArguments(arch: string, output: string, ...more: readonly string[]): readonly string[] {
  return ['-Xptxas', '-v', `-arch=${arch}`, ...more, '-cubin', '-o', output, 'kernel.ptx'];
}

async function underCaps(
  nvcc: string,
  arch: string,
  caps: readonly number[],
  tools: Tools,
): Promise<Result<NonNullable<KernelTexts['capped']>>> {
  const capped: { readonly cap: number; readonly log: string }[] = [];
  for (const cap of caps) {
    const log = await tools.run(nvcc, assemblerArguments(arch, 'capped.cubin', `-maxrregcount=${cap}`));
    if (!log.ok) return fail(log.error.code, `Under a cap of ${cap} registers, ${log.error.message}`);
    capped.push({ cap, log: log.value });
  }
  return ok(capped);
}
