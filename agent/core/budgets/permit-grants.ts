// The owner's side of the budgets that addresses have (`politeness.ipDelayMs`). An address is a name
// on the ring like a host; its owner grants one permit at a time, and the next no sooner than the
// delay after the end of the last. A grant is short and renewed while it is used, and never longer
// than this agent's own lease: whoever takes the address over finds none of them alive (adr/0030).
// Nothing is stored. `address-permits.ts` is the asking side, on this agent or another.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { View } from '../membership/view.ts';
import type { AgentId, Incarnation, Message } from '../protocol/messages.ts';
import { type CoreSettings, resendAfterMs } from '../protocol/settings.ts';

export type PermitAsk = Extract<Message, { type: 'SLOT_ASK' }>;
export type PermitGrant = Extract<Message, { type: 'SLOT_GRANT' }>;
export type PermitEnd = Extract<Message, { type: 'SLOT_END' }>;

export interface Asker {
  readonly id: AgentId;
  readonly inc: Incarnation;
}

export interface PermitGrantsParts {
  readonly settings: Pick<CoreSettings, 'heartbeatMs' | 'ipDelayMs'>;
  readonly view: View;
  /** How long nobody else can take over what has this name; 0: a lease is missing. */
  readonly leaseLeftMs: (name: string, now: Instant) => number;
  /** Joined, and no list is owed to this agent. */
  readonly isSettledIn: () => boolean;
  /** Whether an asker is this agent, or in its view. */
  readonly isHere: (asker: Asker) => boolean;
  readonly answer: (asker: Asker, grant: PermitGrant, now: Instant) => void;
}

/** Who asks for a permit, by its latest word. */
interface Waiting extends Asker {
  readonly slot: number;
  readonly ask: number;
}

/** One address: who has its permit, and who waits for it in the order they came. */
interface Line {
  holder: (Waiting & { readonly until: number }) | null;
  freeAt: number;
  /** Filled by asks, one an agent, emptied by grants and ends: bounded by the members. */
  readonly waiting: Map<AgentId, Waiting>;
}

/**
 * Of a lease only so much is given on: an asker's clock may be slower than this one's by a quarter,
 * and takes a moment to abort.
 */
const LEASE_SHARE = 0.7;
/** How much longer than it was granted a permit counts as used, for the same reasons. */
const OVERTIME = 1.5;

/** A first grant that is a smaller part of a whole one would be over before it is used. */
const LEAST = 1 / 8;

/** The name under which an address lies on the ring; no host is called so. */
export function addressName(address: string): string {
  return `ip:${address}`;
}

/** How long a permit is granted for: four renewals may go astray. */
function grantMs(settings: Pick<CoreSettings, 'heartbeatMs'>): number {
  return 4 * resendAfterMs(settings);
}

export class PermitGrants {
  readonly #p: PermitGrantsParts;
  readonly #lines = new Map<string, Line>();
  /** No address that is not among the lines is granted before. */
  #quietUntil = 0;
  #nextAt = Infinity;

  constructor(parts: PermitGrantsParts) {
    this.#p = parts;
  }

  /** Another incarnation: what the last one granted may still be used. */
  reset(now: Instant): void {
    for (const line of this.#lines.values()) this.#forgetLine(line);
    this.#lines.clear();
    this.#nextAt = Infinity;
    this.quiet(now.mono + this.#p.settings.ipDelayMs);
  }

  /** Addresses that come to this agent rest until then. */
  quiet(untilMs: number): void {
    this.#quietUntil = Math.max(this.#quietUntil, untilMs);
  }

  /** Another agent has said how long permits may be in use that this one does not know of. */
  restAll(untilMs: number): void {
    this.quiet(untilMs);
    for (const line of this.#lines.values()) line.freeAt = Math.max(line.freeAt, untilMs);
  }

  /** How long permits granted here may rest or be in use at most. */
  busyMs(now: Instant): number {
    let until = this.#quietUntil;
    for (const line of this.#lines.values()) until = Math.max(until, this.#restUntil(line));
    return Math.max(0, until - now.mono);
  }

  /** Lines of addresses that are another's now are dropped, and what was granted remembered. */
  viewChanged(): void {
    for (const [address, line] of this.#lines) {
      if (this.#p.view.owns(addressName(address))) continue;
      this.#forgetLine(line);
      this.#lines.delete(address);
    }
  }

  /** For `status`: addresses in use or at rest, and how many have their permit given away. */
  counts(): { owned: number; granted: number } {
    let granted = 0;
    for (const { holder } of this.#lines.values()) if (holder) granted++;
    return { owned: this.#lines.size, granted };
  }

  #forgetLine(line: Line): void {
    this.quiet(this.#restUntil(line));
  }

  #restUntil({ holder, freeAt }: Line): number {
    return holder ? holder.until + this.#p.settings.ipDelayMs : freeAt;
  }

  onAsk(asker: Asker, { address, slot, ask }: Omit<PermitAsk, 'type'>, now: Instant): void {
    if (!this.#p.view.owns(addressName(address))) return;
    const line = this.#lineOf(address);
    const waiting: Waiting = { id: asker.id, inc: asker.inc, slot, ask };
    const { holder } = line;
    if (holder?.id === asker.id) {
      const older = slot < holder.slot && asker.inc === holder.inc;
      if (older) return;
      if (slot === holder.slot && asker.inc === holder.inc) {
        return this.#grant(address, line, waiting, 1, now);
      }
      // It asks for the next: the word that the last one ended was lost.
      this.#release(line, now.mono);
    }
    line.waiting.set(asker.id, waiting);
    this.#serve(address, line, now);
  }

  onEnd(asker: Asker, { address, slot, agoMs }: Omit<PermitEnd, 'type'>, now: Instant): void {
    const line = this.#lines.get(address);
    if (!line) return;
    const isIts = (waiting: Waiting | null | undefined) =>
      waiting?.id === asker.id && waiting.inc === asker.inc && waiting.slot === slot;
    if (isIts(line.waiting.get(asker.id))) line.waiting.delete(asker.id);
    if (!isIts(line.holder)) return;
    this.#release(line, now.mono - agoMs);
    this.#serve(address, line, now);
  }

  /** Grants what has come free. */
  pump(now: Instant): void {
    if (now.mono < this.#nextAt) return;
    this.#nextAt = Infinity;
    for (const [address, line] of this.#lines) {
      this.#serve(address, line, now);
      const idle = line.waiting.size === 0 && line.holder === null;
      if (idle && line.freeAt <= now.mono) this.#lines.delete(address);
    }
  }

  nextAtMs(): number {
    return this.#nextAt;
  }

  #lineOf(address: string): Line {
    const known = this.#lines.get(address);
    if (known) return known;
    const line: Line = { holder: null, freeAt: this.#quietUntil, waiting: new Map() };
    this.#lines.set(address, line);
    return line;
  }

  #release(line: Line, endedAt: number): void {
    line.holder = null;
    line.freeAt = Math.max(line.freeAt, endedAt + this.#p.settings.ipDelayMs);
  }

  #serve(address: string, line: Line, now: Instant): void {
    if (line.holder && line.holder.until <= now.mono) this.#release(line, line.holder.until);
    if (line.holder) return this.#lookAgain(line.holder.until);
    if (line.freeAt > now.mono) return this.#lookAgain(line.freeAt);
    const leastMs = grantMs(this.#p.settings) * LEAST;
    for (const waiting of line.waiting.values()) {
      if (this.#p.isHere(waiting)) return this.#grant(address, line, waiting, leastMs, now);
      line.waiting.delete(waiting.id);
    }
  }

  /** Grants or renews, if it can be for so long at least. */
  #grant(address: string, line: Line, waiting: Waiting, leastMs: number, now: Instant): void {
    const { settings, leaseLeftMs, isSettledIn, answer } = this.#p;
    const retryMs = resendAfterMs(settings) / 2;
    const leaseMs = LEASE_SHARE * leaseLeftMs(addressName(address), now);
    const forMs = Math.floor(Math.min(grantMs(settings), leaseMs));
    if (!isSettledIn() || forMs < leastMs) return this.#lookAgain(now.mono + retryMs);
    const until = Math.max(line.holder?.until ?? 0, now.mono + forMs * OVERTIME);
    line.holder = { ...waiting, until };
    line.waiting.delete(waiting.id);
    this.#lookAgain(until);
    const { slot, ask } = waiting;
    answer(waiting, { type: 'SLOT_GRANT', address, slot, ask, forMs }, now);
  }

  #lookAgain(at: number): void {
    this.#nextAt = Math.min(this.#nextAt, at);
  }
}
