import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dataText } from '../data.ts';
import { bufferOf, runWgsl } from './wgsl.ts';

// `node trace-webgpu-child.ts traced|untraced UNITS ROOM` is a user's WebGPU program whose shader begins with
// lockstep.wgsl. It prints the counts of its kernel.

const [how, unitsText, roomText] = process.argv.slice(2) as [string, string, string];
const [units, room] = [Number(unitsText), Number(roomText)];
const twin = readFileSync(join(import.meta.dirname, '../../db/kernels/lockstep.wgsl'), 'utf8');
/** These lines in a comment of lockstep.wgsl replace the file if nothing is traced. */
const EMPTY = /^\/\/ {3}(fn .*\{\})$/gm;
const tracer = how === 'traced' ? twin : [...twin.matchAll(EMPTY)].map(([, line]) => line).join('\n');

const head = new Uint32Array(8 + 4 * room);
head.set([0x5254534c, 1, room]);
const [steps, trace] = [bufferOf(new Uint32Array(units)), bufferOf(head)];
const groups = { 0: [steps], ...(how === 'traced' && { 3: [trace] }) };
const code = `${tracer}\n${dataText('webgpu/collatz.wgsl')}`;
const [counted, traced] = await runWgsl(code, [{ groups, workgroups: 2 }], [steps, trace]);
process.stdout.write(`${JSON.stringify([...counted])}\n`);
if (how === 'traced') writeFileSync(process.env.LOCKSTEP_TRACE_FILE!, traced);
process.exit(0);
