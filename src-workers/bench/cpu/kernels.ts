import {
  assemble,
  block,
  branch,
  branchIf,
  F64,
  f64,
  f64x2,
  I32,
  i32,
  local,
  loop,
  V128,
  v128,
  type AssembledFunction,
  type Bytes,
} from './assembler.ts';

export const UNROLLED_BYTES = 64;
const VECTORS = [0, 16, 32, 48];

const advance = (index: number, bytes: number): Bytes => [
  ...local(index).get,
  ...i32.constant(bytes),
  ...i32.add,
  ...local(index).set,
];

/** STREAM's triad over f64: a[i] = b[i] + s·c[i]. Each array has `bytes`, a multiple of 64. */
function triad(): AssembledFunction {
  const [a, b, c, bytes, s, scale, end] = [0, 1, 2, 3, 4, 5, 6].map(local);
  return {
    name: 'triad',
    parameters: [I32, I32, I32, I32, F64],
    result: null,
    locals: [V128, I32],
    body: [
      ...[s.get, f64x2.splat, scale.set],
      ...[a.get, bytes.get, i32.add, end.set],
      loop(
        ...VECTORS.flatMap((at) => [
          ...[a.get, b.get, v128.load(at)],
          ...[scale.get, c.get, v128.load(at), f64x2.multiply, f64x2.add, v128.store(at)],
        ]),
        ...[advance(0, UNROLLED_BYTES), advance(1, UNROLLED_BYTES), advance(2, UNROLLED_BYTES)],
        ...[a.get, end.get, i32.subtract, branchIf(0)],
      ),
    ],
  };
}

/** Computes Σ row[j]·x[j]; `bytes` is a multiple of 8. Four sums shorten the chain of additions. */
function dot(): AssembledFunction {
  const [row, x, bytes, bulk] = [0, 1, 2, 3].map(local);
  const sums = [4, 5, 6, 7].map(local);
  const sum = local(8);
  const left = local(9);
  return {
    name: 'dot',
    parameters: [I32, I32, I32],
    result: F64,
    locals: [I32, V128, V128, V128, V128, F64, I32],
    body: [
      ...[bytes.get, i32.constant(-UNROLLED_BYTES), i32.and, bulk.set],
      ...[bytes.get, bulk.get, i32.subtract, left.set],
      block(
        loop(
          ...[bulk.get, i32.constant(1), i32.lessUnsigned, branchIf(1)],
          ...VECTORS.flatMap((at, k) => [
            ...[sums[k].get, row.get, v128.load(at), x.get, v128.load(at), f64x2.multiply, f64x2.add, sums[k].set],
          ]),
          ...[advance(0, UNROLLED_BYTES), advance(1, UNROLLED_BYTES), advance(3, -UNROLLED_BYTES)],
          branch(0),
        ),
      ),
      ...[sums[0].get, sums[1].get, f64x2.add, sums[2].get, f64x2.add, sums[3].get, f64x2.add, sums[0].set],
      ...[sums[0].get, f64x2.extractLane(0), sums[0].get, f64x2.extractLane(1), f64.add, sum.set],
      block(
        loop(
          ...[left.get, i32.constant(1), i32.lessUnsigned, branchIf(1)],
          ...[sum.get, row.get, f64.load(0), x.get, f64.load(0), f64.multiply, f64.add, sum.set],
          ...[advance(0, 8), advance(1, 8), advance(9, -8)],
          branch(0),
        ),
      ),
      sum.get,
    ],
  };
}

export const STREAMED_ROWS = 4;

/**
 * Multiplies the start of neighbouring rows of a packed lower triangle by a vector, side by side, because one stream of
 * reads does not use the full bandwidth of a core. The first row has `bytes`, and each further row 8 more.
 */
function dotRows(): AssembledFunction {
  const [first, x, y, bytes] = [0, 1, 2, 3].map(local);
  const rows = Array.from({ length: STREAMED_ROWS }, (_, k) => ({ at: 4 + k, row: local(4 + k), sum: local(8 + k) }));
  const [xk, end] = [local(12), local(13)];
  return {
    name: 'dotRows',
    parameters: [I32, I32, I32, I32],
    result: null,
    locals: [I32, I32, I32, I32, V128, V128, V128, V128, V128, I32],
    body: [
      ...rows.flatMap(({ row }, k) => [
        ...(k === 0 ? [first.get] : [rows[k - 1].row.get, bytes.get, i32.add, i32.constant(8 * (k - 1)), i32.add]),
        row.set,
      ]),
      ...[x.get, bytes.get, i32.constant(-UNROLLED_BYTES), i32.and, i32.add, end.set],
      block(
        loop(
          ...[end.get, x.get, i32.subtract, i32.constant(1), i32.lessUnsigned, branchIf(1)],
          ...VECTORS.flatMap((at) => [
            ...[x.get, v128.load(at), xk.set],
            ...rows.flatMap(({ row, sum }) => [
              ...[sum.get, row.get, v128.load(at), xk.get, f64x2.multiply, f64x2.add, sum.set],
            ]),
          ]),
          ...[...rows.map(({ at }) => advance(at, UNROLLED_BYTES)), advance(1, UNROLLED_BYTES)],
          branch(0),
        ),
      ),
      ...rows.flatMap(({ sum }, k) => [
        ...[y.get, sum.get, f64x2.extractLane(0), sum.get, f64x2.extractLane(1), f64.add, f64.store(8 * k)],
      ]),
    ],
  };
}

export interface Kernels {
  readonly triad: (a: number, b: number, c: number, bytes: number, s: number) => void;
  readonly dot: (row: number, x: number, bytes: number) => number;
  readonly dotRows: (row: number, x: number, y: number, bytes: number) => void;
}

export function kernelBytes(): Uint8Array<ArrayBuffer> {
  return assemble([triad(), dot(), dotRows()]);
}
