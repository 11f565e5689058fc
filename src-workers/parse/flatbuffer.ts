/** Reads flatbuffers (https://flatbuffers.dev/internals). A read beyond the end throws a `RangeError`. */
export interface FlatTable {
  readonly view: DataView;
  readonly at: number;
}

export const tableAt = (view: DataView, at: number): FlatTable => ({ view, at: at + view.getUint32(at, true) });

/** Returns the position of a field, by its number; 0 if the field has its default value and was not written. */
function place({ view, at }: FlatTable, field: number): number {
  const fields = at - view.getInt32(at, true);
  const slot = 4 + 2 * field;
  const offset = slot < view.getUint16(fields, true) ? view.getUint16(fields + slot, true) : 0;
  return offset === 0 ? 0 : at + offset;
}

const reader =
  (read: (view: DataView, at: number) => number) =>
  (table: FlatTable, field: number): number => {
    const at = place(table, field);
    return at === 0 ? 0 : read(table.view, at);
  };
export const byteOf = reader((view, at) => view.getUint8(at));
export const shortOf = reader((view, at) => view.getInt16(at, true));
export const intOf = reader((view, at) => view.getInt32(at, true));
export const longOf = reader((view, at) => Number(view.getBigInt64(at, true)));

export function readTable(table: FlatTable, field: number): FlatTable | null {
  const at = place(table, field);
  return at === 0 ? null : tableAt(table.view, at);
}

function readVector(
  table: FlatTable,
  field: number,
  bytes: number,
): { readonly start: number; readonly count: number } {
  const at = place(table, field);
  if (at === 0) return { start: 0, count: 0 };
  const { view } = table;
  const before = at + view.getUint32(at, true);
  const [start, count] = [before + 4, view.getUint32(before, true)];
  if (start + count * bytes > view.byteLength) throw new RangeError(`a vector claims ${count} elements`);
  return { start, count };
}

export function listElements(table: FlatTable, field: number, bytes: number): readonly number[] {
  const { start, count } = readVector(table, field, bytes);
  return Array.from({ length: count }, (_, element) => start + element * bytes);
}

export function readText(table: FlatTable, field: number): string {
  const { start, count } = readVector(table, field, 1);
  return new TextDecoder().decode(new Uint8Array(table.view.buffer, table.view.byteOffset + start, count));
}
