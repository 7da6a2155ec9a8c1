// The asking side of the budgets that addresses have (`politeness.ipDelayMs`): a request starts only
// with a permit of the very address that it is to connect to, asked for last, when all else allows
// it. Of the hosts at one address only one asks at a time, with its thread; the others wait in line
// without one, so that a thousand hosts at one address do not keep the rest of the crawl waiting.
// The visits enter and leave; `permit-grants.ts`, on the address's owner, answers (adr/0030).

import { elapsedMs, type Instant } from '../../../failure-detector/instant.ts';
import type { View } from '../membership/view.ts';
import type { Effects } from '../protocol/effects.ts';
import type { AgentId, Host, Incarnation } from '../protocol/messages.ts';
import { type CoreSettings, resendAfterMs } from '../protocol/settings.ts';
import { addressName, type PermitAsk, type PermitEnd, type PermitGrant } from './permit-grants.ts';

/** Where a host's next request will go. */
export interface Destination {
  /** The server, in one form for every way there: its rest is counted under this. */
  readonly address: string;
  /** What the connection is made to. */
  readonly dial: string;
}

/**
 * `go`: the request may start, to this address; null where none is known. `wait`: the thread waits,
 * and is woken. `queued`: the host waits for others at its address, without a thread.
 */
export type Entry =
  | { readonly kind: 'go'; readonly address: string | null }
  | { readonly kind: 'wait' }
  | { readonly kind: 'queued' };

export interface AddressPermitsParts {
  readonly settings: Pick<CoreSettings, 'id' | 'heartbeatMs' | 'ipDelayMs'>;
  readonly view: View;
  readonly effects: Effects;
  /** This agent's incarnation. */
  readonly inc: () => Incarnation;
  /** To the owner of an address, this agent itself or another. */
  readonly tell: (owner: AgentId, message: PermitAsk | PermitEnd, now: Instant) => void;
  /** The visits look at the host again: with a thread, or to get one. */
  readonly recheck: (host: Host, now: Instant) => void;
  readonly wake: (host: Host) => void;
}

/** A permit asked for, granted or used. */
interface Permit {
  readonly kind: 'permit';
  readonly address: string;
  dial: string;
  /** When the name was last found to lead there. */
  resolvedAt: Instant;
  /** The name is being looked up again. */
  isResolving: boolean;
  readonly host: Host;
  readonly number: number;
  /** When the latest asks were sent, by their numbers: a grant counts from the one it answers. */
  readonly asks: Map<number, Instant>;
  owner: { readonly id: AgentId; readonly inc: Incarnation } | null;
  askedAt: number;
  granted: { readonly from: Instant; readonly forMs: number } | null;
  /** The request that uses it. */
  request: number | null;
}

type Place =
  | { readonly kind: 'resolving' }
  | { readonly kind: 'unresolved' }
  /** In line; `next`: first, without a thread; `checking`: first, and the name is looked up. */
  | { readonly kind: 'queued' | 'next' | 'checking'; readonly address: string }
  | Permit;

/** Asks of one permit remembered: those of a whole grant, and what a slow network adds. */
const ASKS_MAX = 16;
/** A name whose address was looked up longer ago is looked up again before it is dialled. */
const ADDRESS_AGE_MAX_MS = 10_000;

const WAIT: Entry = { kind: 'wait' };
const QUEUED: Entry = { kind: 'queued' };

export class AddressPermits {
  readonly #p: AddressPermitsParts;
  readonly #places = new Map<Host, Place>();
  /** By address the hosts of this agent that want it: the first asks, the others wait for it. */
  readonly #lines = new Map<string, Set<Host>>();
  /** Those among the places that are permits: no more than there are threads. */
  readonly #permits = new Map<number, Permit>();
  #lastPermit = 0;
  #lastAsk = 0;
  /** The end of the last request, for as long as its address rests. */
  #restUntil = 0;

  constructor(parts: AddressPermitsParts) {
    this.#p = parts;
  }

  /** The host is ready for its next request. */
  enter(host: Host, now: Instant): Entry {
    const place = this.#places.get(host);
    switch (place?.kind) {
      case undefined:
        this.#places.set(host, { kind: 'resolving' });
        this.#p.effects.push({ type: 'resolve', host, current: null });
        return WAIT;
      case 'unresolved':
        return { kind: 'go', address: null };
      case 'queued':
        return QUEUED;
      case 'next':
        // The address is as old as the wait in line: the name may lead elsewhere by now.
        this.#places.set(host, { kind: 'checking', address: place.address });
        this.#p.effects.push({ type: 'resolve', host, current: place.address });
        return WAIT;
      default:
        return this.#entryOf(host, now);
    }
  }

  #entryOf(host: Host, now: Instant): Entry {
    const place = this.#places.get(host);
    if (place?.kind !== 'permit' || !place.granted || place.isResolving) return WAIT;
    if (leftMs(place, now) <= 0) {
      // It came too late, or the thread did: the next one is another's turn at the owner.
      this.#renounce(place, now);
      this.#open(host, place, place.resolvedAt, now);
      return WAIT;
    }
    if (elapsedMs(place.resolvedAt, now) <= ADDRESS_AGE_MAX_MS) {
      return { kind: 'go', address: place.dial };
    }
    place.isResolving = true;
    this.#p.effects.push({ type: 'resolve', host, current: place.address });
    return WAIT;
  }

  /** Where the host's next request will go; null: it has no address that may be asked. */
  onResolved(host: Host, to: Destination | null, now: Instant): void {
    const place = this.#places.get(host);
    if (place?.kind === 'permit') {
      if (!place.isResolving) return;
      place.isResolving = false;
    } else if (place?.kind !== 'resolving' && place?.kind !== 'checking') return;
    if ('address' in place && place.address === to?.address) {
      this.#confirm(host, place, to, now);
    } else {
      this.leave(host, now);
      this.#join(host, to, now);
    }
    this.#p.recheck(host, now);
  }

  /** The name still leads to the address that the host stands in line for. */
  #confirm(
    host: Host,
    place: Extract<Place, { readonly address: string }>,
    to: Destination,
    now: Instant,
  ): void {
    if (place.kind === 'permit') {
      place.dial = to.dial;
      place.resolvedAt = now;
    } else this.#open(host, to, now, now);
  }

  #join(host: Host, to: Destination | null, now: Instant): void {
    if (to === null) {
      this.#places.set(host, { kind: 'unresolved' });
      return;
    }
    const { address } = to;
    const line = this.#lines.get(address);
    if (line) {
      line.add(host);
      this.#places.set(host, { kind: 'queued', address });
    } else {
      this.#lines.set(address, new Set([host]));
      this.#open(host, to, now, now);
    }
  }

  /** The request begins. */
  started(host: Host, request: number): void {
    const place = this.#places.get(host);
    if (place?.kind === 'permit') place.request = request;
    else if (place?.kind === 'unresolved') this.#places.delete(host);
  }

  /** The host makes no request after all, or not now. */
  leave(host: Host, now: Instant): void {
    const place = this.#places.get(host);
    if (!place || (place.kind === 'permit' && place.request !== null)) return;
    this.#places.delete(host);
    if (place.kind === 'permit') this.#renounce(place, now);
    if ('address' in place) this.#passOn(host, place.address);
  }

  /** The request is over, and with it the permit. */
  ended({ id, host }: { id: number; host: Host }, endedAt: number, now: Instant): void {
    const place = this.#places.get(host);
    if (place?.kind !== 'permit' || place.request !== id) return;
    this.#places.delete(host);
    this.#restUntil = Math.max(this.#restUntil, endedAt + this.#p.settings.ipDelayMs);
    this.#renounce(place, now, Math.max(0, now.mono - endedAt));
    this.#passOn(host, place.address);
  }

  /** Hosts that have become another's do not keep those behind them waiting. */
  keepOnly(owns: (host: Host) => boolean, now: Instant): void {
    for (const [host, { kind }] of this.#places) {
      if ((kind === 'queued' || kind === 'next') && !owns(host)) this.leave(host, now);
    }
  }

  onGrant(from: AgentId, grant: Omit<PermitGrant, 'type'>, now: Instant): void {
    const permit = this.#permits.get(grant.slot);
    const sentAt = permit?.asks.get(grant.ask);
    // Where another owns the address by now it has been told of what was known until then.
    if (!permit || !sentAt || permit.owner?.id !== from || this.#ownerOf(permit)?.id !== from)
      return;
    const { forMs } = grant;
    const first = permit.granted === null;
    if (forMs - elapsedMs(sentAt, now) > leftMs(permit, now))
      permit.granted = { from: sentAt, forMs };
    if (first && permit.granted) this.#p.recheck(permit.host, now);
  }

  /** Asks again for what was not granted, and on for what is used. */
  pump(now: Instant): void {
    const againMs = resendAfterMs(this.#p.settings);
    for (const permit of this.#permits.values()) {
      const owner = this.#ownerOf(permit);
      const same = owner?.id === permit.owner?.id && owner?.inc === permit.owner?.inc;
      if (same ? now.mono - permit.askedAt >= againMs : permit.request === null)
        this.#ask(permit, now);
    }
  }

  /** Whether a request of the host may be written, or go on, as far as its permit is concerned. */
  mayGoOn(host: Host, now: Instant): boolean {
    const place = this.#places.get(host);
    return place?.kind !== 'permit' || place.request === null || leftMs(place, now) > 0;
  }

  /** How long permits that this agent uses, and their addresses' rest, may last at most. */
  busyMs(now: Instant): number {
    let busyMs = this.#restUntil - now.mono;
    for (const permit of this.#permits.values()) {
      if (permit.granted)
        busyMs = Math.max(busyMs, leftMs(permit, now) + this.#p.settings.ipDelayMs);
    }
    return Math.max(0, busyMs);
  }

  /** For `status`. */
  counts(): { used: number; hostsWaiting: number } {
    let used = 0;
    let known = 0;
    for (const place of this.#places.values()) {
      if (place.kind === 'permit' && place.request !== null) used++;
      if (place.kind !== 'resolving' && place.kind !== 'unresolved') known++;
    }
    return { used, hostsWaiting: known - used };
  }

  /** When a permit that is used ends if nothing is heard of it. */
  nextAtMs(now: Instant): number {
    let at = Infinity;
    for (const permit of this.#permits.values()) {
      const leftNowMs = leftMs(permit, now);
      if (permit.request !== null && leftNowMs > 0) at = Math.min(at, now.mono + leftNowMs);
    }
    return at;
  }

  #open(host: Host, to: Destination, resolvedAt: Instant, now: Instant): void {
    const { address, dial } = to;
    const number = ++this.#lastPermit;
    const permit: Permit = {
      ...{ kind: 'permit', host, address, dial, resolvedAt, isResolving: false },
      ...{ number, asks: new Map() },
      ...{ owner: null, askedAt: -Infinity, granted: null, request: null },
    };
    this.#places.set(host, permit);
    this.#permits.set(number, permit);
    this.#ask(permit, now);
  }

  #ask(permit: Permit, now: Instant): void {
    const owner = this.#ownerOf(permit);
    if (!owner) return;
    const { address, number } = permit;
    // What another owner granted and nobody used is void.
    if (owner.id !== permit.owner?.id || owner.inc !== permit.owner?.inc) permit.granted = null;
    permit.owner = owner;
    permit.askedAt = now.mono;
    const ask = ++this.#lastAsk;
    permit.asks.set(ask, now);
    if (permit.asks.size > ASKS_MAX) permit.asks.delete(permit.asks.keys().next().value!);
    this.#p.tell(owner.id, { type: 'SLOT_ASK', address, slot: number, ask }, now);
  }

  #ownerOf({ address }: Permit): Permit['owner'] {
    const { view, settings, inc } = this.#p;
    const id = view.owner(addressName(address));
    if (id === settings.id) return { id, inc: inc() };
    return (id === undefined ? undefined : view.get(id)?.card) ?? null;
  }

  #renounce(permit: Permit, now: Instant, agoMs = 0): void {
    this.#permits.delete(permit.number);
    if (!permit.owner) return;
    const { address, number } = permit;
    this.#p.tell(permit.owner.id, { type: 'SLOT_END', address, slot: number, agoMs }, now);
  }

  /** The next host in line at the address may ask. */
  #passOn(host: Host, address: string): void {
    const line = this.#lines.get(address);
    if (!line) return;
    const wasFirst = line.keys().next().value === host;
    line.delete(host);
    const [next] = line;
    if (next === undefined) this.#lines.delete(address);
    else if (wasFirst) {
      this.#places.set(next, { kind: 'next', address });
      this.#p.wake(next);
    }
  }
}

/** What is left of a grant by this agent's clocks. */
function leftMs({ granted }: Permit, now: Instant): number {
  return granted ? Math.max(0, granted.forMs - elapsedMs(granted.from, now)) : 0;
}
