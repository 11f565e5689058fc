import { ok, type Result } from '../../../src-workers/domain/result.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import { moments } from '../../../src-workers/models/workload/laws.ts';
import type { CsvColumns } from '../../../src-workers/parse/csv.ts';
import { formatColumns } from '../../../src-workers/parse/grammar.ts';
import { computeLossInOrder } from '../../../src-workers/predict/dealing/given.ts';
import { makeGivenLengths } from '../../../src-workers/predict/ordered.ts';
import type { ResolvedWorkload, StudyRecord, StudySummary, WorkloadOrder } from '../../contract/api.ts';
import { mergeEdits } from '../../contract/merge.ts';
import { newStudy } from '../../contract/new-study.ts';
import { parseStudy, validate } from '../../contract/parse.ts';
import type { ProcedureArguments, ProcedureOutput } from '../../contract/procedures.ts';
import { studySchema } from '../../contract/study.ts';
import { changing, type Context, type Handlers, type ProceduresOf } from '../context.ts';
import { namedDevice } from '../measuring/device.ts';
import { spmvStudy } from './spmv.ts';
import { getStudy, saveStudy, studyRecord, type LocatedStudy, type StoredStudy } from './studies.ts';
import { lengthsCsv, packLengths, resolveLengths, sha256 } from './workloads.ts';

export function studyHandlers(context: Context): Handlers<ProceduresOf<'studies' | 'workload'>> {
  const { store } = context;
  // One save follows another, because each merges with what the one before has stored.
  let lastSave: Promise<unknown> = Promise.resolve();
  return {
    'studies.list': async () => {
      const studies = await store.listStudies();
      if (!studies.ok) return studies;
      const out: StudySummary[] = [];
      for (const stored of studies.value) {
        const one = await withRuns(context, stored);
        if (!one.ok) continue;
        const { study: _study, ...rest } = one.value;
        out.push(rest);
      }
      return ok(out);
    },
    'studies.get': async ({ id }) => {
      const stored = await store.getStudy(id);
      return stored.ok ? withRuns(context, stored.value) : stored;
    },
    'studies.save': (edited) => {
      const saved = lastSave.then(() => saveEdited(context, edited));
      lastSave = saved.catch(() => {});
      return saved;
    },
    'studies.import': async ({ text, folder: baseFolder = null }) => {
      const study = parseStudy(text);
      return study.ok ? savedStudy(context, { study: study.value, baseFolder, example: false }) : study;
    },
    'studies.duplicate': async ({ id }) => {
      const before = await getStudy(store, id);
      if (!before.ok) return before;
      const { study, baseFolder } = before.value;
      const copy = { ...study, name: `${study.name} copy`.slice(0, 200) };
      return savedStudy(context, { study: copy, baseFolder, example: false });
    },
    'studies.spmv': async ({ lengths }) => {
      const study = await spmvStudy(context, lengths);
      return study.ok ? savedStudy(context, { study: study.value, baseFolder: null, example: false }) : study;
    },
    'studies.new': async ({ device, ...about }) => {
      const found = await namedDevice(context.catalogue, device);
      const devices = found.ok ? await context.catalogue.devices([found.value]) : found;
      return devices.ok ? ok(newStudy({ ...about, devices: devices.value })) : devices;
    },
    'studies.delete': ({ id }) => changing(context, 'studies', store.deleteStudy(id)),
    'studies.restore': async ({ id }) => {
      const done = await changing(context, 'studies', store.restoreStudy(id));
      return done.ok ? ok(null) : done;
    },
    'workload.resolve': async ({ studyId, workload }) => {
      const located = studyId === undefined ? ok(null) : await getStudy(store, studyId);
      if (!located.ok) return located;
      const folder = located.value?.baseFolder ?? null;
      const law = await resolveLengths(context, workload.lengths, folder, workload.truncation);
      if (!law.ok) return law;
      const { order, note } = law.value;
      return ok(resolved(law.value.law, order?.given ? order.iterations : null, note));
    },
    'workload.csv': async ({ studyId, workload }) => {
      const located = await getStudy(store, studyId);
      if (!located.ok) return located;
      const found = await resolveLengths(context, workload.lengths, located.value.baseFolder, workload.truncation);
      return found.ok ? ok({ csv: await lengthsCsv(found.value) }) : found;
    },
    'workload.inspect': ({ fileName: name, bytes, ...asked }) =>
      context.pool.run('tableOfFile', { bytes, name, asked }),
    'workload.upload': (input) => upload(context, input),
  };
}

async function saveEdited(
  context: Context,
  { id, study, known, folder }: ProcedureArguments<'studies.save'>,
): Promise<Result<StudyRecord>> {
  const before = id === undefined ? ok(null) : await getStudy(context.store, id);
  if (!before.ok) return before;
  const { baseFolder = null, example = false, study: stored } = before.value ?? {};
  // Edits that are valid one by one may contradict each other. The later one is then saved alone.
  const merged = known && stored ? validate(studySchema, mergeEdits(known, study, stored), 'study') : ok(study);
  const located = { study: merged.ok ? merged.value : study, baseFolder: folder ?? baseFolder, example };
  return savedStudy(context, located, id);
}

async function withRuns({ store }: Context, stored: StoredStudy): Promise<Result<StudyRecord>> {
  const page = await store.listRuns({ studyId: stored.id, limit: 1000 });
  return studyRecord(stored, page.ok ? page.value.rows : []);
}

export async function savedStudy(context: Context, located: LocatedStudy, id?: number): Promise<Result<StudyRecord>> {
  const stored = await saveStudy(context.store, located, id);
  if (!stored.ok) return stored;
  context.changed('studies');
  return withRuns(context, stored.value);
}

async function upload(
  { store, pool }: Context,
  { fileName, bytes, columns }: ProcedureArguments<'workload.upload'>,
): Promise<Result<ProcedureOutput<'workload.upload'>>> {
  const name =
    columns && !/^\d+$/.test(columns.length) ? `${fileName}#${formatColumns(withoutSyntax(columns))}` : fileName;
  const read = await pool.run('lengthFile', { bytes, name, columns });
  if (!read.ok) return read;
  const { law, lengths, units, matrixColumns, note } = read.value;
  // Other columns of a file make another workload, so the columns are part of the hash.
  const hash = columns ? sha256(`${read.value.sha256}#${formatColumns(columns)}`) : read.value.sha256;
  const order = lengths ? { order: await packLengths(makeGivenLengths(lengths)) } : {};
  const provenance = {
    fileName,
    bytes: bytes.byteLength,
    ...(columns && { columns }),
    ...(matrixColumns !== undefined && { matrixColumns }),
    ...(note && { note }),
    ...order,
  };
  const kept = await store.saveWorkload({ hash, law, provenance });
  if (!kept.ok) return kept;
  return ok({
    lengths: `stored:${hash}:${name}`,
    workload: resolved(law, lengths, note),
    units,
    ...(note && { note }),
  });
}

function withoutSyntax({ header: _header, delimiter: _delimiter, ...columns }: CsvColumns): CsvColumns {
  return columns;
}

function resolved(law: LengthLaw, lengths: Float64Array | null, note?: string): ResolvedWorkload {
  const { label, truncatedMass, support, probability, fitted } = law;
  const order = lengths && orderOf(lengths);
  return {
    label,
    moments: moments(law),
    truncatedMass,
    support,
    probability,
    ...(fitted && { fitted }),
    ...(note && { note }),
    order,
  };
}

/** The largest number of lengths for which the order is previewed. More lengths would delay other requests. */
const MAX_PREVIEWED_LENGTHS = 2 ** 20;
const STRIP_STRETCHES = 120;
const ORDER_GROUP_SIZES = [1, 2, 4, 8, 16, 32, 64];

function orderOf(lengths: Float64Array): WorkloadOrder | null {
  const units = lengths.length;
  if (units > MAX_PREVIEWED_LENGTHS) return null;
  const sorted = lengths.slice().sort();
  const stretches = Math.min(units, STRIP_STRETCHES);
  return {
    strip: Float64Array.from({ length: stretches }, (_, i) => {
      const stretch = lengths.subarray(Math.floor((i * units) / stretches), Math.floor(((i + 1) * units) / stretches));
      return stretch.reduce((sum, length) => sum + length, 0) / stretch.length;
    }),
    losses: ORDER_GROUP_SIZES.map((n) => ({
      n,
      ...computeLossInOrder(lengths, units, n),
      sortedLoss: computeLossInOrder(sorted, units, n).aggregateLoss,
    })),
  };
}
