import * as v from 'valibot';
import { fail, ok, type Result } from '../../src-workers/domain/result.ts';
import { parseJson } from './json.ts';
import { studySchema, type Study } from './study.ts';

const MAX_STUDY_CHARACTERS = 4_000_000;

/** `axes.blockThreads[3]` from a Valibot issue's path; `` at the root. */
function fieldPath(issue: v.BaseIssue<unknown>): string {
  return (issue.path ?? []).reduce((path, item) => {
    const key = item.key;
    if (typeof key === 'number') return `${path}[${key}]`;
    return path ? `${path}.${String(key)}` : String(key);
  }, '');
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
  return text === undefined ? 'nothing' : text.length > 80 ? `${text.slice(0, 77)}…` : text;
}

/** The most specific issue of a failed validation: inside a union, that of the branch which got furthest. */
function deepest(issue: v.BaseIssue<unknown>): v.BaseIssue<unknown> {
  let best = issue;
  for (const inner of issue.issues ?? []) {
    const candidate = deepest(inner as v.BaseIssue<unknown>);
    if ((candidate.path?.length ?? 0) > (best.path?.length ?? 0)) best = candidate;
  }
  return best;
}

function describe(issue: v.BaseIssue<unknown>): string {
  if (issue.kind === 'schema' && issue.type === 'strict_object' && issue.expected === 'never')
    return `${fieldPath(issue)}: unknown field`;
  const path = fieldPath(issue);
  const got = issue.input === undefined ? 'nothing' : shown(issue.input);
  const expectation = issue.message.startsWith('expected')
    ? issue.message
    : `expected ${(issue.expected ?? issue.message).replaceAll('"', "'").replaceAll(' | ', ' or ')}`;
  return `${path || 'value'}: got ${got}, ${expectation}`;
}

/**
 * Validates a value that crossed a boundary. On failure the message names the field, what was got and what was expected;
 * the context carries the path of the first wrong field.
 */
export function validate<Schema extends v.GenericSchema>(schema: Schema, value: unknown, what: string): Result<v.InferOutput<Schema>> {
  const outcome = v.safeParse(schema, value, { abortPipeEarly: true });
  if (outcome.success) return ok(outcome.output);
  const issues = outcome.issues.map((issue) => deepest(issue));
  const shownIssues = issues.slice(0, 3).map(describe);
  const more = issues.length > 3 ? ` (and ${issues.length - 3} more)` : '';
  const field = fieldPath(issues[0]!);
  return fail('bad-input', `${what}: ${shownIssues.join('; ')}${more}`, { field });
}

/** Reads a study file's text. */
export function parseStudy(text: string, fileName = 'study'): Result<Study> {
  if (text.length > MAX_STUDY_CHARACTERS)
    return fail('bad-input', `${fileName}: got ${text.length} characters, expected at most ${MAX_STUDY_CHARACTERS}`);
  const json = parseJson(text, fileName);
  return json.ok ? validate(studySchema, json.value, fileName) : json;
}
