// What waits to be sent to one peer: a control lane that always goes first, and a bulk lane. The
// transport fills it, the pump of `peer-link.ts` empties it. Both lanes are bounded, so a peer that
// is down costs a fixed amount of memory; whatever is dropped here the protocol sends again. Pure.

import type { MessageType } from '../core/protocol/messages.ts';
import { BULK_BYTES_MAX, CONTROL_BYTES_MAX, CONTROL_FRAMES_MAX } from './limits.ts';

/** Heartbeats, acknowledgements and the like; or LIST, URLS and ROWS. */
export type Lane = 'control' | 'bulk';

/** Only the newest of these says anything, so a newer one takes the place of one that waits. */
const NEWEST_ONLY: ReadonlySet<MessageType> = new Set<MessageType>([
  'HELLO',
  'PROBE',
  'WELCOME',
  'REFUSED',
  'HEARTBEAT',
  'LEAVE',
  'COMPLETE',
]);

/** Two bounded queues of frames for one peer. Empties control before bulk, each oldest first. */
export class Lanes {
  /** By type where only the newest counts, else by a running number; in order of arrival. */
  readonly #control = new Map<MessageType | number, Uint8Array>();
  readonly #bulk = new Map<number, Uint8Array>();
  #next = 0;
  #controlBytes = 0;
  #bulkBytes = 0;

  get controlFrames(): number {
    return this.#control.size;
  }

  get bulkFrames(): number {
    return this.#bulk.size;
  }

  get bulkBytes(): number {
    return this.#bulkBytes;
  }

  get controlBytes(): number {
    return this.#controlBytes;
  }

  /** Whether no further bulk would be taken, whatever its size: saves the encoding of it. */
  get bulkFull(): boolean {
    return this.#bulkBytes >= BULK_BYTES_MAX;
  }

  /**
   * Adds a frame. Control beyond its bound pushes out the oldest that has no newer one; bulk beyond
   * its bound is not taken, except that a single frame always fits into an empty lane.
   *
   * @returns how many frames were lost by it, this one included; a replaced frame is not lost
   */
  offer(lane: Lane, type: MessageType, frame: Uint8Array): number {
    if (lane === 'control') return this.#offerControl(type, frame);
    const fits = this.#bulk.size === 0 || this.#bulkBytes + frame.length <= BULK_BYTES_MAX;
    if (!fits) return 1;
    this.#bulk.set(this.#next, frame);
    this.#next += 1;
    this.#bulkBytes += frame.length;
    return 0;
  }

  #offerControl(type: MessageType, frame: Uint8Array): number {
    const key = NEWEST_ONLY.has(type) ? type : this.#next;
    this.#next += 1;
    // A newer heartbeat keeps the place of the older: replacing must not move it back for ever.
    this.#controlBytes += frame.length - (this.#control.get(key)?.length ?? 0);
    this.#control.set(key, frame);
    let lost = 0;
    while (this.#control.size > CONTROL_FRAMES_MAX || this.#controlBytes > CONTROL_BYTES_MAX) {
      this.#dropOldestControl();
      lost += 1;
    }
    return lost;
  }

  #dropOldestControl(): void {
    let oldest: MessageType | number | undefined;
    for (const key of this.#control.keys()) {
      oldest ??= key;
      if (typeof key !== 'number') continue;
      oldest = key;
      break;
    }
    if (oldest !== undefined) this.#takeControl(oldest);
  }

  #takeControl(key: MessageType | number): Uint8Array | undefined {
    const frame = this.#control.get(key);
    this.#control.delete(key);
    this.#controlBytes -= frame?.length ?? 0;
    return frame;
  }

  /** Takes the frame to send next. */
  next(): Uint8Array | undefined {
    for (const key of this.#control.keys()) return this.#takeControl(key);
    for (const [key, frame] of this.#bulk) {
      this.#bulk.delete(key);
      this.#bulkBytes -= frame.length;
      return frame;
    }
    return undefined;
  }
}
