type Cell = string | number | null;

/** Digits with a sign, also with a decimal comma or an exponent: no spreadsheet computes anything from them. */
const NUMBER = /^\s*[+-]?[\d.,]+(?:e[+-]?\d+)?\s*$/i;

/** A text from someone else's file must not become a formula in a spreadsheet. */
export function csvCell(value: Cell, separator = ','): string {
  if (typeof value === 'number') return String(value);
  if (value === null) return '';
  const safe = /^\s*[=+\-@\t\r|%]/.test(value) && !NUMBER.test(value) ? `'${value}` : value;
  return /[",;\n\r]/.test(safe) || safe.includes(separator) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function tableText(rows: readonly (readonly Cell[])[], separator = ','): string {
  return rows.map((row) => row.map((cell) => csvCell(cell, separator)).join(separator)).join('\n');
}

/** Returns the separator of a header. Spreadsheets that write decimal commas separate fields by another character. */
export function separatorOf(head: string): string {
  const [header] = head.trimStart().split(/\r?\n/, 1);
  return [';', '\t'].find((one) => header.includes(one)) ?? ',';
}

export const withPoint = (number: string): string => number.replace(/^([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)$/, '$1.$2');
