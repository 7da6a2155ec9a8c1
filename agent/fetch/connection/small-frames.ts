/**
 * Joins the small DATA frames of one HTTP/2 response. Node makes an object and an event for each
 * frame, and holds the objects while the stream is paused: a window of frames of one byte would
 * take tens of megabytes. Behind this a body costs what its bytes cost. A connection that delivers
 * many small frames in a turn waits for another (`read-turns.ts`). `http2-call.ts` uses it for each
 * response.
 */

import type { Readable } from 'node:stream';
import type { ReadGate } from './read-turns.ts';

/** Larger frames pass at once; servers send 16 KiB where they have them. */
const SMALL_BYTES = 4096;
/** Small frames of a body that pass at once: an ordinary small page has a few. */
const PASSED_FRAMES_MAX = 16;
/** Frames joined in one turn before the connection waits for another: some milliseconds. */
const TURN_FRAMES_MAX = 1024;

/**
 * To be called before the first frame: Node hands each frame, and a null at the end, to `push` of
 * the stream.
 */
export function joinSmallFrames(stream: Readable, gate: Pick<ReadGate, 'awaitTurn'>): void {
  const push = stream.push.bind(stream);
  /** Filled by the frames of one turn, emptied in the next; bound: what one turn reads. */
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
    // False: the server gets no more window. The next read of the stream gives it.
    return !stream.isPaused();
  };
}
