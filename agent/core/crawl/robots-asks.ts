// Whose robots.txt leads to another host: the rules are that host's, and only its owner asks it
// (adr/0034). The owner of the redirecting host asks the other owner, again and again until it is
// told, and the host is parked meanwhile; the owner that is asked answers from what it has stored,
// or takes the file up as a URL of its host, so that a visit like any other fetches it. Nothing of
// this is durable: whoever takes one of the hosts over asks, or is asked, anew. The visits begin,
// the core brings the messages, and each turn pumps.

import type { Instant } from '../../../failure-detector/instant.ts';
import { REDIRECTED } from '../../url/redirect-reasons.ts';
import type { Routing } from '../exchange/routing.ts';
import type { Outbound } from '../membership/outbound.ts';
import type { View } from '../membership/view.ts';
import type { Store } from '../protocol/core-store.ts';
import type { AgentId, Host, Message } from '../protocol/messages.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { KnownRobots, RobotsWord, Visits } from '../protocol/visits-port.ts';

/** Heartbeat intervals between two asks: five seconds by default, about as long as a visit takes. */
const ASK_AGAIN = 5;
/**
 * Heartbeat intervals after which an old answer is good enough (RFC 9309, 2.4), and a host is waited
 * for no more that itself waits for a third one on behalf of another origin: else three hosts of
 * two origins each could wait for one another.
 */
const PATIENCE = 60;
/** Asks of one turn, some milliseconds of work; more hosts than that are asked for in the next. */
const ASKS_PER_TURN = 200;
/** A reason is read by people; messages take a thousand characters. */
const REASON_CHARS_MAX = 900;

type Ask = Extract<Message, { type: 'ROBOTS_ASK' }>;
type Told = Extract<Message, { type: 'ROBOTS_TOLD' }>;
type Answer = Omit<Told, 'type' | 'origin' | 'asker'>;

/** A robots.txt that turned out to be another host's. */
export interface RobotsRedirect {
  /** The host that is visited, and the origin of it whose file was asked for. */
  readonly host: Host;
  readonly origin: string;
  /** The origin whose own robots.txt it is. */
  readonly to: string;
  /** Redirects up to there, and how many more may follow. */
  readonly hops: number;
  readonly left: number;
}

/** One host that waits. */
interface Asking {
  readonly redirect: RobotsRedirect;
  /** The origin whose owner is asked now, and its host. */
  at: string;
  atHost: Host;
  left: number;
  /** Hosts that the chain has led over, this one included. */
  readonly passed: Set<Host>;
  since: number;
  askedAt: number;
}

export interface RobotsAsksParts {
  readonly settings: Pick<CoreSettings, 'id' | 'heartbeatMs' | 'bounds'>;
  readonly view: Pick<View, 'owns' | 'owner' | 'get' | 'joined'>;
  readonly outbound: Pick<Outbound, 'toMember'>;
  readonly hostOf: (url: string) => Host | null;
  readonly orders: { readonly paused: boolean };
  readonly store: Pick<Store, 'queuedOf'>;
  readonly routing: Pick<Routing, 'enqueue'>;
  readonly activity: () => void;
  readonly visits: Pick<Visits, 'robotsOf' | 'robotsTold'>;
}

export function isOfRobots(message: Message): message is Ask | Told {
  return message.type === 'ROBOTS_ASK' || message.type === 'ROBOTS_TOLD';
}

export class RobotsAsks {
  readonly #p: RobotsAsksParts;
  /** One small entry a host, which is parked: the number of hosts bounds it. Emptied when told. */
  readonly #asking = new Map<Host, Asking>();

  constructor(parts: RobotsAsksParts) {
    this.#p = parts;
  }

  /** Asks from now on, in place of what the host waited for before. */
  begin(redirect: RobotsRedirect, nowMs: number): void {
    const { host, to, left } = redirect;
    const atHost = this.#p.hostOf(fileOf(to));
    // A host that has become another agent's is forgotten, and asked for anew if it comes back.
    if (atHost === null || !this.#p.view.owns(host)) return;
    const passed = new Set([host, atHost]);
    const fresh = { at: to, atHost, left, passed, since: nowMs, askedAt: -Infinity };
    this.#asking.set(host, { redirect, ...fresh });
  }

  isAsking(host: Host, origin: string): boolean {
    return this.#asking.get(host)?.redirect.origin === origin;
  }

  /** Hosts that have become another agent's are its concern; who is to be asked may have changed. */
  viewChanged(): void {
    for (const [host, asking] of this.#asking) {
      if (this.#p.view.owns(host)) asking.askedAt = -Infinity;
      else this.#asking.delete(host);
    }
  }

  /** Whether who has waited for so long waits no more. */
  isOver(waitedMs: number): boolean {
    return waitedMs >= this.#p.settings.bounds.robotsWaitMs;
  }

  pump(now: Instant): void {
    if (this.#asking.size === 0 || !this.#p.view.joined) return;
    const { heartbeatMs } = this.#p.settings;
    let left = ASKS_PER_TURN;
    for (const asking of this.#asking.values()) {
      if (this.#p.orders.paused) asking.since = now.mono;
      else if (this.isOver(now.mono - asking.since)) this.#giveUp(asking, now);
      else if (left > 0 && now.mono - asking.askedAt >= ASK_AGAIN * heartbeatMs) {
        left--;
        this.#ask(asking, now);
      }
    }
  }

  /** From a member of the view, or from this agent itself. */
  onMessage(from: AgentId, message: Ask | Told, now: Instant): void {
    this.#p.activity();
    if (message.type === 'ROBOTS_ASK') this.#onAsk(from, message, now);
    else this.#onTold(from, message, now);
  }

  #tell(to: AgentId, message: Ask | Told, now: Instant): void {
    const { settings, view, outbound } = this.#p;
    if (to === settings.id) return this.onMessage(to, message, now);
    const member = view.get(to);
    if (member) outbound.toMember(member, message);
  }

  // ---- the owner of the host that redirects

  #ask(asking: Asking, now: Instant): void {
    asking.askedAt = now.mono;
    const owner = this.#p.view.owner(asking.atHost);
    if (owner === undefined) return;
    const waitedMs = Math.max(0, now.mono - asking.since);
    const { origin: asker } = asking.redirect;
    this.#tell(owner, { type: 'ROBOTS_ASK', origin: asking.at, asker, waitedMs }, now);
  }

  #onTold(from: AgentId, told: Told, now: Instant): void {
    const host = this.#p.hostOf(fileOf(told.asker));
    const asking = host === null ? undefined : this.#asking.get(host);
    if (asking?.redirect.origin !== told.asker || asking.at !== told.origin) return;
    const where = `${REDIRECTED}${fileOf(asking.at)}`;
    const by = `${where}, told by ${from}`;
    const reason = told.reason === '' ? by : `${by}: ${told.reason}`;
    switch (told.answer) {
      case 'rules':
        return this.#end(asking, { kind: 'rules', reason, body: told.body ?? '' }, now);
      case 'absent':
        return this.#end(asking, { kind: 'allowAll', reason }, now);
      case 'refused':
        return this.#end(
          asking,
          { kind: 'allowAll', reason: `${where}, which ${from} does not ask for` },
          now,
        );
      case 'unreachable':
        return this.#end(asking, { kind: 'unreachable', reason, final: true }, now);
      case 'waiting':
        return this.#end(asking, { kind: 'unreachable', reason, final: false }, now);
      case 'redirect':
        return this.#follow(asking, told, now);
    }
  }

  /** Over a host that was passed already no chain is followed: its hosts would wait for another. */
  #follow(asking: Asking, { to, hops }: Told, now: Instant): void {
    const toHost = to === null ? null : this.#p.hostOf(fileOf(to));
    if (to === null || toHost === null) return;
    asking.left -= Math.max(1, hops);
    const where = `${REDIRECTED}${fileOf(to)}`;
    if (asking.passed.has(toHost)) {
      return this.#end(asking, { kind: 'allowAll', reason: `${where}, in a circle` }, now);
    }
    if (asking.left < 0) {
      return this.#end(asking, { kind: 'allowAll', reason: `${where}, once too often` }, now);
    }
    asking.at = to;
    asking.atHost = toHost;
    asking.passed.add(toHost);
    this.#ask(asking, now);
  }

  #giveUp(asking: Asking, now: Instant): void {
    const reason = `${REDIRECTED}${fileOf(asking.at)}, not told in time`;
    this.#end(asking, { kind: 'unreachable', reason, final: false }, now);
  }

  #end(asking: Asking, word: RobotsWord, now: Instant): void {
    const { host, origin } = asking.redirect;
    this.#asking.delete(host);
    const reason = word.reason.slice(0, REASON_CHARS_MAX);
    this.#p.visits.robotsTold(host, origin, { ...word, reason }, now);
  }

  // ---- the owner of the host whose file it is

  #onAsk(from: AgentId, { origin, asker, waitedMs }: Ask, now: Instant): void {
    const { view, hostOf } = this.#p;
    const host = hostOf(fileOf(origin));
    // The asker repeats it, to whoever it then holds for the owner.
    if (host === null || !view.joined || !view.owns(host)) return;
    const answer = this.#answer(host, { origin, asker, waitedMs }, now);
    if (answer) this.#tell(from, { type: 'ROBOTS_TOLD', origin, asker, ...answer }, now);
  }

  /** Null: not yet. For a host that waits itself nobody waits long, so nobody waits in a circle. */
  #answer(host: Host, ask: Omit<Ask, 'type'>, now: Instant): Answer | null {
    const { origin, asker, waitedMs } = ask;
    const own = this.#asking.get(host)?.redirect;
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
    // It is queued, or another URL is, whose visit may ask for it too.
    const isComing = own !== undefined || this.#p.store.queuedOf(host) > 0;
    if (isComing && !isOldEnough) return null;
    return known ? answerOf(known) : REFUSED;
  }
}

const REFUSED: Answer = { answer: 'refused', reason: '', body: null, to: null, hops: 0 };

function answerOf({ word, leadsTo }: KnownRobots): Answer {
  if (leadsTo) return { ...REFUSED, answer: 'redirect', ...leadsTo };
  const reason = word.reason.slice(0, REASON_CHARS_MAX);
  switch (word.kind) {
    case 'rules':
      return { ...REFUSED, answer: 'rules', reason, body: word.body };
    case 'allowAll':
      return { ...REFUSED, answer: 'absent', reason };
    case 'unreachable':
      return { ...REFUSED, answer: word.final ? 'unreachable' : 'waiting', reason };
  }
}

function fileOf(origin: string): string {
  return `${origin}/robots.txt`;
}
