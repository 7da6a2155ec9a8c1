// The visits as the parts of the core know them that the visits themselves need: the links and the
// answers of other agents give the visits work, and the visits ask these parts before a request. The
// wiring makes this object first, and connects it once the visits exist.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Host } from '../protocol/messages.ts';
import type { KnownRobots, RobotsWord, Visits } from '../protocol/visits-port.ts';

type Called = 'schedule' | 'wake' | 'recheck' | 'recheckAll' | 'robotsOf' | 'robotsTold';

export class VisitsCalls implements Pick<Visits, Called> {
  #visits!: Pick<Visits, Called>;

  connect(visits: Pick<Visits, Called>): void {
    this.#visits = visits;
  }

  schedule(host: Host): void {
    this.#visits.schedule(host);
  }

  wake(host: Host): void {
    this.#visits.wake(host);
  }

  recheck(host: Host, now: Instant): void {
    this.#visits.recheck(host, now);
  }

  recheckAll(now: Instant, named?: (host: Host) => boolean): void {
    this.#visits.recheckAll(now, named);
  }

  robotsOf(host: Host, origin: string, now: Instant): KnownRobots | null {
    return this.#visits.robotsOf(host, origin, now);
  }

  robotsTold(host: Host, origin: string, word: RobotsWord, now: Instant): void {
    this.#visits.robotsTold(host, origin, word, now);
  }
}
