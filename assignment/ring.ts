// Consistent hashing as UbiCrawler does it: agents have many points on a circle, a host lies at one
// place, and the agent with the nearest point owns it, whichever way round. An agent builds one
// ring per view and asks it for each link found. Points of other agents never move when one comes
// or goes, which is all that contravariance needs.

import type { Assignment, RingMember } from './assignment.ts';
import { buildCircle, type Circle, firstAtOrAfter } from './circle.ts';
import { RecentOrders } from './recent-orders.ts';
import { type RingOptions, RingPoints, wordAt } from './ring-points.ts';

/** Places of the circle, 2^64, as a double. */
const circumference = 2 ** 64;

/**
 * Agents of an order worked out at once: owner, who would take over (its lease) and one more
 * backup. They lie within a few points, so asking for them one by one would cost more.
 */
const orderAhead = 3;

/** Assignment by the nearest point. Immutable apart from its cache. */
export class Ring implements Assignment {
  readonly #circle: Circle;
  readonly #options: RingOptions;
  /** Filled by each look-up, emptied by itself. */
  readonly #recent = new RecentOrders();

  /**
   * @param members agents of the view, in any order; throws where two have one identifier.
   * @param options best a `RingPoints` that the caller keeps, so that points are drawn once.
   */
  constructor(members: readonly RingMember[], options: RingOptions) {
    this.#options = options;
    this.#circle = buildCircle(
      members,
      options instanceof RingPoints ? options : new RingPoints(options),
    );
  }

  owner(host: string): string | undefined {
    return this.#firstOf(host, 1)[0];
  }

  order(host: string, count = this.#circle.ids.length): readonly string[] {
    const wanted = Math.max(0, Math.min(count, this.#circle.ids.length));
    const order = this.#firstOf(host, wanted);
    return order.length === wanted ? order : order.slice(0, wanted);
  }

  /** The fraction of the circle that each agent owns; they add up to 1. */
  shares(): Map<string, number> {
    const { ids, places, agents } = this.#circle;
    const owned = new Map<string, number>(ids.map((id) => [id, 0]));
    const give = (agent: number, span: number): void => {
      const id = ids[agent]!;
      owned.set(id, owned.get(id)! + span / circumference);
    };
    let below = 0;
    for (let i = 1; i < places.length; i++) {
      const gap = Number(places[i]! - places[i - 1]!);
      // Of several agents at one place the first by identifier owns both sides of it.
      if (gap === 0) continue;
      give(agents[below]!, gap / 2);
      give(agents[i]!, gap / 2);
      below = i;
    }
    if (places.length === 0) return owned;
    // The gap that holds place 0; the whole circle where all points share one place.
    const around = circumference - Number(places.at(-1)! - places[0]!);
    give(agents[below]!, around / 2);
    give(agents[0]!, around / 2);
    return owned;
  }

  /** How many points each agent has. */
  pointCounts(): Map<string, number> {
    const counts = new Map<string, number>(this.#circle.ids.map((id) => [id, 0]));
    for (const agent of this.#circle.agents) {
      const id = this.#circle.ids[agent]!;
      counts.set(id, counts.get(id)! + 1);
    }
    return counts;
  }

  /** At least the first `wanted` of the order, from the cache where it reaches so far. */
  #firstOf(host: string, wanted: number): readonly string[] {
    const recent = this.#recent.get(host);
    if (recent !== undefined && recent.length >= wanted) return recent;
    const ahead = Math.min(Math.max(wanted, orderAhead), this.#circle.ids.length);
    const place = wordAt(this.#options.sha256(host), 0);
    const order = nearestAgents(this.#circle, place, ahead).map((n) => this.#circle.ids[n]!);
    this.#recent.set(host, order);
    return order;
  }
}

/**
 * Numbers of the `count` agents nearest to `place`, each once, ties by number. Walks away from the
 * place both ways at once, always on the side that is nearer; no point is passed twice.
 */
function nearestAgents(circle: Circle, place: bigint, count: number): number[] {
  const { places, agents } = circle;
  const total = places.length;
  const found: number[] = [];
  let up = firstAtOrAfter(places, place) % total;
  let down = (up + total - 1) % total;
  for (let passed = 0; found.length < count && passed < total; ) {
    const above = BigInt.asUintN(64, places[up]! - place);
    const below = BigInt.asUintN(64, place - places[down]!);
    const nearest = above < below ? above : below;
    const tied: number[] = [];
    for (; passed < total && BigInt.asUintN(64, places[up]! - place) === nearest; passed++) {
      tied.push(agents[up]!);
      up = (up + 1) % total;
    }
    for (; passed < total && BigInt.asUintN(64, place - places[down]!) === nearest; passed++) {
      tied.push(agents[down]!);
      down = (down + total - 1) % total;
    }
    if (tied.length > 1) tied.sort((a, b) => a - b);
    for (const agent of tied) if (!found.includes(agent)) found.push(agent);
  }
  return found.length > count ? found.slice(0, count) : found;
}
