// Lines of a stream, as `ubiring check` reads its standard input: one at a time, so that a reader
// who stops reading answers also stops the input, and none longer than a bound, so that a file
// without line ends cannot fill the memory.

/** A line without its end; null where it was longer than the bound and was thrown away. */
export type Line = Buffer | null;

const LINE_FEED = 0x0a;

/** @param bytesMax - of one line */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<Line> {
  /** The line at hand, in the pieces it came in; bound: `bytesMax`. */
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  let tooLong = false;
  const add = (piece: Uint8Array) => {
    bytes += piece.length;
    tooLong ||= bytes > bytesMax;
    if (tooLong) pieces = [];
    else pieces.push(piece);
  };
  const take = (): Line => {
    const line = tooLong ? null : Buffer.concat(pieces);
    [pieces, bytes, tooLong] = [[], 0, false];
    return line;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      add(chunk.subarray(start, end));
      start = end + 1;
      yield take();
    }
    if (start < chunk.length) add(chunk.subarray(start));
  }
  if (bytes > 0) yield take();
}
