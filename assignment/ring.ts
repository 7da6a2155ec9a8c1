// Consistent hashing as in UbiCrawler. Each agent has many points on a circle, and each host has one
// place. The agent with the nearest point, in either direction, owns the host. Adding or removing
// an agent does not move the points of the others, which gives contravariance. A drained agent has no
// points. If all agents are drained, all lists are empty.

import {
  type Arc,
  type Assignment,
  drainedApart,
  type RingMember,
  sharesOf,
  withDrained,
} from './assignment.ts';
import { buildCircle, type Circle, firstAtOrAfter } from './circle.ts';
import { RecentOrders } from './recent-orders.ts';
import { type RingOptions, wordAt } from './ring-points.ts';

/** Number of places on the circle. */
const circumference = 2 ** 64;

/** Immutable, except for its cache. */
export class Ring implements Assignment {
  readonly #circle: Circle;
  /** Null: no agent is drained. */
  readonly #drained: Ring | null;
  readonly #options: RingOptions;
  readonly #recent = new RecentOrders();

  /** The parameters and errors are those of `buildCircle`. */
  constructor(members: readonly RingMember[], options: RingOptions) {
    this.#options = options;
    const { others, drained } = drainedApart(members);
    this.#circle = buildCircle(others, options);
    this.#drained = drained.length === 0 ? null : new Ring(drained, options);
  }

  owner(host: string): string | undefined {
    return this.#recent.first(host, 1, this.#nearest)[0];
  }

  order(host: string, count = Infinity): readonly string[] {
    return withDrained(this.#placed(host, count), this.#drained, host, count);
  }

  #placed(host: string, count: number): readonly string[] {
    const wanted = Math.max(0, Math.min(count, this.#circle.ids.length));
    const order = this.#recent.first(host, wanted, this.#nearest);
    return order.length === wanted ? order : order.slice(0, wanted);
  }

  /** The fraction of the circle that each agent owns. The sum is 1. */
  shares(): Map<string, number> {
    return sharesOf(this.#ids, this.arcs());
  }

  /** The arcs in the order of the circle, from the first point upwards. */
  *arcs(): Generator<Arc> {
    const { ids, places, agents } = this.#circle;
    const arc = (agent: number, span: number): Arc => {
      return { id: ids[agent]!, share: span / circumference };
    };
    let below = 0;
    for (let i = 1; i < places.length; i++) {
      const gap = Number(places[i]! - places[i - 1]!);
      // If several agents have this point, the first by identifier owns both sides of it.
      if (gap === 0) continue;
      yield arc(agents[below]!, gap / 2);
      yield arc(agents[i]!, gap / 2);
      below = i;
    }
    if (places.length === 0) return;
    // The gap around place 0. It is the whole circle if all points are equal.
    const around = circumference - Number(places.at(-1)! - places[0]!);
    yield arc(agents[below]!, around / 2);
    yield arc(agents[0]!, around / 2);
  }

  /** Number of points of each agent. */
  pointCounts(): Map<string, number> {
    const counts = new Map<string, number>(this.#ids.map((id) => [id, 0]));
    for (const agent of this.#circle.agents) {
      const id = this.#circle.ids[agent]!;
      counts.set(id, counts.get(id)! + 1);
    }
    return counts;
  }

  /** All agents, those without points last. */
  get #ids(): readonly string[] {
    return [...this.#circle.ids, ...(this.#drained ? this.#drained.#circle.ids : [])];
  }

  readonly #nearest = (host: string, count: number): string[] => {
    const { ids } = this.#circle;
    const place = wordAt(this.#options.sha256(host), 0);
    // A search for more agents than there are would visit every point.
    return nearestAgents(this.#circle, place, Math.min(count, ids.length)).map((n) => ids[n]!);
  };
}

/**
 * Numbers of the `count` agents nearest to `place`, without duplicates; ties are broken by number.
 * Walks in both directions from the place and visits the nearer point first, each point once.
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
