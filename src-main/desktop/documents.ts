import { basename, dirname, extname, resolve } from 'node:path';
import type { OpenedFile } from '../contract/bridge.ts';
import { ok, type Result } from '../../src-workers/domain/result.ts';
import { readText } from '../services/files/files.ts';

const MAX_STUDY_BYTES = 4_000_000;

export async function readStudyFile(file: string): Promise<Result<OpenedFile>> {
  const text = await readText(file, 'a study file', MAX_STUDY_BYTES);
  return text.ok ? ok({ fileName: basename(file), folder: dirname(resolve(file)), text: text.value }) : text;
}

export function safeFileName(suggested: string): string {
  const name = basename(suggested.replaceAll('\\', '/'))
    // eslint-disable-next-line no-control-regex -- control characters are exactly what must go
    .replace(/[\u0000-\u001f<>:"/|?*]/g, '-')
    .replace(/^\.+/, '')
    .slice(0, 120);
  return name === '' ? 'lockstep.txt' : name;
}

export function studyArguments(argv: readonly string[]): readonly string[] {
  return argv.slice(1).filter((argument) => !argument.startsWith('-') && extname(argument).toLowerCase() === '.json');
}
