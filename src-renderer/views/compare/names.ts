const MAKER = /^(GeForce|Instinct|Tesla|Radeon|Quadro)\s+/;
const DETAIL = /\s+(\d+ GB|SXM\d?|PCIe)(?=\s|$)|,.*$| \(.*\)$/g;

/** Names short enough for the head of a narrow column; full ones where shortening would make two alike. */
export function shortNames(names: readonly string[]): readonly string[] {
  const short = names.map((name) => name.replace(DETAIL, '').replace(MAKER, ''));
  return short.map((name, at) =>
    short.indexOf(name) === short.lastIndexOf(name) ? name : names[at]!.replace(MAKER, ''),
  );
}

/** Names for table heads: without their maker and memory, where that leaves them different. */
export function headNames(names: readonly string[]): readonly string[] {
  const short = names.map((name) => name.replace(/\s+\d+ GB$/, '').replace(MAKER, ''));
  return short.map((name, at) =>
    short.indexOf(name) === short.lastIndexOf(name) ? name : names[at]!.replace(MAKER, ''),
  );
}
