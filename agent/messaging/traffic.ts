// What an agent has sent, counted by the type of message: what copies and links cost in messages
// and bytes, apart from heartbeats, cannot be seen in sums. Only frames that a socket took count,
// not those that were replaced or dropped while they waited. `transport.ts` has one for all its
// links, whose counts outlive a link; `status --json` and the benchmarks show it.

import type { MessageType } from '../core/protocol/messages.ts';

/** Messages sent, and the bytes of their frames: with the header, compressed, without TCP's own. */
export interface Sent {
  readonly messages: number;
  readonly bytes: number;
}

/** Only types that were sent at all. */
export type SentByType = Readonly<Partial<Record<MessageType, Sent>>>;

/** Counts of one agent since its start. */
export class Traffic {
  readonly #sent = new Map<MessageType, { messages: number; bytes: number }>();

  count(type: MessageType, bytes: number): void {
    const sent = this.#sent.get(type);
    if (sent === undefined) {
      this.#sent.set(type, { messages: 1, bytes });
      return;
    }
    sent.messages += 1;
    sent.bytes += bytes;
  }

  /** A copy of the counts. */
  byType(): SentByType {
    return Object.fromEntries(Array.from(this.#sent, ([type, sent]) => [type, { ...sent }]));
  }
}
