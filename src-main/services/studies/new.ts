import { existsSync, statSync } from 'node:fs';
import { basename, dirname, relative, resolve } from 'node:path';
import { ok, type Result, badInput, notFound } from '../../../src-workers/domain/result.ts';
import { moments } from '../../../src-workers/models/workload/laws.ts';
import { formatWorkload } from '../../../src-workers/parse/grammar.ts';
import { workloadWithFiles } from '../../../src-workers/parse/open-file.ts';
import { makeGivenLengths, makeUnitLaw } from '../../../src-workers/predict/ordered.ts';
import { newStudy, studyName, USUAL_UNITS, type NewDevice } from '../../contract/new-study.ts';
import { parseStudy } from '../../contract/parse.ts';
import { writeFor } from '../files/files.ts';
import { spmvOf } from './spmv.ts';

export interface StudyOfLengths {
  /** The lengths: a file relative to the working folder, or text in the workload grammar. */
  readonly lengths: string;
  readonly units?: number;
  /** The default is an A100, or with `spmv` the devices of the example that `spmvOf` reads. */
  readonly devices?: readonly NewDevice[];
  readonly spmv?: boolean;
}

export interface WrittenStudy {
  readonly units: number;
  /** Mean and maximum length of these units, which may be fewer than the given lengths. */
  readonly mean: number;
  readonly max: number;
  readonly devices: readonly string[];
  readonly note?: string;
}

/** Writes a study for given lengths, with usual values for unknown kernel properties. Fails if the file exists. */
export async function writeNewStudy(
  resourceFolder: string,
  file: string,
  { lengths, units: asked, devices, spmv }: StudyOfLengths,
): Promise<Result<WrittenStudy>> {
  if (existsSync(file)) return badInput(`${file} already exists. Specify another file, or remove it first.`);
  const folder = dirname(resolve(file));
  const located = workloadText(lengths, folder);
  if (!located.ok) return located;
  const text = located.value;
  if (text === lengths && /^[^():]*$/.test(lengths))
    return notFound(`There is no file ${lengths}. Specify an existing file, or a workload such as geometric(0.05).`);
  const workload = await workloadWithFiles({ text, folder });
  if (!workload.ok) return workload;
  const { law, lengths: order, units: ofFile, matrixColumns, note } = workload.value;
  const units = asked ?? order?.length ?? ofFile ?? USUAL_UNITS;
  const name = studyName(basename(file));
  let study: object = newStudy({ name, lengths: text, units, ...(devices && { devices }) });
  if (spmv) {
    const cpu = devices?.find(({ cores }) => cores !== undefined);
    if (cpu) return badInput(`The kernels that --spmv compares are for GPUs, but ${cpu.id} is a CPU. Leave it out.`);
    if (asked !== undefined)
      return badInput('A comparison of kernels has the rows of the matrix as units. Leave --units out.');
    if (matrixColumns === undefined) return badInput(`${lengths} is not a Matrix Market file (.mtx).`);
    const made = await spmvOf(resourceFolder, { name, lengths: text, rows: units, columns: matrixColumns });
    if (!made.ok) return made;
    study = { ...made.value, ...(devices && { devices: devices.map(({ id }) => id) }) };
  }
  const content = `${JSON.stringify(study, null, 2)}\n`;
  const valid = parseStudy(content, file);
  if (!valid.ok) return valid;
  const saved = await writeFor(file, content);
  if (!saved.ok) return saved;
  const { mean, supportMax: max } = moments(order ? makeUnitLaw(law.label, makeGivenLengths(order), units) : law);
  return ok({ units, mean, max, devices: valid.value.devices, ...(note && { note }) });
}

/** Returns the workload with the path of its file relative to the study's folder. Text that names no file is kept. */
function workloadText(lengths: string, folder: string): Result<string> {
  const [, kind, name] = /^(?:(file|mtx):)?(.*)$/s.exec(lengths)!;
  // A name may contain `#`, so the text is tried as a whole name before it is split into a name and columns.
  const [path, columns] = existsSync(name) ? [name, ''] : [name.replace(/#.*/s, ''), /#.*/s.exec(name)?.[0] ?? ''];
  if (!existsSync(path)) return ok(lengths);
  if (!statSync(path).isFile()) return badInput(`${path} is a folder or a special file. Specify a regular file.`);
  const there = relative(folder, resolve(path)).replaceAll('\\', '/');
  const isMatrix = kind === 'mtx' || (kind === undefined && /\.mtx(\.gz)?$/i.test(path));
  return ok(`${formatWorkload({ kind: isMatrix ? 'mtx' : 'file', path: there })}${columns}`);
}
