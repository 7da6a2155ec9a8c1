// The send queues of one peer: a control lane, which always goes first, and a bulk lane. Both are
// limited, so a peer that is down takes a fixed amount of memory. The protocol resends messages that
// are dropped here.

import type { MessageType } from '../core/protocol/messages.ts';
import { BULK_BYTES_MAX, CONTROL_BYTES_MAX, CONTROL_FRAMES_MAX } from './checks/limits.ts';

/** `bulk`: LIST, URLS and ROWS; `control`: heartbeats, acknowledgements and the like. */
export type Lane = 'control' | 'bulk';

/** A newer message of these types replaces one that waits, because only the newest matters. */
const NEWEST_ONLY: ReadonlySet<MessageType> = new Set<MessageType>([
  'HELLO',
  'PROBE',
  'WELCOME',
  'REFUSED',
  'HEARTBEAT',
  'LEAVE',
  'COMPLETE',
]);

/** Filled by `offer`, emptied by `next`: control before bulk, each lane oldest first. */
export class Lanes {
  /** Keyed by type if only the newest matters, else by a consecutive number. In send order. */
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

  /** Whether a bulk frame of any size would be dropped; saves encoding it. */
  get bulkFull(): boolean {
    return this.#bulkBytes >= BULK_BYTES_MAX;
  }

  /**
   * Adds a frame. A full control lane drops its oldest frames, those keyed by a number first. A full
   * bulk lane drops the new frame, but an empty one accepts a frame of any size.
   *
   * @returns number of dropped frames; a replaced frame does not count
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
    // The newer frame keeps the place of the older one, so repeated replacement cannot delay it.
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
    const numbered = this.#control.keys().find((key) => typeof key === 'number');
    const oldest = numbered ?? this.#control.keys().next().value;
    if (oldest !== undefined) this.#takeControl(oldest);
  }

  #takeControl(key: MessageType | number): Uint8Array | undefined {
    const frame = this.#control.get(key);
    this.#control.delete(key);
    this.#controlBytes -= frame?.length ?? 0;
    return frame;
  }

  /** Removes and returns the frame to send next. */
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
