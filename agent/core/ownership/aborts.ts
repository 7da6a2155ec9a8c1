// Open requests that this agent gives up, each once, and the word of it in `events`: the server may
// have answered such a request, and its URL is asked for again, so whoever finds a URL twice in a
// server's log finds the reason here.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Budgets } from '../budgets/budgets.ts';
import type { FetchRight } from '../hand-off/fetch-right.ts';
import type { Effects, PageRequest } from '../protocol/effects.ts';
import type { EventLog } from '../protocol/event-log.ts';
import type { CoreSettings } from '../protocol/settings.ts';

/** Hosts that an event names, of all that its requests went to. */
const HOSTS_NAMED_MAX = 8;

export interface AbortsParts {
  readonly settings: Pick<CoreSettings, 'heartbeatMs' | 'suspectAfterMs' | 'leaseMs'>;
  readonly effects: Effects;
  readonly events: EventLog;
  readonly right: Pick<FetchRight, 'mayGoOn' | 'isLeaseGrantorNew'>;
  readonly budgets: Pick<Budgets, 'permits'>;
}

type OpenRequest = Pick<PageRequest, 'id' | 'host'>;

export class Aborts {
  readonly #p: AbortsParts;
  /** Given up, or answered, and not ended yet: there is nothing to give up any more. */
  readonly #over = new Set<number>();
  /** Open requests without a lease, and since when. */
  readonly #lapsedAt = new Map<number, number>();

  constructor(parts: AbortsParts) {
    this.#p = parts;
  }

  /** Gives up those of the requests that are not given up yet. */
  abort(requests: Iterable<OpenRequest>, why: string, now: Instant): void {
    const hosts: string[] = [];
    for (const { id, host } of requests) {
      if (this.#over.has(id)) continue;
      this.#over.add(id);
      this.#p.effects.push({ type: 'abort', request: id });
      hosts.push(host);
    }
    if (hosts.length === 0) return;
    const named = hosts.slice(0, HOSTS_NAMED_MAX);
    this.#p.events.record(now.mono, 'abort', { why, requests: hosts.length, hosts: named });
  }

  /** Gives up what may not go on by now, of all that is open. */
  judge(open: Iterable<OpenRequest>, now: Instant): void {
    const { permits } = this.#p.budgets;
    const withoutPermit: OpenRequest[] = [];
    const unleased: OpenRequest[] = [];
    for (const request of open) {
      if (permits?.mayGoOn(request.host, now) === false) withoutPermit.push(request);
      if (this.#outlivesLease(request, now)) unleased.push(request);
    }
    this.abort(withoutPermit, 'its permit is over', now);
    this.abort(unleased, 'the lease lapsed', now);
  }

  /** Whether an open request has had no lease for longer than {@link #graceMs}. */
  #outlivesLease({ id, host }: OpenRequest, now: Instant): boolean {
    if (this.#p.right.mayGoOn(host, now)) this.#lapsedAt.delete(id);
    else if (!this.#lapsedAt.has(id)) this.#lapsedAt.set(id, now.mono);
    else return now.mono - this.#lapsedAt.get(id)! >= this.#graceMs(host);
    return false;
  }

  /**
   * How long an open request may go on without a lease. A takeover comes `suspectAfterMs - leaseMs`
   * after the lapse at the earliest, which is at least 1.2 heartbeat intervals. A lease grantor that
   * has just joined owes its first echo, which takes it a while on a busy machine: it gets half of
   * that time.
   */
  #graceMs(host: string): number {
    const { heartbeatMs, suspectAfterMs, leaseMs } = this.#p.settings;
    const isNew = this.#p.right.isLeaseGrantorNew(host);
    return isNew ? (suspectAfterMs - leaseMs) / 2 : heartbeatMs / 2;
  }

  /** Its answer has come, and is being taken in. */
  answered(request: number): void {
    this.#over.add(request);
  }

  ended(request: number): void {
    this.#over.delete(request);
    this.#lapsedAt.delete(request);
  }
}
