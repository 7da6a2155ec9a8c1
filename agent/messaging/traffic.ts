// Counts sent messages by type, which shows what replication and link exchange cost apart from
// heartbeats. Frames that were replaced or dropped in a queue do not count. The counts outlive the
// links. With the overlay kademlia the operations of Tao and Xiang (2016) are counted in place of the
// types that implement them, so that users can compare the counts with the paper.

import type { MessageType } from '../core/protocol/messages.ts';

/** `bytes` is the size of the frames: compressed, with their headers, without those of TCP. */
export interface Sent {
  readonly messages: number;
  readonly bytes: number;
}

/** The operations of the paper; its PING and FIND_NODE are types of messages here, too. */
export const operations = [
  'STORE_TASK',
  'STORE_BACKUP',
  'DELETE_BACKUP',
  'REFRESH_TASK',
  'FIND_NODE',
  'PING',
] as const;

type Operation = (typeof operations)[number];

/** The messages that implement the operations (docs/OVERLAY.md). Answers keep their types. */
const implementing: Readonly<Partial<Record<MessageType, Operation>>> = {
  URLS: 'STORE_TASK',
  ROWS: 'STORE_BACKUP',
  YIELD_ACK: 'DELETE_BACKUP',
  LIST: 'REFRESH_TASK',
  YIELD: 'REFRESH_TASK',
};

/** Types that were never sent are absent. */
export type SentByType = Readonly<Partial<Record<MessageType | Operation, Sent>>>;

/** The counts of one agent since its start. */
export class Traffic {
  readonly #byOperation: boolean;
  readonly #sent = new Map<MessageType | Operation, { messages: number; bytes: number }>();

  /** @param byOperation - counts operations in place of the types that implement them */
  constructor(byOperation = false) {
    this.#byOperation = byOperation;
  }

  count(type: MessageType, bytes: number): void {
    const name = (this.#byOperation ? implementing[type] : undefined) ?? type;
    const sent = this.#sent.get(name);
    if (sent === undefined) {
      this.#sent.set(name, { messages: 1, bytes });
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
