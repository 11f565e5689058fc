import * as v from 'valibot';
import { ok, type Result } from '../../../src-workers/domain/result.ts';
import { validate } from '../../contract/parse.ts';
import type { CodeExporter, Exporter } from './exporter.ts';
import { choice } from './formats/choice.ts';
import { csv } from './formats/csv.ts';
import { cub } from './formats/cub.ts';
import { cudaKernel } from './formats/cuda-kernel.ts';
import { cuda } from './formats/cuda.ts';
import { html } from './formats/html.ts';
import { json } from './formats/json.ts';
import { kernelTuner } from './formats/kernel-tuner.ts';
import { kokkos } from './formats/kokkos.ts';
import { markdown } from './formats/markdown.ts';
import { optuna } from './formats/optuna.ts';
import { pdf } from './formats/pdf.ts';
import { python } from './formats/python.ts';
import { sycl } from './formats/sycl.ts';
import { t4 } from './formats/t4.ts';
import { trace } from './formats/trace.ts';
import { triton } from './formats/triton.ts';
import { wgslKernel } from './formats/wgsl-kernel.ts';
import { wgsl } from './formats/wgsl.ts';

/** The interface lists the formats of a kind in this order. */
export const EXPORTERS: readonly Exporter[] = [
  html,
  pdf,
  markdown,
  trace,
  csv,
  json,
  t4,
  cuda,
  cudaKernel,
  wgsl,
  wgslKernel,
  python,
  kokkos,
  sycl,
  cub,
  choice,
  triton,
  kernelTuner,
  optuna,
];

export const exporterOf = (format: string): Result<Exporter> => named(EXPORTERS, format, 'export.render');

export const codeExporterOf = (format: string): Result<CodeExporter> =>
  named(
    EXPORTERS.filter((each): each is CodeExporter => each.code !== undefined && !each.code.narrow),
    format,
    'advice.code',
  );

function named<Each extends Exporter>(exporters: readonly Each[], format: string, call: string): Result<Each> {
  const known = v.object({ format: v.picklist(exporters.map(({ id }) => id)) });
  const checked = validate(known, { format }, call);
  return checked.ok ? ok(exporters.find(({ id }) => id === format)!) : checked;
}
