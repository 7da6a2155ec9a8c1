// Aborts open requests, each once, and records an event. A server may have processed an aborted
// request, whose URL is requested again later; the event explains the duplicate in the server's
// log.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Budgets } from '../budgets/budgets.ts';
import type { FetchRight } from '../hand-off/fetch-right.ts';
import type { Effects, PageRequest } from '../protocol/effects.ts';
import type { EventLog } from '../protocol/event-log.ts';
import type { CoreSettings } from '../protocol/settings.ts';

/** Maximum number of hosts in an event. */
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
  /** Requests that are aborted or answered, and have not ended yet: nothing is left to abort. */
  readonly #over = new Set<number>();
  /** When each open request lost its lease. */
  readonly #lapsedAt = new Map<number, number>();

  constructor(parts: AbortsParts) {
    this.#p = parts;
  }

  /** Aborts the requests, except those that are aborted already. */
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

  /** Aborts the open requests that have lost their permit or lease. */
  judge(open: Iterable<OpenRequest>, now: Instant): void {
    const { permits } = this.#p.budgets;
    const withoutPermit: OpenRequest[] = [];
    const unleased: OpenRequest[] = [];
    for (const request of open) {
      if (permits?.mayGoOn(request.host, now) === false) withoutPermit.push(request);
      if (this.#outlivesLease(request, now)) unleased.push(request);
    }
    this.abort(withoutPermit, 'its address permit expired', now);
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
   * How long an open request may continue without a lease. The earliest takeover is `suspectAfterMs
   * - leaseMs` after the lapse, at least 1.2 heartbeat intervals. A lease grantor that has just
   * joined gets half of that time for its first echo, which may be slow on a busy machine.
   */
  #graceMs(host: string): number {
    const { heartbeatMs, suspectAfterMs, leaseMs } = this.#p.settings;
    const isNew = this.#p.right.isLeaseGrantorNew(host);
    return isNew ? (suspectAfterMs - leaseMs) / 2 : heartbeatMs / 2;
  }

  /** The response has arrived and is being processed. */
  answered(request: number): void {
    this.#over.add(request);
  }

  ended(request: number): void {
    this.#over.delete(request);
    this.#lapsedAt.delete(request);
  }
}
