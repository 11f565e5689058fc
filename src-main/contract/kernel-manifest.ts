import * as v from 'valibot';
import { ARITHMETIC_FUNCTIONS, parseArithmetic } from '../../src-workers/domain/arithmetic.ts';
import { isObject } from '../../src-workers/domain/json.ts';
import {
  elementType,
  LAUNCH_NAMES,
  LAUNCH_VALUES,
  LENGTHS_FILE_NAME,
  ORDER_FILE_NAME,
  TYPE_FORM,
  type KernelManifest,
  type ManifestNumber,
} from '../../src-workers/domain/kernel-manifest.ts';
import { type Result, badInput } from '../../src-workers/domain/result.ts';
import { LOCAL_PATH } from '../../src-workers/domain/text.ts';
import { parseJson } from './json.ts';
import { validate } from './parse.ts';
import { described, description, list, loopForms, MAX_AXIS_VALUES, nonNegative, optional, text } from './study.ts';

/** db/kernel.schema.json is generated from this module (npm run schema). */
const MAX_ARGUMENTS = 32;
const MAX_ENTRIES = 64;

const NAMES = LAUNCH_NAMES.map((name) => `"{${name}}"`).join(', ');
const NUMBER_FORM = `A number, or arithmetic with numbers, + - * / % ( ), ${ARITHMETIC_FUNCTIONS.join(', ')} and ${NAMES}, such as "4 * {blockThreads}"`;
const NAMES_FORM = Object.entries(LAUNCH_VALUES)
  .map(([name, what]) => `"{${name}}": ${what}`)
  .join('; ');
const arithmetic = (names: readonly string[]) =>
  v.pipe(
    v.custom<ManifestNumber>(
      (value) => Number.isFinite(value) || typeof value === 'string',
      `must be a number, or arithmetic in text with ${names.map((name) => `{${name}}`).join(', ')}`,
    ),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed || typeof dataset.value === 'number') return;
      const read = parseArithmetic(dataset.value, names);
      if (!read.ok) addIssue({ message: `must be a number or arithmetic such as "4 * {${names.at(-1)}}", and ${read.error.message}` }); // prettier-ignore
    }),
  );
const manifestNumber = arithmetic(LAUNCH_NAMES);
const numberFor = (what: string) => v.pipe(manifestNumber, v.description(`${what}. ${NUMBER_FORM}`));

const IDENTIFIER = 'must be a name of letters, digits and _ that does not begin with a digit';
const identifier = v.pipe(v.string(IDENTIFIER), v.maxLength(200, IDENTIFIER), v.regex(/^[A-Za-z_]\w*$/, IDENTIFIER));
const ENTRY =
  'must be the name of a function of the sources; in CUDA, the name includes its namespaces and template arguments (solver::spmv<float, 4>)';
const entryName = v.pipe(
  v.string(ENTRY),
  v.maxLength(400, ENTRY),
  v.regex(/^[A-Za-z_]\w*(::[A-Za-z_]\w*)*(<[\w:, ]+>)?$/, ENTRY),
);
const LOCAL = 'must be the path of a file on this machine, preferably in the folder of the manifest';
const path = v.pipe(text(4096), v.regex(LOCAL_PATH, LOCAL));
const SOURCE = 'must be the path of a .cu, a .hip, a .cl or a .wgsl file';
const source = v.pipe(
  v.string(SOURCE),
  v.maxLength(4096, SOURCE),
  v.regex(/\.(cu|hip|cl|wgsl)$/, SOURCE),
  v.regex(LOCAL_PATH, LOCAL),
);
const POWER = 'must be a power of two';
const threadsPerUnit = v.pipe(
  v.number(POWER),
  v.integer(POWER),
  v.minValue(1, POWER),
  v.check((value) => Number.isInteger(Math.log2(value)), POWER),
);
const threads = v.pipe(
  v.number('must be a whole number ≥ 1'),
  v.integer('must be a whole number ≥ 1'),
  v.minValue(1, 'must be a whole number ≥ 1'),
);

const FILE_FORM =
  'the path of a file of raw little-endian elements, relative to the folder of the manifest; or MATRIX.mtx#rowStarts, MATRIX.mtx#columns or MATRIX.mtx#values, a CSR array of a Matrix Market file';

const TYPE = `must be ${TYPE_FORM}`;
const plainType = (type: string): string => {
  const found = elementType(type);
  return found && !found.isStruct ? found.value : '';
};

const outputSchema = v.strictObject(
  {
    count: v.pipe(
      arithmetic(['units']),
      v.check(
        (value) => typeof value === 'string' || (Number.isSafeInteger(value) && value >= 1),
        'must be a whole number ≥ 1, or arithmetic with {units}',
      ),
      v.description('Number of elements: a number, or arithmetic with the units, such as "{units} + 1"'),
    ),
    file: optional(path, `The content before each launch (default: zeros): ${FILE_FORM}`),
    reference: optional(path, `The correct result: ${FILE_FORM}`),
    absolute: optional(
      nonNegative,
      'An element is correct if it differs from the reference by at most absolute + relative × |reference|',
      0,
    ),
    relative: optional(nonNegative, 'See absolute', 0),
  },
  'must be an object with "count" and "reference"',
);

const argumentSchema = v.pipe(
  v.strictObject(
    {
      name: described(identifier, 'The name of the argument in messages'),
      type: v.pipe(
        v.string(TYPE),
        v.maxLength(60, TYPE),
        v.check((value) => elementType(value) !== null, TYPE),
        v.description(`Type of its elements: ${TYPE_FORM}. WGSL has u32, i32 and f32`),
      ),
      file: optional(
        path,
        `File of an input: ${FILE_FORM}; or "${LENGTHS_FILE_NAME}": the length of each unit; or "${ORDER_FILE_NAME}": the units in the order in which the design takes them`,
      ),
      value: v.optional(
        v.union(
          [
            numberFor('Value of a scalar'),
            v.strictObject({
              file: described(path, 'Path of a file with the bytes of a struct, relative to the manifest'),
            }),
          ],
          'must be a number or arithmetic; for a struct, it must be {"file": …}',
        ),
      ),
      output: optional(outputSchema, 'An array that the kernel writes'),
    },
    'must be an object with "name", "type" and one of "file", "value" and "output"',
  ),
  v.check(
    (argument) => [argument.file, argument.value, argument.output].filter((one) => one !== undefined).length === 1,
    'must have one of "file" (an input), "value" (a scalar) and "output"',
  ),
  v.check(
    ({ type, value }) => value === undefined || (elementType(type)?.isStruct ?? false) === (typeof value === 'object'),
    'must have a number as "value"; for a struct (TYPE[n]), "value" must be {"file": "…"} with its bytes',
  ),
  v.check(
    ({ file, type }) =>
      (file !== LENGTHS_FILE_NAME && file !== ORDER_FILE_NAME) || ['u32', 'i32'].includes(plainType(type)),
    `must have the type u32 or i32 if its file is "${LENGTHS_FILE_NAME}" or "${ORDER_FILE_NAME}"`,
  ),
);

const entrySchema = v.strictObject(
  {
    entry: described(entryName, 'The function: __global__ in CUDA, __kernel in OpenCL, @compute in WGSL'),
    implementation: optional(text(200), 'The implementation of the study that this function provides (default: all)'),
    constants: optional(
      v.record(identifier, manifestNumber, 'must be an object that gives each name a number'),
      `Numbers by name: #defines in CUDA, HIP and OpenCL, override constants in WGSL. ${NUMBER_FORM}`,
      {},
    ),
    sharedBytes: v.optional(
      numberFor(
        'Dynamic shared memory of a block, bytes. In CUDA and HIP it is extern __shared__; in OpenCL it is the last parameter, a __local pointer. WGSL does not use it, because override constants give the sizes of its arrays',
      ),
    ),
    axes: optional(
      v.strictObject({
        threadsPerUnit: optional(list(threadsPerUnit, 64, 'numbers'), 'Threads per unit (default: 1)', [1]),
        loop: optional(loopForms, 'Loops (default: nested)', ['nested']),
        balancing: optional(
          list(text(128), 64, 'strategies'),
          'Balancings, written as in a study (default: none); mixed(*) means mixed with any classes',
          ['none'],
        ),
        blockThreads: optional(list(threads, MAX_AXIS_VALUES, 'numbers'), 'Threads per block (default: any)'),
      }),
      'The values of the axes that the function implements; it must accept any number of blocks and of units per thread',
      { threadsPerUnit: [1], loop: ['nested'], balancing: ['none'] },
    ),
  },
  'must be an object with "entry" and "axes"',
);

export const kernelManifestSchema = v.pipe(
  v.strictObject({
    $schema: optional(v.string('must be text'), 'The address of this schema, for editors'),
    lockstepKernel: described(
      v.literal(1, 'must be 1, the version of the manifest format that this Lockstep reads'),
      'Version of the manifest format',
    ),
    name: described(text(200), 'Name of the kernel'),
    description: description('A description of the kernel'),
    sources: described(
      list(source, 4, 'sources'),
      'Paths of the source files of the kernel, relative to the folder of the manifest: CUDA (.cu), HIP (.hip; without one, the .cu is compiled), OpenCL (.cl) or WGSL (.wgsl), one or several',
    ),
    arguments: described(
      list(argumentSchema, MAX_ARGUMENTS, 'arguments'),
      `The arguments of every function, in the order of its parameters (CUDA, OpenCL) or of its bindings (WGSL: @group(0) @binding(0), 1, …). In WGSL, inputs are var<storage, read>, scalars var<uniform>, and outputs var<storage, read_write>. A number may be ${NAMES_FORM}`,
    ),
    entries: described(
      list(entrySchema, MAX_ENTRIES, 'entries'),
      'The functions, and the designs that each implements; the first matching function measures a design',
    ),
  }),
  v.check(
    ({ arguments: all }) => all.some(({ output }) => output?.reference !== undefined),
    'must have an argument whose output has a "reference" for checking the result',
  ),
  v.check(
    ({ arguments: all }) => new Set(all.map(({ name }) => name)).size === all.length,
    'must have a different name for each argument',
  ),
);

export function parseKernelManifest(content: string, fileName: string): Result<KernelManifest> {
  const json = parseJson(content, fileName);
  if (!json.ok) return json;
  if (!isObject(json.value))
    return badInput(`${fileName} must hold the manifest of a kernel: an object with "lockstepKernel", "name", "sources", "arguments" and "entries".`, { field: '' }); // prettier-ignore
  return validate(kernelManifestSchema, json.value, fileName);
}
