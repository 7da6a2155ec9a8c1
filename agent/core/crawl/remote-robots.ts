// Looks up the rules of hosts whose robots.txt redirects to another host. Only the owner of that other
// host requests the file (adr/0034). The owner of the redirecting host repeats ROBOTS_ASK until it has
// an answer, and its host waits. The other owner answers from its store, or queues the file as a URL
// of its host for an ordinary visit. Nothing here is durable: a new owner starts the look-up again.

import type { Instant } from '../../../failure-detector/instant.ts';
import { REDIRECTED } from '../../url/redirect-reasons.ts';
import type { Routing } from '../exchange/routing.ts';
import type { Outbound } from '../membership/outbound.ts';
import type { View } from '../membership/view.ts';
import type { Whereabouts } from '../membership/whereabouts.ts';
import type { Store } from '../protocol/core-store.ts';
import type { AgentId, Host, Message } from '../protocol/messages.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { KnownRobots, RobotsResult, Visits } from '../protocol/visits-port.ts';

/** Heartbeat intervals between two asks: by default five seconds, about as long as a visit. */
const ASK_AGAIN = 5;
/**
 * Heartbeat intervals after which an outdated answer is sent (RFC 9309, 2.4), or `waiting` if the
 * asked host itself waits for a third host. Otherwise three hosts of two origins each could wait for
 * one another.
 */
const PATIENCE = 60;
/** Maximum asks in one turn, some milliseconds of work; further hosts follow in the next. */
const ASKS_PER_TURN = 200;
/** Maximum characters of a reason; a message may have a thousand. */
const REASON_CHARS_MAX = 900;

type Ask = Extract<Message, { type: 'ROBOTS_ASK' }>;
type Report = Extract<Message, { type: 'ROBOTS_TOLD' }>;
type Answer = Omit<Report, 'type' | 'origin' | 'asker'>;

/** A robots.txt that redirects to another host. */
export interface RobotsRedirect {
  /** The host that is visited, and its origin whose file was requested. */
  readonly host: Host;
  readonly origin: string;
  /** The origin to whose own robots.txt the redirects lead. */
  readonly to: string;
  /** Redirects followed so far, and further ones allowed. */
  readonly hops: number;
  readonly left: number;
}

/** The look-up for one host, which waits. */
interface Lookup {
  readonly redirect: RobotsRedirect;
  /** The origin that is looked up now, and its host. */
  at: string;
  atHost: Host;
  left: number;
  /** All hosts of the chain so far, this one included. */
  readonly passed: Set<Host>;
  since: number;
  askedAt: number;
  /** The host whose owner was last asked; null: its owner is not known. */
  asked: Host | null;
}

interface RemoteRobotsParts {
  readonly settings: Pick<CoreSettings, 'id' | 'heartbeatMs' | 'bounds'>;
  readonly view: Pick<View, 'owns' | 'joined'>;
  readonly whereabouts: Pick<Whereabouts, 'ownerOf' | 'cardOf' | 'lookAgain'>;
  readonly outbound: Pick<Outbound, 'toCard'>;
  readonly hostOf: (url: string) => Host | null;
  readonly directives: { readonly paused: boolean };
  readonly store: Pick<Store, 'queuedOf'>;
  readonly routing: Pick<Routing, 'enqueue'>;
  readonly activity: () => void;
  readonly visits: Pick<Visits, 'robotsOf' | 'robotsReported'>;
}

export class RemoteRobots {
  readonly #p: RemoteRobotsParts;
  /** One entry per waiting host. Bounded by the number of hosts; ends with an answer or a time-out. */
  readonly #lookups = new Map<Host, Lookup>();

  constructor(parts: RemoteRobotsParts) {
    this.#p = parts;
  }

  /** Starts the look-up for a host, instead of the one that the host waited for before. */
  begin(redirect: RobotsRedirect, nowMs: number): void {
    const { host, to, left } = redirect;
    const atHost = this.#p.hostOf(fileOf(to));
    // If the host comes back to this agent, a visit starts the look-up again.
    if (atHost === null || !this.#p.view.owns(host)) return;
    const passed = new Set([host, atHost]);
    const fresh = { at: to, atHost, left, passed, since: nowMs, askedAt: -Infinity, asked: null };
    this.#lookups.set(host, { redirect, ...fresh });
  }

  isLookingUp(host: Host, origin: string): boolean {
    return this.#lookups.get(host)?.redirect.origin === origin;
  }

  /** Drops hosts that others own now. The owner to ask may have changed, so asks are due at once. */
  viewChanged(): void {
    for (const [host, lookup] of this.#lookups) {
      if (this.#p.view.owns(host)) lookup.askedAt = -Infinity;
      else this.#lookups.delete(host);
    }
  }

  /** Whether a wait of this length has timed out. */
  isOver(waitedMs: number): boolean {
    return waitedMs >= this.#p.settings.bounds.robotsWaitMs;
  }

  pump(now: Instant): void {
    if (this.#lookups.size === 0 || !this.#p.view.joined) return;
    const { heartbeatMs } = this.#p.settings;
    let left = ASKS_PER_TURN;
    for (const lookup of this.#lookups.values()) {
      if (this.#p.directives.paused) lookup.since = now.mono;
      else if (this.isOver(now.mono - lookup.since)) this.#timeOut(lookup, now);
      else if (left > 0 && now.mono - lookup.askedAt >= ASK_AGAIN * heartbeatMs) {
        left--;
        this.#ask(lookup, now);
      }
    }
  }

  /** From a member of the view, or from this agent itself. */
  onMessage(from: AgentId, message: Ask | Report, now: Instant): void {
    this.#p.activity();
    if (message.type === 'ROBOTS_ASK') this.#onAsk(from, message, now);
    else this.#onReport(from, message, now);
  }

  #tell(to: AgentId, message: Ask | Report, now: Instant): void {
    const { settings, whereabouts, outbound } = this.#p;
    if (to === settings.id) return this.onMessage(to, message, now);
    const card = whereabouts.cardOf(to);
    if (card) outbound.toCard(card, message);
  }

  // ---- at the owner of the redirecting host

  #ask(lookup: Lookup, now: Instant): void {
    const { whereabouts } = this.#p;
    lookup.askedAt = now.mono;
    // The agent that was asked has not answered: it may not be the owner.
    if (lookup.asked === lookup.atHost) whereabouts.lookAgain(lookup.atHost);
    const owner = whereabouts.ownerOf(lookup.atHost);
    lookup.asked = owner === undefined ? null : lookup.atHost;
    if (owner === undefined) return;
    const waitedMs = Math.max(0, now.mono - lookup.since);
    const { origin: asker } = lookup.redirect;
    this.#tell(owner, { type: 'ROBOTS_ASK', origin: lookup.at, asker, waitedMs }, now);
  }

  #onReport(from: AgentId, report: Report, now: Instant): void {
    const host = this.#p.hostOf(fileOf(report.asker));
    const lookup = host === null ? undefined : this.#lookups.get(host);
    if (lookup?.redirect.origin !== report.asker || lookup.at !== report.origin) return;
    const where = `${REDIRECTED}${fileOf(lookup.at)}`;
    const by = `${where}, reported by ${from}`;
    const reason = report.reason === '' ? by : `${by}: ${report.reason}`;
    const end = (result: RobotsResult) => this.#end(lookup, result, now);
    switch (report.answer) {
      case 'rules':
        return end({ kind: 'rules', reason, body: report.body ?? '' });
      case 'absent':
        return end({ kind: 'allowAll', reason });
      case 'refused':
        return end({ kind: 'allowAll', reason: `${where}, which ${from} does not request` });
      case 'unreachable':
        return end({ kind: 'unreachable', reason, final: true });
      case 'waiting':
        return end({ kind: 'unreachable', reason, final: false });
      case 'redirect':
        return this.#follow(lookup, report, now);
    }
  }

  /** Follows a redirect. A chain that returns to a host ends: its hosts would wait for one another. */
  #follow(lookup: Lookup, { to, hops }: Report, now: Instant): void {
    const toHost = to === null ? null : this.#p.hostOf(fileOf(to));
    if (to === null || toHost === null) return;
    lookup.left -= Math.max(1, hops);
    const where = `${REDIRECTED}${fileOf(to)}`;
    if (lookup.passed.has(toHost)) {
      return this.#end(lookup, { kind: 'allowAll', reason: `${where}, in a circle` }, now);
    }
    if (lookup.left < 0) {
      return this.#end(lookup, { kind: 'allowAll', reason: `${where}, once too often` }, now);
    }
    lookup.at = to;
    lookup.atHost = toHost;
    lookup.passed.add(toHost);
    this.#ask(lookup, now);
  }

  #timeOut(lookup: Lookup, now: Instant): void {
    const reason = `${REDIRECTED}${fileOf(lookup.at)}, no answer in time`;
    this.#end(lookup, { kind: 'unreachable', reason, final: false }, now);
  }

  #end(lookup: Lookup, result: RobotsResult, now: Instant): void {
    const { host, origin } = lookup.redirect;
    this.#lookups.delete(host);
    const reason = result.reason.slice(0, REASON_CHARS_MAX);
    this.#p.visits.robotsReported(host, origin, { ...result, reason }, now);
  }

  // ---- at the owner of the other host

  #onAsk(from: AgentId, { origin, asker, waitedMs }: Ask, now: Instant): void {
    const { view, hostOf } = this.#p;
    const host = hostOf(fileOf(origin));
    // The asker will repeat the message, to the owner in its view at that time.
    if (host === null || !view.joined || !view.owns(host)) return;
    const answer = this.#answer(host, { origin, asker, waitedMs }, now);
    if (answer) this.#tell(from, { type: 'ROBOTS_TOLD', origin, asker, ...answer }, now);
  }

  /** Null: no answer yet. A late ask for a host that itself waits is answered, so no circle lasts. */
  #answer(host: Host, ask: Omit<Ask, 'type'>, now: Instant): Answer | null {
    const { origin, asker, waitedMs } = ask;
    const own = this.#lookups.get(host)?.redirect;
    if (own?.origin === origin) {
      return { ...REFUSED, answer: 'redirect', to: own.to, hops: own.hops };
    }
    const known = this.#p.visits.robotsOf(host, origin, now);
    const { standing, leadsTo } = known ?? {};
    if (known && (standing === 'fresh' || (leadsTo && standing === 'retrying'))) {
      return answerOf(known);
    }
    const isLate = waitedMs >= PATIENCE * this.#p.settings.heartbeatMs;
    const isOldEnough = isLate && standing === 'stale';
    this.#p.routing.enqueue(host, { url: fileOf(origin), depth: 0, referrer: fileOf(asker) });
    if (own && isLate && !isOldEnough) {
      return { ...REFUSED, answer: 'waiting', reason: `its host waits for ${fileOf(own.to)}` };
    }
    // The file is queued, or another URL whose visit may request the file, too.
    const isComing = own !== undefined || this.#p.store.queuedOf(host) > 0;
    if (isComing && !isOldEnough) return null;
    return known ? answerOf(known) : REFUSED;
  }
}

const REFUSED: Answer = { answer: 'refused', reason: '', body: null, to: null, hops: 0 };

function answerOf({ result, leadsTo }: KnownRobots): Answer {
  if (leadsTo) return { ...REFUSED, answer: 'redirect', ...leadsTo };
  const reason = result.reason.slice(0, REASON_CHARS_MAX);
  switch (result.kind) {
    case 'rules':
      return { ...REFUSED, answer: 'rules', reason, body: result.body };
    case 'allowAll':
      return { ...REFUSED, answer: 'absent', reason };
    case 'unreachable':
      return { ...REFUSED, answer: result.final ? 'unreachable' : 'waiting', reason };
  }
}

function fileOf(origin: string): string {
  return `${origin}/robots.txt`;
}
