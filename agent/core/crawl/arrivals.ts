// Records the outcomes of requests. The URLs that a response names are routed first, in pieces, and
// the page is recorded with the last piece. Until then the page counts as open: its host gets no
// other request and is not yielded, and after a crash the page is fetched again. So no link is lost
// that was in memory only.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Routing } from '../exchange/routing.ts';
import type { Aborts } from '../ownership/aborts.ts';
import type { Backlog, Task } from '../protocol/backlog.ts';
import type { Outcome } from '../protocol/outcome.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { NamedUrls, Visits } from '../protocol/visits-port.ts';
import type { Settlement, UnsettledPage } from '../replication/settlement.ts';

interface ArrivalsParts {
  readonly settings: Pick<CoreSettings, 'bounds'>;
  readonly backlog: Backlog;
  readonly visits: Visits;
  readonly routing: Routing;
  readonly settlement: Settlement;
  readonly aborts: Aborts;
}

export class Arrivals {
  readonly #p: ArrivalsParts;

  constructor(parts: ArrivalsParts) {
    this.#p = parts;
  }

  take(outcome: Outcome, now: Instant): void {
    const { visits, settlement, aborts, backlog } = this.#p;
    aborts.answered(outcome.request.id);
    const named = visits.namedBy(outcome);
    if (named.count === 0) return this.#finish(outcome, null, now);
    const { host, url } = outcome.request;
    const page = outcome.kind === 'response' ? settlement.begin(host, url) : null;
    backlog.start(this.#taskOf(outcome, named, page), now);
  }

  #taskOf(outcome: Outcome, named: NamedUrls, page: UnsettledPage | null): Task {
    const { routing, settlement, settings } = this.#p;
    let next = 0;
    return {
      step: (now) => {
        const end = Math.min(next + settings.bounds.pieceUrls, named.count);
        const places = routing.routeLinks(named.part(next, end));
        next = end;
        if (page) settlement.linksWentTo(page, places);
        if (next < named.count) return false;
        this.#finish(outcome, page, now);
        return true;
      },
    };
  }

  /** @param begun - the page whose links were routed; null: no links were routed for a page */
  #finish(outcome: Outcome, begun: UnsettledPage | null, now: Instant): void {
    const { visits, settlement, aborts } = this.#p;
    aborts.ended(outcome.request.id);
    const { page } = visits.finish(outcome, now);
    if (page) settlement.recorded(begun ?? settlement.begin(page.host, page.url), now);
    else if (begun) settlement.withdrawn(begun);
  }
}
