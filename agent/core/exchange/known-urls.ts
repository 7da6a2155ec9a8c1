// What the owners of hosts tell all others of the URLs that they have (adr/0037): hashes, by which an
// agent that comes upon such a URL knows that it need not be sent any more. An owner tells what it
// acknowledges to one finder, under the same promise, so all that rule 12 of PROTOCOL says of an
// acknowledgement holds. Nothing waits for these messages and none is sent again: one that is lost
// costs the sending of the URLs that it would have spared. What is told enters the filter of repeats.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Outbound } from '../membership/outbound.ts';
import type { Member, View } from '../membership/view.ts';
import type { Message } from '../protocol/messages.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { SeenFilter } from './seen-filter.ts';

/** Of a hash in a message: two words, the low one first, the low byte of each first. */
const HASH_BYTES = 8;
/** A message to each member is sent for so many URLs for each: one for eight, however many there are. */
const URLS_PER_MESSAGE = 8;

type Known = Extract<Message, { type: 'KNOWN' }>;

export class KnownUrls {
  readonly #settings: CoreSettings;
  readonly #view: View;
  readonly #outbound: Outbound;
  readonly #seen: SeenFilter;
  /** Hashes to be told, as they go into the message. */
  readonly #pending: Buffer;
  #pendingBytes = 0;
  #toldAt = -Infinity;

  constructor(settings: CoreSettings, view: View, outbound: Outbound, seen: SeenFilter) {
    this.#settings = settings;
    this.#view = view;
    this.#outbound = outbound;
    this.#seen = seen;
    this.#pending = Buffer.alloc(settings.bounds.knownUrls * HASH_BYTES);
  }

  /** What was to be told was true of the view, or of the incarnation, as it was. */
  reset(): void {
    this.#pendingBytes = 0;
  }

  /** This URL of a host of this agent is acknowledged, and was found on another host: at depth 0. */
  acknowledged(url: string): void {
    // The rest of a rush is sent by those who come upon it.
    if (!this.#pays || this.#pendingBytes === this.#pending.length) return;
    const { low, high } = this.#seen.hashOf(url);
    this.#pending.writeUInt32LE(low, this.#pendingBytes);
    this.#pending.writeUInt32LE(high, this.#pendingBytes + HASH_BYTES / 2);
    this.#pendingBytes += HASH_BYTES;
  }

  /** Among many each URL is told to more agents than would ever come upon it. */
  get #pays(): boolean {
    const { knownMembers } = this.#settings.bounds;
    return this.#view.size > 1 && this.#view.size <= knownMembers;
  }

  /** Tells what has gathered once it is enough, and not more often than there are heartbeats. */
  pump(now: Instant): void {
    const enough = this.#view.size * URLS_PER_MESSAGE * HASH_BYTES;
    if (this.#pendingBytes < Math.min(enough, this.#pending.length)) return;
    if (now.mono - this.#toldAt < this.#settings.heartbeatMs) return;
    this.#toldAt = now.mono;
    const urls = this.#pending.toString('base64', 0, this.#pendingBytes);
    this.#pendingBytes = 0;
    const message: Known = { type: 'KNOWN', key: this.#settings.seenKey, urls };
    // Like the acknowledgements: after the commit that they speak of is on disk.
    for (const member of this.#view.members()) {
      this.#outbound.toMember(member, message, { durable: true });
    }
  }

  onKnown(from: Member, { key, urls }: Known): void {
    this.#seen.keyOf(from.card.id, key);
    const hashes = Buffer.from(urls, 'base64');
    for (let at = 0; at + HASH_BYTES <= hashes.length; at += HASH_BYTES) {
      this.#seen.told(hashes.readUInt32LE(at), hashes.readUInt32LE(at + HASH_BYTES / 2));
    }
  }
}
