// Splits a stream into lines. It reads a chunk only when the consumer asks for a line, so a slow reader
// of the answers also slows the input. Lines have a maximum length, so that input without newlines
// cannot fill the memory.

/** A line without its newline; null if it was longer than the limit and was discarded. */
export type Line = Buffer | null;

const LINE_FEED = 0x0a;

/** @param bytesMax - limit of one line */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<Line> {
  /** Received parts of the current line; at most `bytesMax` bytes. */
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
