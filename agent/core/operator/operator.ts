// Executes the operator's commands: directives for the whole cluster, and seeds for a running crawl.
// Directives, given here or received, take effect at once and are sent to members that lack them. The
// operator gets a receipt when a directive is in this agent's file, or when a seed is at its owner and
// the owner's backups.

import type { Instant } from '../../../failure-detector/instant.ts';
import { matchesHost } from '../../url/host-patterns.ts';
import type { Routing } from '../exchange/routing.ts';
import type { Completion } from '../lifecycle/completion.ts';
import type { LifecycleState, Shutdown } from '../lifecycle/shutdown.ts';
import type { Outbound } from '../membership/outbound.ts';
import type { RefusedClaims } from '../membership/refused-claims.ts';
import type { Member, View } from '../membership/view.ts';
import type { Whereabouts } from '../membership/whereabouts.ts';
import type { Aborts } from '../ownership/aborts.ts';
import type { Store } from '../protocol/core-store.ts';
import {
  DIRECTIVES_MAX,
  type DirectiveInForce,
  type Directives,
  isOfAgents,
  isOfHosts,
  nothingToEnd,
} from '../protocol/directives.ts';
import type { Effects } from '../protocol/effects.ts';
import type { EventLog } from '../protocol/event-log.ts';
import type { AgentId, Directive, Host, UrlItem } from '../protocol/messages.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { Visits } from '../protocol/visits-port.ts';
import type { Copies } from '../replication/settlement.ts';
import type { Requeues } from './requeues.ts';

/** Milliseconds after which seeds get a receipt without an owner. They are still delivered. */
const SEED_ANSWER_MS = 2500;
/** Seed commands that may wait for their receipt. */
const SEEDS_PENDING_MAX = 64;

const TOO_MANY =
  `there are ${DIRECTIVES_MAX} directives, those that have ended included; give one for the hosts ` +
  'of an earlier one or, for other hosts, change scope and launch again';

/** The result of a directive. */
export type DirectiveReceipt =
  | {
      readonly ok: true;
      readonly directive: Directive;
      /** The number of hosts of this agent that its pattern names. */
      readonly hosts: number;
      /** For a revoked block: the pattern that still blocks its hosts. */
      readonly stillBlockedBy?: string;
    }
  | { readonly ok: false; readonly why: string };

/** The result of a seed command. `owners` is by URL. */
export type SeedReceipt =
  | { readonly ok: true; readonly owners: Readonly<Record<string, AgentId | null>> }
  | { readonly ok: false; readonly why: string };

interface PendingSeeds {
  readonly items: readonly UrlItem[];
  readonly since: number;
  /** The last of their outbox entries; 0: there are none. */
  readonly lastId: number;
  /** Hosts of this agent with seeds, and the numbers that their backups must have. */
  needs: ReadonlyMap<Host, number> | null;
  readonly tell: (receipt: SeedReceipt) => void;
}

interface OperatorParts {
  readonly settings: Pick<CoreSettings, 'configured'>;
  readonly directives: Directives;
  readonly store: Store;
  readonly effects: Effects;
  readonly events: EventLog;
  readonly view: View;
  readonly whereabouts: Pick<Whereabouts, 'ownerOf' | 'isPartial'>;
  readonly outbound: Outbound;
  readonly routing: Routing;
  readonly copies: Copies;
  readonly completion: Completion;
  readonly visits: Visits;
  readonly requeues: Requeues;
  readonly refused: RefusedClaims;
  readonly hostOf: (url: string) => Host | null;
  readonly shutdown: Pick<Shutdown, 'state' | 'reopen'>;
  readonly aborts: Pick<Aborts, 'abort'>;
}

export class Operator {
  readonly #p: OperatorParts;
  readonly #seeds: PendingSeeds[] = [];

  constructor(parts: OperatorParts) {
    this.#p = parts;
  }

  /** Numbers and applies a new directive. Calls `tell` when it is durable. */
  give(
    what: Pick<Directive, 'kind' | 'host' | 'value'>,
    now: Instant,
    tell: (receipt: DirectiveReceipt) => void,
  ): void {
    const { state } = this.#p.shutdown;
    // The others may have ended. When all have, a block can be revoked in the state files.
    if (state === 'complete' || state === 'ended') {
      return tell({
        ok: false,
        why: 'the crawl is complete; try again when its agents have ended',
      });
    }
    const why = this.#objectionTo(what);
    if (why !== null) return tell({ ok: false, why });
    const directive = this.#p.directives.give(what, now.mono);
    if (!directive) return tell({ ok: false, why: TOO_MANY });
    this.#obey([directive], now);
    this.#receipt(directive, tell);
  }

  /** Why a directive is not accepted; null: it is. */
  #objectionTo({ kind, host, value }: Pick<Directive, 'kind' | 'host' | 'value'>): string | null {
    const { settings, view, whereabouts, directives } = this.#p;
    // One in force may name an agent that the config no longer lists.
    if (value === null && directives.holds({ kind, host })) return null;
    const nothing = value === null ? nothingToEnd({ kind }) : null;
    if (!isOfAgents({ kind }) || host === '*') return nothing;
    const isListed = view.has(host) || settings.configured.some(({ id }) => id === host);
    const mayExist = isListed || host === view.me || whereabouts.isPartial;
    if (!mayExist) return `no agent has the identifier ${host}; "status" shows the agents`;
    // A partial view has agents that take hosts, if there are any (docs/OVERLAY.md).
    if (kind !== 'drain' || value === null || this.#hasOwnersWithout(host)) return nothing;
    return `${host} is the last agent that takes hosts; undrain or start another one first`;
  }

  #hasOwnersWithout(drained: AgentId): boolean {
    const { view, directives, shutdown } = this.#p;
    const here = shutdown.state === 'crawling' ? [view.me] : [];
    const members = [...view.members()].filter(({ leaving }) => !leaving);
    const ids = [...here, ...members.map(({ card }) => card.id)];
    return ids.some((id) => id !== drained && !directives.drains(id));
  }

  /** Applies a directive that another agent numbered. Calls `tell` when it is durable. */
  take(directive: Directive, now: Instant, tell: (receipt: DirectiveReceipt) => void): void {
    if (this.#p.shutdown.state === 'ended') return tell({ ok: false, why: refusals.ended });
    const { later, refused } = this.#p.directives.merge([directive], now.mono, now.wall);
    if (refused !== null) return tell({ ok: false, why: refused });
    this.#obey(later, now);
    this.#receipt(directive, tell);
  }

  #receipt(directive: Directive, tell: (receipt: DirectiveReceipt) => void): void {
    const { directives, store } = this.#p;
    const hosts = isOfHosts(directive) ? store.hostsNamed(directive.host) : 0;
    const still =
      directive.kind === 'block' && directive.value === null
        ? directives.above(directive)
        : undefined;
    const stillBlockedBy = still && { stillBlockedBy: still.host };
    this.#whenDurable(() => tell({ ok: true, directive, hosts, ...stillBlockedBy }));
  }

  onDirectives(from: AgentId, directives: readonly Directive[], now: Instant): void {
    const { later, refused } = this.#p.directives.merge(directives, now.mono, now.wall);
    if (refused !== null) this.#p.refused.refuse(from, 'orders', refused, now);
    this.#obey(later, now);
  }

  /** For `status`, whose response is one message. */
  get inForce(): readonly DirectiveInForce[] {
    return this.#p.directives.inForce();
  }

  /** Handles the digest in a heartbeat: if it differs, sends the member all directives. */
  heard(member: Member, hash: string): void {
    const { directives, outbound } = this.#p;
    member.directivesHash = hash;
    if (hash === directives.hash()) return directives.hasAll(member.card.id);
    const all = directives.all();
    if (all.length > 0) outbound.toMember(member, { type: 'ORDERS', orders: all });
  }

  /** Records that the write-ahead log of the state file has become large. */
  noteWal(bytes: number, remedy: string, now: Instant): void {
    this.#p.events.record(now.mono, 'wal', { bytes, remedy });
  }

  /** Begins a round of the crawl. All agents get the same number; a known one has no effect. */
  refresh(round: number, now: Instant): void {
    const by = this.#p.view.me;
    this.onDirectives(by, [{ kind: 'refresh', host: '', value: round, n: round, by }], now);
  }

  /** All members have the same directives. One that lacks a round or an unblock could end early. */
  get isQuiet(): boolean {
    const { directives, view } = this.#p;
    const hash = directives.hash();
    return [...view.members()].every((member) => member.directivesHash === hash);
  }

  #obey(directives: readonly Directive[], now: Instant): void {
    const { visits, events, completion, shutdown, aborts, requeues } = this.#p;
    if (directives.length > 0) completion.activity();
    if (directives.some(({ kind }) => kind === 'block' || kind === 'refresh')) {
      completion.reopened();
      shutdown.reopen();
    }
    for (const { kind, host, value, by } of directives) {
      const what = host === '' ? { value, by } : { host, value, by };
      events.record(now.mono, 'order', { order: kind, ...what });
      if (kind === 'refresh') requeues.refresh.begin(value ?? 0);
      if (!isOfHosts({ kind })) continue;
      if (host.startsWith('*')) visits.recheckAll(now, (one) => matchesHost(host, one));
      else visits.recheck(host, now);
      if (kind !== 'block') continue;
      if (value === null) {
        requeues.reopening.unblocked(host);
        continue;
      }
      const open = [...visits.open()].filter((request) => matchesHost(host, request.host));
      aborts.abort(open, 'the host was blocked', now);
    }
  }

  /** Routes seeds like links while the crawl runs. Calls `tell` when they are safe or late. */
  seed(items: readonly UrlItem[], now: Instant, tell: (receipt: SeedReceipt) => void): void {
    const { shutdown, routing, completion } = this.#p;
    const why = refusals[shutdown.state];
    if (why !== null) return tell({ ok: false, why });
    if (this.#seeds.length >= SEEDS_PENDING_MAX) {
      return tell({ ok: false, why: 'too many seeds are pending; try again' });
    }
    completion.activity();
    const { outboxIds } = routing.route(items);
    const lastId = Math.max(0, ...outboxIds);
    this.#seeds.push({ items, since: now.mono, lastId, needs: null, tell });
    this.pump(now);
  }

  /** Sends the receipts of seeds that are safe or late. */
  pump(now: Instant): void {
    for (const seeds of [...this.#seeds]) {
      const late = now.mono - seeds.since >= SEED_ANSWER_MS;
      if (!this.#isSafe(seeds) && !late) continue;
      this.#seeds.splice(this.#seeds.indexOf(seeds), 1);
      const owners = this.#ownersOf(seeds, late);
      this.#whenDurable(() => seeds.tell({ ok: true, owners }));
    }
  }

  #isSafe(seeds: PendingSeeds): boolean {
    const { store, view, copies } = this.#p;
    const first = store.outboxFirst();
    if (first !== null && first <= seeds.lastId) return false;
    if (!seeds.needs) {
      const mine = this.#hostsOf(seeds).filter((host) => view.owns(host));
      seeds.needs = new Map(mine.map((host) => [host, store.lastNumber(host)]));
    }
    for (const [host, n] of seeds.needs) {
      if (view.owns(host) && !copies.isSafe(host, n)) return false;
    }
    return true;
  }

  #hostsOf({ items }: PendingSeeds): Host[] {
    return items.flatMap(({ url }) => this.#p.hostOf(url) ?? []);
  }

  /** The owner by URL; null: the owner has not confirmed the URL in time. */
  #ownersOf({ items }: PendingSeeds, late: boolean): Record<string, AgentId | null> {
    const { whereabouts, hostOf } = this.#p;
    const owner = (url: string) => whereabouts.ownerOf(hostOf(url) ?? '') ?? null;
    return Object.fromEntries(items.map(({ url }) => [url, late ? null : owner(url)]));
  }

  #whenDurable(tell: () => void): void {
    this.#p.effects.push({ type: 'tell', tell, durable: true });
  }
}

/** Why an agent in this lifecycle state accepts no seeds; null: it does. */
const refusals = {
  crawling: null,
  leaving: 'this agent is leaving',
  stopping: 'the crawl is being stopped',
  complete:
    'the crawl is complete: add the URL to the seeds of the config and start the agents again',
  ended: 'this agent has ended',
} as const satisfies Record<LifecycleState['kind'], string | null>;
