// Lets one network at a time visit a host. The owner of a host asks the home network's Redis for the
// host's lease before the first visit, renews it while the host has open work, and releases it with
// what is left of the delay. Commands name many hosts. A lease counts from before its command was
// sent, so this agent's lease always ends before Redis gives the host to another network.

import { elapsedMs, type Instant } from '../../failure-detector/instant.ts';
import type { LeaseWait } from '../core/crawl/networks-port.ts';
import { MinHeap } from '../frontier/schedule/min-heap.ts';
import { Loop } from './loop.ts';
import type { NetworkParts } from './network-settings.ts';
import type { HostGrant, HostRelease, Pools } from './pools.ts';
import { homeOf } from './rendezvous.ts';

/**
 * - `go`: a request may start. Not `isLeased`: the Redis of the host's home is away.
 * - `wait`: the host is woken. `untilMs` (mono): not before this time.
 */
export type HostEntry =
  | { readonly kind: 'go'; readonly isLeased: boolean }
  | { readonly kind: 'wait'; readonly untilMs: number | null };

interface HostLeasesParts extends NetworkParts {
  /** The host may be entered now. */
  readonly wakeHost: (host: string) => void;
}

interface Lease {
  readonly host: string;
  delayMs: number;
  /** Since when it is asked for (mono), and the network that has it, as far as is known. */
  sinceMs: number;
  holder: string | null;
  /** When the command that granted it was sent; null: not granted. */
  held: Instant | null;
  /**
   * The commands of which one may have granted it: the one whose answer came last, and later ones.
   * At most GRANTS_MAX.
   */
  grants: string[];
  /** When the first request is allowed (mono). */
  readyAtMs: number;
  /** When the last request ended, and the delay after it, end (mono). */
  coolAtMs: number;
  /** When it is asked for again (mono), and how long after that. */
  askAtMs: number;
  pauseMs: number;
}

/** The lease of a host without open work. `endsAtMs` (mono): it ends anyway. */
interface Release {
  readonly lease: Lease;
  readonly endsAtMs: number;
}

/** The leases at one home network. */
interface Home {
  readonly network: string;
  readonly pools: Pools;
  readonly loop: Loop;
  readonly leases: Map<string, Lease>;
  /**
   * The leases by the time at which they are asked for; in an open command they are not. An entry
   * is outdated if its lease is forgotten or has another time.
   */
  readonly due: MinHeap<Lease>;
  /** Redis has been out of reach for so long that its leases do not count. */
  isAway: boolean;
  /**
   * By host. Filled by `leave`, emptied by the next command; what exceeds RELEASES_MAX expires
   * instead.
   */
  readonly releases: Map<string, Release>;
  releaseAtMs: number;
  /** Releases in an open command, by host. */
  inHand: ReadonlyMap<string, Release>;
  /** Grants that wait for the next pump: their waits count from then. */
  readonly arrived: { readonly grants: readonly HostGrant[]; from: Instant; grant: string }[];
}

const HOSTS_MAX = 500;
const RELEASES_MAX = 10_000;
const GRANTS_MAX = 4;
/**
 * Releases are sent at multiples of this interval. A host that another network has is asked for at
 * multiples of it, then of growing ones. So hosts share commands.
 */
const ASK_MIN_MS = 250;
/** At least so often in `leaseMs`: a place in the line lasts half of it. */
const ASKS_PER_LEASE_MIN = 8;
/** So often if one command can name all hosts: they may be the only work that is left. */
const ASKS_PER_LEASE_FEW = 32;

/**
 * With `proceed`, hosts whose home's Redis has not answered for so many leases need none. After one
 * lease, another network may still hold the host, because its last renewal arrived.
 */
const AWAY_LEASES = 2;

export class HostLeases {
  readonly #p: HostLeasesParts;
  readonly #homes = new Map<string, Home>();
  readonly #homeByHost = new Map<string, Home>();
  #lastGrant = 0;
  #lost = 0;

  constructor(parts: HostLeasesParts) {
    this.#p = parts;
    const { wake, onError } = parts;
    for (const [network, pools] of parts.pools) {
      const loop = new Loop({ run: (now) => this.#step(home, now), wake, onError });
      const empty = { leases: new Map(), due: new MinHeap<Lease>(), releases: new Map() };
      const home: Home = {
        network,
        pools,
        loop,
        isAway: false,
        releaseAtMs: 0,
        inHand: new Map(),
        arrived: [],
        ...empty,
      };
      this.#homes.set(network, home);
    }
  }

  /** Called when the host is ready for its next request. `delayMs`: the host's delay. */
  enter(host: string, delayMs: number, now: Instant): HostEntry {
    const home = this.#homeOf(host);
    const lease = home.leases.get(host) ?? this.#ask(home, host, delayMs, now);
    lease.delayMs = delayMs;
    if (this.#leftMs(lease, now) <= 0) return unleased(home);
    if (now.mono < lease.readyAtMs) return { kind: 'wait', untilMs: lease.readyAtMs };
    return { kind: 'go', isLeased: true };
  }

  /** A request to the host has ended (mono); the delay after it is counted for other networks. */
  ended(host: string, endedAtMs: number, delayMs: number): void {
    const home = this.#homeByHost.get(host);
    const lease = home?.leases.get(host);
    if (!home || !lease) return;
    lease.coolAtMs = Math.max(lease.coolAtMs, endedAtMs + delayMs);
    // Redis must know a longer delay: the lease may expire with the end of this agent.
    if (delayMs > lease.delayMs && lease.held) this.#askAt(home, lease, endedAtMs);
    lease.delayMs = delayMs;
  }

  /** The host has no open work: its lease is released. */
  leave(host: string, now: Instant): void {
    const home = this.#homeByHost.get(host);
    const lease = home?.leases.get(host);
    if (!home || !lease) return;
    this.forget(host);
    // A command without answer may have granted it, or may still grant it.
    const isAsked = lease.grants.length > (lease.held ? 1 : 0);
    const leftMs = isAsked ? this.#p.settings.leaseMs : this.#leftMs(lease, now);
    if (leftMs <= 0 || home.releases.size >= RELEASES_MAX) return;
    if (home.releases.size === 0) home.releaseAtMs = multipleAfter(now.mono, ASK_MIN_MS);
    home.releases.set(host, { lease, endsAtMs: now.mono + leftMs });
  }

  /** Another agent of this network has the host now: the lease goes on under its renewals. */
  forget(host: string): void {
    this.#homeByHost.get(host)?.leases.delete(host);
    this.#homeByHost.delete(host);
  }

  /** Whether a request to the host may be written or continue. */
  mayGoOn(host: string, now: Instant): boolean {
    const home = this.#homeByHost.get(host);
    const lease = home?.leases.get(host);
    return lease !== undefined && (home!.isAway || this.#leftMs(lease, now) > 0);
  }

  pump(now: Instant): void {
    const { onTimeout, leaseMs } = this.#p.settings;
    const isAwayAllowed = onTimeout === 'proceed';
    for (const home of this.#homes.values()) {
      for (const { grants, from, grant } of home.arrived.splice(0)) {
        for (const each of grants) this.#onGrant(home, each, from, grant, now);
      }
      if (this.#nextOf(home) <= now.mono) home.loop.kick();
      if (home.leases.size + home.releases.size > 0) home.loop.pump(now);
      const wasAway = home.isAway;
      home.isAway = isAwayAllowed && home.loop.failedMs >= AWAY_LEASES * leaseMs;
      if (home.isAway && !wasAway) for (const host of home.leases.keys()) this.#p.wakeHost(host);
    }
  }

  /** Redis knows of every release. */
  get isQuiet(): boolean {
    return [...this.#homes.values()].every((home) => home.releases.size + home.inHand.size === 0);
  }

  /** When `pump` next has work, or the first lease ends (mono). */
  nextAtMs(now: Instant): number {
    let at = Infinity;
    for (const home of this.#homes.values()) {
      if (!home.loop.isOpen) {
        at = Math.min(at, Math.max(this.#nextOf(home), home.loop.notBeforeMs()));
      }
      for (const lease of home.leases.values()) {
        const leftMs = this.#leftMs(lease, now);
        if (leftMs > 0) at = Math.min(at, now.mono + leftMs);
      }
    }
    return at;
  }

  /** For `explain`. Null: the host has its lease, or has not asked for one. */
  waitOf(host: string, now: Instant): LeaseWait | null {
    const home = this.#homeByHost.get(host);
    const lease = home?.leases.get(host);
    if (!home || !lease) return null;
    const { sinceMs, holder, readyAtMs } = lease;
    if (this.#leftMs(lease, now) <= 0)
      return { kind: 'lease', sinceMs, holder, home: home.network };
    return now.mono < readyAtMs ? { kind: 'delay', untilMs: readyAtMs } : null;
  }

  /** For `status`. `lost`: leases that ended before they were renewed. */
  counts(now: Instant) {
    let [held, waiting, errors] = [0, 0, 0];
    for (const { leases, loop } of this.#homes.values()) {
      errors += loop.errors;
      for (const lease of leases.values()) {
        if (this.#leftMs(lease, now) > 0) held++;
        else waiting++;
      }
    }
    return { held, waiting, lost: this.#lost, errors };
  }

  #homeOf(host: string): Home {
    const known = this.#homeByHost.get(host);
    if (known) return known;
    const { networks } = this.#p.settings;
    const home = this.#homes.get(homeOf(networks, host, this.#p.sha256))!;
    this.#homeByHost.set(host, home);
    return home;
  }

  /** Adds a lease that is asked for. It is held already if its release has not been sent. */
  #ask(home: Home, host: string, delayMs: number, now: Instant): Lease {
    const unsent = home.releases.get(host)?.lease;
    const left = unsent ?? home.inHand.get(host)?.lease;
    home.releases.delete(host);
    const lease: Lease = {
      ...{ host, delayMs, sinceMs: now.mono, holder: null, held: unsent?.held ?? null },
      ...{ grants: left?.grants ?? [], readyAtMs: unsent?.readyAtMs ?? 0 },
      ...{ coolAtMs: left?.coolAtMs ?? 0, askAtMs: now.mono, pauseMs: ASK_MIN_MS },
    };
    home.leases.set(host, lease);
    this.#askAt(home, lease, now.mono);
    home.loop.kick();
    return lease;
  }

  #leftMs({ held }: Lease, now: Instant): number {
    return held ? Math.max(0, this.#p.settings.leaseMs - elapsedMs(held, now)) : 0;
  }

  #nextOf(home: Home): number {
    this.#skipOutdated(home);
    const releaseAtMs = home.releases.size > 0 ? home.releaseAtMs : Infinity;
    return Math.min(releaseAtMs, home.due.firstKey);
  }

  #askAt(home: Home, lease: Lease, atMs: number): void {
    lease.askAtMs = atMs;
    home.due.push(atMs, lease);
  }

  #skipOutdated({ leases, due }: Home): void {
    for (;;) {
      const lease = due.first;
      if (!lease) return;
      if (leases.get(lease.host) === lease && lease.askAtMs === due.firstKey) return;
      due.pop();
    }
  }

  #takeDue(home: Home, now: Instant): Lease[] {
    const taken: Lease[] = [];
    this.#skipOutdated(home);
    while (taken.length < HOSTS_MAX && home.due.firstKey <= now.mono) {
      taken.push(home.due.pop()!);
      this.#skipOutdated(home);
    }
    return taken;
  }

  /** Takes releases for one command. */
  #takeReleases(home: Home, now: Instant): HostRelease[] {
    for (const [host, { endsAtMs }] of home.releases) {
      if (endsAtMs <= now.mono) home.releases.delete(host);
    }
    home.inHand = new Map([...home.releases].slice(0, HOSTS_MAX));
    for (const host of home.inHand.keys()) home.releases.delete(host);
    return [...home.inHand].flatMap(([host, { lease }]) => {
      const delayMs = Math.max(0, lease.coolAtMs - now.mono);
      return lease.grants.map((grant): HostRelease => ({ host, grant, delayMs }));
    });
  }

  async #step(home: Home, now: Instant): Promise<number> {
    const { network, leaseMs } = this.#p.settings;
    const released = this.#takeReleases(home, now);
    const asked = this.#takeDue(home, now);
    const grant = `${this.#p.token}/${++this.#lastGrant}`;
    for (const lease of asked) lease.grants = [...lease.grants, grant].slice(-GRANTS_MAX);
    try {
      const hosts = asked.map(({ host, delayMs }) => ({ host, delayMs }));
      // In one round trip.
      const [grants] = await Promise.all([
        home.pools.acquire(network, hosts, leaseMs, grant),
        home.pools.releaseHosts(network, released),
      ]);
      home.arrived.push({ grants, from: now, grant });
    } catch (error) {
      for (const lease of asked) this.#askAt(home, lease, lease.askAtMs);
      for (const [host, release] of home.inHand) {
        // Redis may have got it.
        release.lease.held = null;
        if (!home.leases.has(host) && !home.releases.has(host)) home.releases.set(host, release);
      }
      throw error;
    } finally {
      home.inHand = new Map();
    }
    // `pump` starts the next run if leases are left, or when they are due.
    return Infinity;
  }

  #onGrant(
    home: Home,
    { host, waitMs, holder }: HostGrant,
    from: Instant,
    grant: string,
    now: Instant,
  ): void {
    const lease = home.leases.get(host);
    if (!lease) return;
    const { leaseMs } = this.#p.settings;
    const later = lease.grants.slice(lease.grants.indexOf(grant) + 1);
    if (waitMs === null) {
      lease.grants = later;
      if (lease.held) {
        this.#lost++;
        lease.sinceMs = now.mono;
      }
      lease.held = null;
      lease.holder = holder ?? null;
      this.#askAt(home, lease, multipleAfter(now.mono, lease.pauseMs));
      const commands = Math.ceil(home.leases.size / HOSTS_MAX);
      const growsToMs = Math.max(ASK_MIN_MS, (commands * leaseMs) / ASKS_PER_LEASE_FEW);
      lease.pauseMs = Math.min(leaseMs / ASKS_PER_LEASE_MIN, growsToMs, lease.pauseMs * 2);
      return;
    }
    const isFirst = this.#leftMs(lease, now) <= 0;
    lease.held = from;
    lease.grants = [grant, ...later];
    lease.pauseMs = ASK_MIN_MS;
    this.#askAt(home, lease, from.mono + leaseMs / 3);
    if (!isFirst) return;
    lease.readyAtMs = now.mono + waitMs;
    // The next network waits for the rest of the delay, even if no request is made here.
    lease.coolAtMs = Math.max(lease.coolAtMs, lease.readyAtMs);
    this.#p.wakeHost(lease.host);
  }
}

function multipleAfter(atMs: number, ms: number): number {
  return (Math.floor(atMs / ms) + 1) * ms;
}

function unleased({ isAway }: Home): HostEntry {
  return isAway ? { kind: 'go', isLeased: false } : { kind: 'wait', untilMs: null };
}
