import { basename } from 'node:path';
import type { Device } from '../../src-workers/domain/device.ts';
import { fail, ok, type Result } from '../../src-workers/domain/result.ts';
import { parseJson } from '../contract/json.ts';
import type { Engine } from '../services/engine.ts';
import { fileKind, readImportFile } from '../services/imports.ts';
import { readStudyFile, saveStudy } from '../services/studies.ts';
import { called } from './call.ts';
import { EXIT_OK, printJson, reportFailure, say, type Terminal } from './output.ts';

interface ImportOptions {
  readonly json?: boolean;
  readonly device?: string;
}

/**
 * Takes in a file by what it holds: measurements become a run, a study is saved beside its folder (so that it finds its files),
 * a device goes into the person's catalogue.
 */
export async function importCommand(
  engine: Engine,
  terminal: Terminal,
  file: string,
  options: ImportOptions,
): Promise<number> {
  const bytes = await readImportFile(file);
  if (!bytes.ok) return reportFailure(terminal, bytes.error);
  const { kind } = fileKind(bytes.value);
  if (kind === 'study' || kind === 'device') {
    const saved = await (kind === 'study' ? importStudy(engine, file) : importDevice(engine, file, bytes.value));
    if (!saved.ok) return reportFailure(terminal, saved.error);
    if (options.json) printJson(terminal, saved.value.json);
    else say(terminal, saved.value.text);
    return EXIT_OK;
  }
  const start = performance.now();
  const imported = await called(engine, 'import.file', {
    fileName: basename(file),
    bytes: bytes.value,
    ...(options.device === undefined ? {} : { deviceName: options.device }),
  });
  if (!imported.ok) return reportFailure(terminal, imported.error);
  if (options.json) {
    printJson(terminal, imported.value);
    return EXIT_OK;
  }
  const { runId, cases, failed, warnings } = imported.value;
  const seconds = ((performance.now() - start) / 1000).toFixed(2);
  const without = failed > 0 ? `, ${failed.toLocaleString('en')} of them failed` : '';
  say(terminal, `Run ${runId}: ${cases.toLocaleString('en')} cases${without}, imported in ${seconds} s.`);
  const run = await engine.context.store.getRun(runId);
  if (run.ok && run.value.best) {
    say(terminal, `Fastest: ${run.value.best.timeMs.toPrecision(4)} ms, ${run.value.best.design}`);
  }
  for (const warning of warnings) say(terminal, warning);
  return EXIT_OK;
}

interface Saved {
  readonly json: unknown;
  readonly text: string;
}

async function importStudy(engine: Engine, file: string): Promise<Result<Saved>> {
  const located = await readStudyFile(file);
  if (!located.ok) return located;
  const stored = await saveStudy(engine.context.store, located.value);
  if (!stored.ok) return stored;
  const { id, name } = stored.value;
  return ok({ json: { kind: 'study', studyId: id, name }, text: `Study ${id}: ${name}.` });
}

async function importDevice(engine: Engine, file: string, bytes: Uint8Array): Promise<Result<Saved>> {
  const saved = await saveDevice(engine, new TextDecoder().decode(bytes), file);
  if (!saved.ok) return saved;
  const { id, name } = saved.value;
  return ok({ json: { kind: 'device', deviceId: id, name }, text: `Device ${id}: ${name}.` });
}

/** Takes a device into the person's catalogue, from the text of its file. */
export async function saveDevice(engine: Engine, text: string, file: string): Promise<Result<Device>> {
  const json = parseJson(text, file);
  if (!json.ok) return json;
  const saved = await engine.context.catalogue.save(json.value);
  return saved.ok ? saved : fail(saved.error.code, `${file}: ${saved.error.message}`, saved.error.context);
}
