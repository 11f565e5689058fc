const NEWLINE = 0x0a;

/**
 * Yields the lines of a stream of bytes as UTF-8 text, without line ends. A line longer than `maxBytes` becomes `null`;
 * its bytes are skipped in constant memory.
 * @param unended whether a last line without a newline counts. A killed program may have left it incomplete.
 */
export async function* linesOf(
  stream: AsyncIterable<unknown>,
  maxBytes: number,
  unended: boolean,
): AsyncGenerator<string | null> {
  let parts: Buffer[] = [];
  let held = 0;
  let tooLong = false;
  for await (const bytes of stream) {
    const chunk = bytes as Buffer;
    let from = 0;
    for (let to = chunk.indexOf(NEWLINE); to >= 0; to = chunk.indexOf(NEWLINE, from)) {
      if (!tooLong) yield Buffer.concat([...parts, chunk.subarray(from, to)]).toString('utf8');
      [parts, held, tooLong] = [[], 0, false];
      from = to + 1;
    }
    if (tooLong) continue;
    parts.push(chunk.subarray(from));
    held += chunk.length - from;
    if (held <= maxBytes) continue;
    [parts, tooLong] = [[], true];
    yield null;
  }
  if (unended && held > 0 && !tooLong) yield Buffer.concat(parts).toString('utf8');
}
