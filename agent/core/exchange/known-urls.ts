// Announces to all members, as hashes, the URLs that this agent has acknowledged, so that others that
// find such a URL do not send it (adr/0037). An announcement gives the same promise as an
// acknowledgement (PROTOCOL rule 12). Nothing waits for these messages, and none is resent: if one
// is lost, its URLs are sent as usual. Received hashes enter the filter of repeated URLs.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Outbound } from '../membership/outbound.ts';
import type { Member, View } from '../membership/view.ts';
import type { Message } from '../protocol/messages.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { SeenFilter } from './seen-filter.ts';

/** Bytes of a hash in a message: two little-endian 32-bit words, the low word first. */
const HASH_BYTES = 8;
/** URLs per member that an announcement waits for, so that one message announces eight URLs. */
const URLS_PER_MESSAGE = 8;

type Known = Extract<Message, { type: 'KNOWN' }>;

export class KnownUrls {
  readonly #settings: CoreSettings;
  readonly #view: View;
  readonly #outbound: Outbound;
  readonly #seen: SeenFilter;
  /** Hashes to announce, in the form of the message. Bounded by `bounds.knownUrls`. */
  readonly #pending: Buffer;
  #pendingBytes = 0;
  #announcedAt = -Infinity;

  constructor(settings: CoreSettings, view: View, outbound: Outbound, seen: SeenFilter) {
    this.#settings = settings;
    this.#view = view;
    this.#outbound = outbound;
    this.#seen = seen;
    this.#pending = Buffer.alloc(settings.bounds.knownUrls * HASH_BYTES);
  }

  /** Discards hashes that were valid for the previous view or incarnation only. */
  reset(): void {
    this.#pendingBytes = 0;
  }

  /** Notes a URL of this agent that was acknowledged at depth 0 (a link from another host). */
  acknowledged(url: string): void {
    // When the buffer is full, URLs are not announced, and their finders send them.
    if (!this.#pays || this.#pendingBytes === this.#pending.length) return;
    const { low, high } = this.#seen.hashOf(url);
    this.#pending.writeUInt32LE(low, this.#pendingBytes);
    this.#pending.writeUInt32LE(high, this.#pendingBytes + HASH_BYTES / 2);
    this.#pendingBytes += HASH_BYTES;
  }

  /** In a large cluster, announcing a URL costs more messages than it saves. */
  get #pays(): boolean {
    const { knownMembers } = this.#settings.bounds;
    return this.#view.size > 1 && this.#view.size <= knownMembers;
  }

  /** Announces the gathered hashes once there are enough, at most once a heartbeat interval. */
  pump(now: Instant): void {
    const enough = this.#view.size * URLS_PER_MESSAGE * HASH_BYTES;
    if (this.#pendingBytes < Math.min(enough, this.#pending.length)) return;
    if (now.mono - this.#announcedAt < this.#settings.heartbeatMs) return;
    this.#announcedAt = now.mono;
    const urls = this.#pending.toString('base64', 0, this.#pendingBytes);
    this.#pendingBytes = 0;
    const message: Known = { type: 'KNOWN', key: this.#settings.seenKey, urls };
    // As with acknowledgements, the commit must be on disk first.
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
