import * as v from 'valibot';
import { isObject } from '../../src-workers/domain/json.ts';
import { meantName } from '../../src-workers/domain/nearest.ts';
import { ok, type Result, badInput } from '../../src-workers/domain/result.ts';
import { shortened } from '../../src-workers/domain/text.ts';
import { parseJson } from './json.ts';
import { kernelSchema, pipelineSchema, studySchema, type Study } from './study.ts';

const STUDY_FORM = 'a study: an object with "lockstep", "name", "workload", "kernel", "devices" and "axes"';
const MAX_STUDY_CHARACTERS = 4_000_000;

function fieldPath(issue: v.BaseIssue<unknown>): string {
  return (issue.path ?? []).reduce((path, item) => {
    const key = item.key;
    if (typeof key === 'number') return `${path}[${key}]`;
    return path ? `${path}.${String(key)}` : String(key);
  }, '');
}

const MAX_SHOWN = 80;

function shown(value: unknown): string {
  return shortened(jsonStart(value, MAX_SHOWN + 1), MAX_SHOWN);
}

/** Returns the first `most` characters of a value as JSON. The value may be nested too deeply to be written in full. */
function jsonStart(value: unknown, most: number): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, most));
  if (typeof value !== 'object' || value === null) return String(value);
  const list = Array.isArray(value);
  const parts = list ? (value as readonly unknown[]) : Object.keys(value);
  let text = '';
  for (const part of parts) {
    if (text.length >= most) break;
    const before = text === '' ? '' : ',';
    const [name, item] = list
      ? ['', part]
      : [`${JSON.stringify(part)}:`, (value as Record<string, unknown>)[String(part)]];
    text += before + name + jsonStart(item, most - text.length - before.length - name.length - 1);
  }
  return list ? `[${text}]` : `{${text}}`;
}

type Issue = v.BaseIssue<unknown>;

/** Finds the issue to report, with its path. A union reports the option that has the value's kind (list or object). */
function meant(issue: Issue): Issue {
  if (issue.type !== 'union') return issue;
  const kind = Array.isArray(issue.input) ? 'array' : 'object';
  const inner = issue.issues?.find((candidate) => candidate.path?.[0]?.type === kind);
  if (!inner) return issue;
  const path = [...(issue.path ?? []), ...(inner.path ?? [])];
  return meant({ ...inner, path: path as unknown as NonNullable<Issue['path']> });
}

interface SchemaParts {
  readonly wrapped?: SchemaParts;
  readonly pipe?: readonly SchemaParts[];
  readonly entries?: Readonly<Record<string, SchemaParts>>;
  readonly item?: SchemaParts;
  readonly value?: SchemaParts;
  readonly options?: readonly SchemaParts[];
}

function bare(schema: SchemaParts | undefined): SchemaParts | undefined {
  const last = schema?.pipe?.at(-1);
  const inner = schema?.wrapped ?? (last?.entries ? last : undefined);
  return inner ? bare(inner) : schema;
}

/** Returns the schema at a path. In a union, this is the schema of the option that can have fields or items. */
function schemaAt(schema: unknown, path: readonly { readonly key: unknown }[]): SchemaParts | undefined {
  let at = schema as SchemaParts | undefined;
  for (const { key } of path) {
    at = bare(at);
    const holder: SchemaParts | undefined =
      at?.options?.find((option) => (typeof key === 'number' ? option.item : option.entries)) ?? at;
    at = holder?.entries ? holder.entries[String(key)] : (holder?.item ?? holder?.value);
  }
  return bare(at);
}

/** A field of a kernel with one of these words is probably meant to hold the measured cycles of an iteration. */
const MEASURED_CYCLES = /cycles|latency/i;
const PIPELINE_FORM = '"pipeline": {"DEVICE ID": {"latencyCycles": …, "issueCycles": …, "kneeSoftness": …}}';

function unknownField(schema: unknown, issue: Issue): string {
  const path: readonly { readonly key: unknown }[] = issue.path ?? [];
  const owner = schemaAt(schema, path.slice(0, -1));
  const wrong = String(path.at(-1)?.key ?? '');
  if (
    (owner?.entries as unknown) === kernelSchema.entries &&
    (MEASURED_CYCLES.test(wrong) || Object.hasOwn(pipelineSchema.entries, wrong))
  )
    return `${fieldPath(issue)} is not a known field; measured cycles belong in "pipeline", by device: ${PIPELINE_FORM}`;
  const meant = meantName(wrong, Object.keys(owner?.entries ?? {}));
  return `${fieldPath(issue)} is not a known field${meant === null ? '' : `; did you mean "${meant}"?`}`;
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  Array: 'a list',
  Object: 'an object',
};

/** Rewrites Valibot's `("a" | "b")` as `must be "a" or "b"`, and a longer union as `must be one of "a", "b", "c"`. */
function requirement(issue: Issue): string {
  if (issue.message.startsWith('must ')) return issue.message;
  const bound = /^([<>])=(\S+)$/.exec(issue.expected ?? '');
  if (bound) return `must be at ${bound[1] === '<' ? 'most' : 'least'} ${bound[2]}`;
  const options = (issue.expected ?? issue.message)
    .replace(/^\((.*)\)$/, '$1')
    .split(' | ')
    .map((option) => TYPE_WORDS[option] ?? option);
  return `must be ${options.length > 2 ? `one of ${options.join(', ')}` : options.join(' or ')}`;
}

function describe(schema: unknown, issue: Issue): string {
  if (issue.type === 'strict_object' && issue.expected === 'never') return unknownField(schema, issue);
  const path = fieldPath(issue) || 'the value';
  if (issue.input !== undefined) return `${path} ${requirement(issue)}, not ${shown(issue.input)}`;
  // If a field is missing, its own schema describes the expected value, but the schema of the object does not.
  const field = issue.type === 'strict_object' && issue.path ? schemaAt(schema, issue.path) : undefined;
  const inner = field ? v.safeParse(field as unknown as v.GenericSchema, undefined).issues?.[0] : undefined;
  const missing = inner && inner.type !== issue.type ? inner : issue;
  return missing === issue && issue.expected?.startsWith('"')
    ? `${path} is missing`
    : `${path} is missing: it ${requirement(missing)}`;
}

/** A failure names up to three wrong fields, each with the expected and actual value, and has the path of the first. */
export function validate<Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
  what: string,
): Result<v.InferOutput<Schema>> {
  const outcome = v.safeParse(schema, value, { abortPipeEarly: true });
  if (outcome.success) return ok(outcome.output);
  const issues = outcome.issues.map(meant);
  const shownIssues = issues.slice(0, 3).map((issue) => describe(schema, issue));
  const more = issues.length > 3 ? ` (and ${issues.length - 3} more)` : '';
  const field = fieldPath(issues[0]);
  const text = `${what}: ${shownIssues.join('; ')}${more}`;
  return badInput(text.endsWith('?') ? text : `${text}.`, { field });
}

export function parseStudy(text: string, fileName = 'study'): Result<Study> {
  if (text.length > MAX_STUDY_CHARACTERS)
    return badInput(`${fileName} has ${text.length} characters, but the limit is ${MAX_STUDY_CHARACTERS}.`);
  const json = parseJson(text, fileName);
  if (!json.ok) return json;
  if (!isObject(json.value))
    return badInput(`${fileName} must hold ${STUDY_FORM}, not ${shown(json.value)}.`, { field: '' });
  return validate(studySchema, json.value, fileName);
}
