import { existsSync } from 'node:fs';
import { basename, dirname, relative, resolve } from 'node:path';
import { ok, type Result, badInput, notFound } from '../../../src-workers/domain/result.ts';
import { moments } from '../../../src-workers/models/workload/laws.ts';
import { workloadWithFiles } from '../../../src-workers/parse/open-file.ts';
import { newStudy, studyName, USUAL_UNITS } from '../../contract/new-study.ts';
import { parseStudy } from '../../contract/parse.ts';
import { writeFor } from '../files/files.ts';
import { spmvOf } from './spmv.ts';

export interface StudyOfLengths {
  /** The lengths: a file relative to the working folder, or text in the workload grammar. */
  readonly lengths: string;
  readonly units?: number;
  /** The default is an A100, or with `spmv` the devices of the example. */
  readonly device?: readonly string[];
  readonly spmv?: boolean;
}

/** Writes a study for given lengths, with usual values for unknown kernel properties. Fails if the file exists. */
export async function writeNewStudy(
  resourceFolder: string,
  file: string,
  { lengths, units: asked, device, spmv }: StudyOfLengths,
): Promise<Result<{ readonly units: number; readonly mean: number; readonly max: number }>> {
  if (existsSync(file)) return badInput(`${file} already exists. Specify another file, or remove it first.`);
  const folder = dirname(resolve(file));
  const text = workloadText(lengths, folder);
  if (text === lengths && /^[^():]*$/.test(lengths))
    return notFound(`There is no file ${lengths}. Specify an existing file, or a workload such as geometric(0.05).`);
  const workload = await workloadWithFiles({ text, folder });
  if (!workload.ok) return workload;
  const { law, lengths: order, matrixColumns } = workload.value;
  const units = asked ?? order?.length ?? USUAL_UNITS;
  const name = studyName(basename(file));
  const devices = device === undefined ? {} : { devices: [...device] };
  let study: object = newStudy({ name, lengths: text, units, ...devices });
  if (spmv) {
    if (asked !== undefined)
      return badInput('A comparison of kernels has the rows of the matrix as units. Leave --units out.');
    if (matrixColumns === undefined) return badInput(`${lengths} is not a Matrix Market file (.mtx).`);
    const made = await spmvOf(resourceFolder, { name, lengths: text, rows: units, columns: matrixColumns });
    if (!made.ok) return made;
    study = { ...made.value, ...devices };
  }
  const content = `${JSON.stringify(study, null, 2)}\n`;
  const valid = parseStudy(content, file);
  if (!valid.ok) return valid;
  const saved = await writeFor(file, content);
  const { mean, supportMax: max } = moments(law);
  return saved.ok ? ok({ units, mean, max }) : saved;
}

function workloadText(lengths: string, folder: string): string {
  const [, kind, path, columns = ''] = /^(?:(file|mtx):)?([^#]*)(#.*)?$/s.exec(lengths)!;
  if (!existsSync(path)) return lengths;
  const there = relative(folder, resolve(path)).replaceAll('\\', '/');
  return `${kind ?? (/\.mtx(\.gz)?$/i.test(path) ? 'mtx' : 'file')}:${there}${columns}`;
}
