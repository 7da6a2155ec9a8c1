// Counts sent messages by type, which shows what replication and link exchange cost apart from
// heartbeats. Frames that were replaced or dropped in a queue do not count. The counts outlive the
// links.

import type { MessageType } from '../core/protocol/messages.ts';

/** `bytes` is the size of the frames: compressed, with their headers, without those of TCP. */
export interface Sent {
  readonly messages: number;
  readonly bytes: number;
}

/** Types that were never sent are absent. */
export type SentByType = Readonly<Partial<Record<MessageType, Sent>>>;

/** The counts of one agent since its start. */
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
