// The heartbeats of this agent: its state, and the news of the other members (PROTOCOL rule 1). The
// echo of a member's own counter in them grants its lease.

import type { FailureDetector } from '../../../failure-detector/detector.ts';
import type { Instant } from '../../../failure-detector/instant.ts';
import type { Lease } from '../../../failure-detector/lease.ts';
import type { Directives } from '../protocol/directives.ts';
import type { AgentId, Incarnation, Message, News } from '../protocol/messages.ts';
import { type CoreSettings, unheardMs } from '../protocol/settings.ts';
import type { Greetings } from './greetings.ts';
import type { Outbound } from './outbound.ts';
import type { Overlay } from './overlay.ts';
import type { Tombstones } from './tombstones.ts';
import type { Member, View } from './view.ts';

type Heartbeat = Extract<Message, { type: 'HEARTBEAT' }>;

interface HeartbeatParts {
  readonly settings: CoreSettings;
  readonly view: View;
  readonly outbound: Outbound;
  readonly overlay: Overlay;
  readonly detector: FailureDetector;
  readonly lease: Lease;
  readonly directives: Pick<Directives, 'hash'>;
  readonly changes: { isHandingOver(member: Member): boolean };
}

/** What the membership decides and heartbeats tell. */
interface Told {
  readonly greetings: Greetings;
  readonly tombstones: Tombstones;
  readonly suspects: ReadonlyMap<AgentId, Incarnation>;
  readonly lost: ReadonlyMap<AgentId, Incarnation>;
}

export class Heartbeats {
  readonly #p: HeartbeatParts;
  readonly #told: Told;
  #counter = 0;
  /** The index in the news at which the next heartbeat begins. */
  #newsFrom = 0;

  constructor(parts: HeartbeatParts, told: Told) {
    this.#p = parts;
    this.#told = told;
  }

  reset(): void {
    this.#counter = 0;
  }

  /** Sends one heartbeat to all known agents, so that removed agents learn of their removal. */
  beat(
    state: Pick<Heartbeat, 'idle' | 'idleSince' | 'viewHash' | 'gen' | 'pages'>,
    now: Instant,
  ): void {
    const { capacity, address, fingerprintHash } = this.#p.settings;
    const gone = [...this.#told.tombstones.entries()].map(({ id, inc }) => ({ id, inc }));
    for (const m of this.#p.view.members()) {
      if (m.unechoed) gone.push({ id: m.card.id, inc: Math.max(m.card.inc, m.tombstoneInc) });
    }
    const all = this.#news(now);
    const news = this.#p.overlay.isPartial ? all : this.#newsInTurn(all);
    const beat: Heartbeat = {
      type: 'HEARTBEAT',
      counter: this.#counter,
      joined: this.#p.view.joined,
      capacity,
      address,
      fingerprintHash,
      news,
      ...(news.length < all.length && { more: true }),
      gone,
      suspects: this.#votes(now),
      orders: this.#p.directives.hash(),
      ...state,
    };
    this.#p.lease.sent(this.#counter, now);
    const omitted = new Map(beat.more ? all.map((one) => [one.id, one]) : []);
    for (const { id } of news) omitted.delete(id);
    for (const [id, known] of this.#told.greetings.addresses()) {
      const member = this.#p.view.get(id);
      // Each member gets its own echo every time: leases and the choice of relays depend on it.
      const echo = omitted.get(id);
      const message = echo ? { ...beat, news: [echo, ...news] } : beat;
      if (member) this.#p.outbound.toMember(member, this.#concerning(member, message));
      else if (!this.#p.overlay.isPartial || this.#told.lost.has(id))
        this.#p.outbound.toAddress({ id, address: known }, message);
    }
  }

  /** The heartbeat as its receiver needs it. */
  #concerning(member: Member, beat: Heartbeat): Heartbeat {
    const { overlay } = this.#p;
    if (!overlay.isPartial) return beat;
    const about = overlay.about(member);
    const needs = about.needs === true || this.#p.changes.isHandingOver(member);
    return { ...beat, ...about, needs, news: this.#newsFor(member, beat.news) };
  }

  /** The news of a WELCOME, this agent included; undefined: of all members. */
  newsFor(member: Member | undefined, now: Instant): News[] {
    return [this.#newsOfMyself(), ...this.#newsFor(member, this.#news(now))];
  }

  #newsFor(member: Member | undefined, news: readonly News[]): readonly News[] {
    const { overlay } = this.#p;
    if (!overlay.isPartial || !member) return news;
    const concerned = overlay.concerned(member);
    if (!concerned) return news;
    return news.filter(({ id }) => id === member.card.id || concerned.has(id));
  }

  /** The news of one heartbeat: continues where the last heartbeat ended. */
  #newsInTurn(all: readonly News[]): readonly News[] {
    const max = this.#p.settings.bounds.news;
    if (all.length <= max) return all;
    const from = this.#newsFrom % all.length;
    this.#newsFrom = from + max;
    return [...all, ...all].slice(from, from + max);
  }

  /**
   * The suspects of this agent, and its tombstones older than `suspectAfterMs`. This agent has not
   * echoed those incarnations since, so they count as votes, which it still has after a rebirth.
   */
  #votes(now: Instant): { id: AgentId; inc: Incarnation }[] {
    if (this.#p.settings.quorum !== 'majority') return [];
    const votes = new Map(this.#told.suspects);
    for (const { id, inc, since } of this.#told.tombstones.entries()) {
      if (this.#p.view.has(id) || now.mono - since < this.#p.settings.suspectAfterMs) continue;
      votes.set(id, Math.max(inc, votes.get(id) ?? 0));
    }
    return [...votes].map(([id, inc]) => ({ id, inc }));
  }

  nextCounter(): number {
    return ++this.#counter;
  }

  #newsOfMyself(): News {
    const { id, capacity, address } = this.#p.settings;
    const { inc } = this.#p.outbound;
    const counter = this.#counter;
    return { id, inc, capacity, address, counter, joined: this.#p.view.joined, direct: true };
  }

  #news(now: Instant): News[] {
    const news: News[] = [];
    for (const m of this.#p.view.members()) {
      if (m.unechoed) continue;
      const counter = this.#p.detector.counter(m.card.id) ?? 0;
      const direct = now.mono - m.directAt < unheardMs(this.#p.settings);
      news.push({ ...m.card, counter, joined: m.joined, direct });
    }
    return news;
  }
}
