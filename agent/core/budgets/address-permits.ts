// Requests address permits for the hosts of this agent (`politeness.ipDelayMs`, adr/0030). A request
// starts only with a permit for the address that it connects to. The permit is requested last, when
// nothing else prevents the request. If several hosts have the same address, the first one requests
// the permit and keeps its thread. The others wait without a thread, so they delay no other host.

import { elapsedMs, type Instant } from '../../../failure-detector/instant.ts';
import type { Effects } from '../protocol/effects.ts';
import type { AgentId, Host } from '../protocol/messages.ts';
import { putLatest } from '../protocol/put-latest.ts';
import { type CoreSettings, resendAfterMs } from '../protocol/settings.ts';
import {
  type Asker,
  addressName,
  type PermitAsk,
  type PermitEnd,
  type PermitGrant,
} from './permit-grants.ts';

/** The destination of a host's next request. */
export interface Destination {
  /** Names the server in one form, however it is reached. The delay applies to this name. */
  readonly address: string;
  /** The address to connect to. */
  readonly dial: string;
}

/**
 * `go`: the request may start, to this address; null: no address is known. `wait`: the thread waits
 * until it is woken. `queued`: the host waits behind others at its address, without a thread.
 */
export type Entry =
  | { readonly kind: 'go'; readonly address: string | null }
  | { readonly kind: 'wait' }
  | { readonly kind: 'queued' };

interface AddressPermitsParts {
  readonly settings: Pick<CoreSettings, 'heartbeatMs' | 'ipDelayMs' | 'suspectAfterMs'>;
  readonly effects: Effects;
  /** The owner of a name; null: it is not known yet. */
  readonly ownerOf: (name: string) => Asker | null;
  /** The agent that was taken for the owner of a name is not, or does not answer. */
  readonly notOwner: (name: string) => void;
  /** Sends to the owner of an address, which may be this agent. */
  readonly tell: (owner: Asker, message: PermitAsk | PermitEnd, now: Instant) => void;
  /** Checks a host that has a thread again. */
  readonly recheck: (host: Host, now: Instant) => void;
  /** Lets a host without a thread get one. */
  readonly wake: (host: Host) => void;
}

/** A permit that is requested, granted or in use. */
interface Permit {
  readonly kind: 'permit';
  readonly address: string;
  dial: string;
  /** When the host name was last resolved to this address. */
  resolvedAt: Instant;
  /** The host name is being resolved again. */
  isResolving: boolean;
  readonly host: Host;
  readonly number: number;
  /** When recent asks were sent, by number. A grant runs from the ask that it answers. */
  readonly asks: Map<number, Instant>;
  owner: Asker | null;
  askedAt: number;
  granted: { readonly from: Instant; readonly forMs: number } | null;
  /** The request that uses the permit; null: none yet. */
  request: number | null;
}

type Place =
  | { readonly kind: 'resolving' }
  | { readonly kind: 'unresolved' }
  /** `next`: first in line, without a thread. `checking`: first, its name is resolved again. */
  | { readonly kind: 'queued' | 'next' | 'checking'; readonly address: string }
  | Permit;

/** An owner that has not answered since then. */
interface Silence {
  readonly owner: Asker;
  readonly since: number;
  /** When it was last asked. */
  readonly at: number;
}

/** At least so many renewals are asked for within a grant: some may be lost. */
const RENEWALS = 3;
/** Asks remembered for each permit. A full grant lasts four; more allow for a slow network. */
const ASKS_MAX = 16;
/** More than the addresses for which an agent asks within `suspectAfterMs`. */
const SILENCES_MAX = 1000;
/** An address that was resolved longer ago is resolved again before the connection. */
const ADDRESS_AGE_MAX_MS = 10_000;

const WAIT: Entry = { kind: 'wait' };
const QUEUED: Entry = { kind: 'queued' };

export class AddressPermits {
  readonly #p: AddressPermitsParts;
  readonly #places = new Map<Host, Place>();
  /** By address, the hosts of this agent that want it. The first asks; the others wait. */
  readonly #lines = new Map<string, Set<Host>>();
  /** The places that are permits, by number. Bounded by the number of threads. */
  readonly #permits = new Map<number, Permit>();
  /**
   * By address, because a host that must also wait for other limits gives its permit up before the
   * owner can count as silent. Filled by asks, emptied by answers and at `SILENCES_MAX`.
   */
  readonly #silences = new Map<string, Silence>();
  #lastPermit = 0;
  #lastAsk = 0;
  /** When the cooldowns of all addresses used here have ended. */
  #cooldownUntil = 0;

  constructor(parts: AddressPermitsParts) {
    this.#p = parts;
  }

  /** Called when the host is ready for its next request. */
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
        // The name may have moved to another address while the host waited.
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
      // The grant expired before it was used. A new permit waits its turn at the owner.
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

  /** The destination of the next request to the host; null: no address of it is permitted. */
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

  /** The name still resolves to the address for which the host waits. */
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

  /** The host's request has started. */
  started(host: Host, request: number): void {
    const place = this.#places.get(host);
    if (place?.kind === 'permit') place.request = request;
    else if (place?.kind === 'unresolved') this.#places.delete(host);
  }

  /** The host makes no request now. */
  leave(host: Host, now: Instant): void {
    const place = this.#places.get(host);
    if (!place || (place.kind === 'permit' && place.request !== null)) return;
    this.#places.delete(host);
    if (place.kind === 'permit') this.#renounce(place, now);
    if ('address' in place) this.#passOn(host, place.address);
  }

  /** The request has ended, and the permit with it. `endedAt` is in monotonic milliseconds. */
  ended({ id, host }: { id: number; host: Host }, endedAt: number, now: Instant): void {
    const place = this.#places.get(host);
    if (place?.kind !== 'permit' || place.request !== id) return;
    this.#places.delete(host);
    this.#cooldownUntil = Math.max(this.#cooldownUntil, endedAt + this.#p.settings.ipDelayMs);
    this.#renounce(place, now, Math.max(0, now.mono - endedAt));
    this.#passOn(host, place.address);
  }

  /** Removes waiting hosts that this agent no longer owns. */
  keepOnly(owns: (host: Host) => boolean, now: Instant): void {
    for (const [host, { kind }] of this.#places) {
      if ((kind === 'queued' || kind === 'next') && !owns(host)) this.leave(host, now);
    }
  }

  onGrant(from: AgentId, grant: Omit<PermitGrant, 'type'>, now: Instant): void {
    const permit = this.#permits.get(grant.slot);
    const sentAt = permit?.asks.get(grant.ask);
    if (!permit || !sentAt || permit.owner?.id !== from) return;
    this.#silences.delete(permit.address);
    const { forMs } = grant;
    if (forMs === 0) return this.#p.notOwner(addressName(permit.address));
    // A new owner of the address knows only of permits that were granted before the change.
    const owner = this.#ownerOf(permit);
    if (owner && owner.id !== from) return;
    const first = permit.granted === null;
    if (forMs - elapsedMs(sentAt, now) > leftMs(permit, now))
      permit.granted = { from: sentAt, forMs };
    if (first && permit.granted) this.#p.recheck(permit.host, now);
  }

  /** Repeats unanswered asks and renews permits in use. */
  pump(now: Instant): void {
    const resendMs = resendAfterMs(this.#p.settings);
    for (const permit of this.#permits.values()) {
      // A grant is short if the owner's lease was old.
      const afterMs = Math.min(resendMs, (permit.granted?.forMs ?? Infinity) / RENEWALS);
      const same = isSame(this.#ownerOf(permit), permit.owner);
      if (same ? now.mono - permit.askedAt >= afterMs : permit.request === null)
        this.#ask(permit, now);
    }
  }

  /** Whether the permit allows the host's open request to be written or to continue. */
  mayGoOn(host: Host, now: Instant): boolean {
    const place = this.#places.get(host);
    return place?.kind !== 'permit' || place.request === null || leftMs(place, now) > 0;
  }

  /** Milliseconds until all permits used here, and the cooldowns after them, have ended. */
  busyMs(now: Instant): number {
    let busyMs = this.#cooldownUntil - now.mono;
    for (const permit of this.#permits.values()) {
      if (permit.granted)
        busyMs = Math.max(busyMs, leftMs(permit, now) + this.#p.settings.ipDelayMs);
    }
    return Math.max(0, busyMs);
  }

  /** For `status`. */
  counts(): { used: number; hostsWaiting: number } {
    let used = 0;
    let inLine = 0;
    for (const place of this.#places.values()) {
      if (place.kind === 'permit' && place.request !== null) used++;
      if (place.kind !== 'resolving' && place.kind !== 'unresolved') inLine++;
    }
    return { used, hostsWaiting: inLine - used };
  }

  /** When the first permit in use expires if it is not renewed. */
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
    // An unused grant of a previous owner is void.
    if (!isSame(owner, permit.owner)) permit.granted = null;
    permit.owner = owner;
    permit.askedAt = now.mono;
    const ask = ++this.#lastAsk;
    permit.asks.set(ask, now);
    if (permit.asks.size > ASKS_MAX) permit.asks.delete(permit.asks.keys().next().value!);
    this.#p.tell(owner, { type: 'SLOT_ASK', address, slot: number, ask }, now);
    if (permit.granted === null) this.#awaitAnswer(address, owner, now);
  }

  #awaitAnswer(address: string, owner: Asker, now: Instant): void {
    const { suspectAfterMs } = this.#p.settings;
    const known = this.#silences.get(address);
    const goesOn = known && isSame(known.owner, owner) && now.mono - known.at < suspectAfterMs;
    const since = goesOn ? known.since : now.mono;
    putLatest(this.#silences, address, { owner, since, at: now.mono }, SILENCES_MAX);
    if (now.mono - since < suspectAfterMs) return;
    this.#silences.delete(address);
    this.#p.notOwner(addressName(address));
  }

  #ownerOf({ address }: Permit): Permit['owner'] {
    return this.#p.ownerOf(addressName(address));
  }

  #renounce(permit: Permit, now: Instant, agoMs = 0): void {
    this.#permits.delete(permit.number);
    if (!permit.owner) return;
    const { address, number } = permit;
    this.#p.tell(permit.owner, { type: 'SLOT_END', address, slot: number, agoMs }, now);
  }

  /** Removes the host from the line and lets the next host ask. */
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

function isSame(a: Asker | null, b: Asker | null): boolean {
  return a?.id === b?.id && a?.inc === b?.inc;
}

/** Milliseconds left of a grant, by this agent's clocks. */
function leftMs({ granted }: Permit, now: Instant): number {
  return granted ? Math.max(0, granted.forMs - elapsedMs(granted.from, now)) : 0;
}
