/**
 * Joins the small DATA frames of one HTTP/2 response. Node creates an object and an event for each
 * frame, and holds the objects while the stream is paused: a window of one-byte frames would take
 * tens of megabytes. With joined frames the cost of a body depends on its bytes. A connection that
 * delivers many small frames in one turn waits for another turn (`read-turns.ts`).
 */

import type { Readable } from 'node:stream';
import type { ReadGate } from './read-turns.ts';

/** Bytes. Larger frames are passed on at once; servers send 16 KiB if they have enough data. */
const SMALL_BYTES = 4096;
/** Small frames of a body that are passed on at once: an ordinary small page has a few. */
const PASSED_FRAMES_MAX = 16;
/** Frames joined in one turn before the connection waits for another: some milliseconds of work. */
const TURN_FRAMES_MAX = 1024;

/**
 * Call before the first frame. Node passes each frame, and null at the end, to `push` of the
 * stream.
 */
export function joinSmallFrames(stream: Readable, gate: Pick<ReadGate, 'awaitTurn'>): void {
  const push = stream.push.bind(stream);
  /** Filled by the frames of one turn, emptied in the next; limit: the frames read in one turn. */
  let joined: Uint8Array[] = [];
  let smallFrames = 0;
  let flushing: NodeJS.Immediate | null = null;
  const flush = () => {
    if (flushing !== null) clearImmediate(flushing);
    flushing = null;
    const frames = joined;
    joined = [];
    if (frames.length > 0 && !stream.destroyed) push(Buffer.concat(frames));
  };
  stream.push = (frame: Uint8Array | null): boolean => {
    const isSmall = frame !== null && frame.byteLength < SMALL_BYTES;
    const passes = !isSmall || ++smallFrames <= PASSED_FRAMES_MAX;
    if (passes) {
      if (joined.length > 0) flush();
      return push(frame);
    }
    joined.push(frame);
    if (joined.length >= TURN_FRAMES_MAX) gate.awaitTurn();
    flushing ??= setImmediate(flush);
    // False keeps the flow-control window closed until the next read of the stream.
    return !stream.isPaused();
  };
}
