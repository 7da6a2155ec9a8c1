// Grants address permits to all agents (`politeness.ipDelayMs`, adr/0030). Each address is a name on
// the ring. Its owner grants one permit at a time, and the next at least one delay after the end of
// the last. Grants are short and are renewed while in use. None outlasts this agent's lease, so none
// is valid when another agent takes the address over. Nothing is stored.

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

interface PermitGrantsParts {
  readonly settings: Pick<CoreSettings, 'heartbeatMs' | 'ipDelayMs'>;
  readonly view: View;
  /** Milliseconds for which no other agent can take the name over; 0: a lease is missing. */
  readonly leaseLeftMs: (name: string, now: Instant) => number;
  /** This agent has joined, and no list is owed to it. */
  readonly isSettledIn: () => boolean;
  /** Whether agents may take this one for an owner by mistake, because their views are partial. */
  readonly refuses: boolean;
  /** Whether this incarnation of the asker is this agent, or known to it. */
  readonly isHere: (asker: Asker) => boolean;
  readonly answer: (asker: Asker, grant: PermitGrant, now: Instant) => void;
}

/** The latest ask of an agent. */
interface Waiting extends Asker {
  readonly slot: number;
  readonly ask: number;
}

/** One address: the holder of its permit, and the agents that wait, in order of arrival. */
interface Line {
  holder: (Waiting & { readonly until: number }) | null;
  freeAt: number;
  /** Filled by asks, one per agent, emptied by grants and ends. Bounded by the known agents. */
  readonly waiting: Map<AgentId, Waiting>;
}

/**
 * The share of this agent's lease that a grant may last: the clock of the asker may be slower by a
 * quarter, and an abort takes a moment.
 */
const LEASE_SHARE = 0.7;
/** A permit counts as used for this multiple of its grant, for the same reasons. */
const OVERTIME = 1.5;

/** The least share of a full grant that a first grant has: a shorter one would expire unused. */
const LEAST = 1 / 8;

/** The name of an address on the ring; no host has such a name. */
export function addressName(address: string): string {
  return `ip:${address}`;
}

/** The length of a full grant: several renewals may be lost. */
function grantMs(settings: Pick<CoreSettings, 'heartbeatMs'>): number {
  return 4 * resendAfterMs(settings);
}

export class PermitGrants {
  readonly #p: PermitGrantsParts;
  readonly #lines = new Map<string, Line>();
  /** Until then, addresses without a line are not granted. */
  #quietUntil = 0;
  #nextAt = Infinity;

  constructor(parts: PermitGrantsParts) {
    this.#p = parts;
  }

  /** A new incarnation begins; grants of the previous one may still be in use. */
  reset(now: Instant): void {
    for (const line of this.#lines.values()) this.#forgetLine(line);
    this.#lines.clear();
    this.#nextAt = Infinity;
    this.quiet(now.mono + this.#p.settings.ipDelayMs);
  }

  /** Grants no address that is new to this agent before then. */
  quiet(untilMs: number): void {
    this.#quietUntil = Math.max(this.#quietUntil, untilMs);
  }

  /** Grants no address at all before then: another agent reported permits unknown here. */
  restAll(untilMs: number): void {
    this.quiet(untilMs);
    for (const line of this.#lines.values()) line.freeAt = Math.max(line.freeAt, untilMs);
  }

  /** Milliseconds until all permits granted here, and the cooldowns after them, have ended. */
  busyMs(now: Instant): number {
    let until = this.#quietUntil;
    for (const line of this.#lines.values()) until = Math.max(until, this.#cooldownUntil(line));
    return Math.max(0, until - now.mono);
  }

  /** Drops the lines of addresses that others own now, but remembers when their grants end. */
  viewChanged(): void {
    for (const [address, line] of this.#lines) {
      if (this.#p.view.owns(addressName(address))) continue;
      this.#forgetLine(line);
      this.#lines.delete(address);
    }
  }

  /** For `status`: addresses in use or cooldown, and those with a permit granted. */
  counts(): { owned: number; granted: number } {
    let granted = 0;
    for (const { holder } of this.#lines.values()) if (holder) granted++;
    return { owned: this.#lines.size, granted };
  }

  #forgetLine(line: Line): void {
    this.quiet(this.#cooldownUntil(line));
  }

  #cooldownUntil({ holder, freeAt }: Line): number {
    return holder ? holder.until + this.#p.settings.ipDelayMs : freeAt;
  }

  onAsk(asker: Asker, { address, slot, ask }: Omit<PermitAsk, 'type'>, now: Instant): void {
    if (!this.#p.view.owns(addressName(address))) {
      const refusal = { type: 'SLOT_GRANT', address, slot, ask, forMs: 0 } as const;
      if (this.#p.refuses) this.#p.answer(asker, refusal, now);
      return;
    }
    const line = this.#lineOf(address);
    const waiting: Waiting = { id: asker.id, inc: asker.inc, slot, ask };
    const { holder } = line;
    if (holder?.id === asker.id) {
      const older = slot < holder.slot && asker.inc === holder.inc;
      if (older) return;
      if (slot === holder.slot && asker.inc === holder.inc) {
        return this.#grant(address, line, waiting, 1, now);
      }
      // It asks for the next permit, so its SLOT_END for the last one was lost.
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

  /** Grants free addresses to waiting agents, and drops lines without use. */
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
    if (line.holder) return this.#serveAt(line.holder.until);
    if (line.freeAt > now.mono) return this.#serveAt(line.freeAt);
    const leastMs = grantMs(this.#p.settings) * LEAST;
    for (const waiting of line.waiting.values()) {
      if (this.#p.isHere(waiting)) return this.#grant(address, line, waiting, leastMs, now);
      line.waiting.delete(waiting.id);
    }
  }

  /** Grants or renews a permit if it can last for at least `leastMs`. */
  #grant(address: string, line: Line, waiting: Waiting, leastMs: number, now: Instant): void {
    const { settings, leaseLeftMs, isSettledIn, answer } = this.#p;
    const retryMs = resendAfterMs(settings) / 2;
    const leaseMs = LEASE_SHARE * leaseLeftMs(addressName(address), now);
    const forMs = Math.floor(Math.min(grantMs(settings), leaseMs));
    if (!isSettledIn() || forMs < leastMs) return this.#serveAt(now.mono + retryMs);
    const until = Math.max(line.holder?.until ?? 0, now.mono + forMs * OVERTIME);
    line.holder = { ...waiting, until };
    line.waiting.delete(waiting.id);
    this.#serveAt(until);
    const { slot, ask } = waiting;
    answer(waiting, { type: 'SLOT_GRANT', address, slot, ask, forMs }, now);
  }

  #serveAt(at: number): void {
    this.#nextAt = Math.min(this.#nextAt, at);
  }
}
