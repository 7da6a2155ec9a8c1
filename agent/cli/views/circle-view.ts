// The space of host keys as agents divide it among themselves, now or at an earlier time.

import type { TrieNode } from '../../../assignment/kademlia.ts';
import { placementOf } from '../../composition/placement.ts';
import { assertNever } from '../../core/protocol/assert-never.ts';
import type { AgentStatus } from '../../monitor/agent-status.ts';
import type { ResolvedConfig } from '../common/load-config.ts';

/** Slices of the space of host keys: more could not be told apart on a screen. */
const SLICES = 720;
/** Below so many forks, a part of the trie is narrower than two slices. */
const FORKS_MAX = 9;

/** An agent that takes part in a view of the cluster. */
export type Part = { readonly id: string; readonly capacity: number };

/** The owners of the slices as one group of agents sees them. */
export interface CircleView {
  /** The agents with this view. */
  readonly seenBy: readonly string[];
  readonly agents: readonly Part[];
  /** For each slice, the index in `agents` of the one that owns most of it. */
  readonly slices: readonly number[];
  /** Fraction of the space, by agent. */
  readonly shares: Readonly<Record<string, number>>;
  /**
   * With the overlay kademlia: the trie of the identifiers in pre-order. A fork is the number of bits
   * that its identifiers have in common; a leaf is -1 minus the index of its agent; null is a part
   * that is too small to be shown. Each side of a fork owns half of its keys.
   */
  readonly trie?: readonly (number | null)[];
}

export interface Circle {
  readonly overlay: ResolvedConfig['cluster']['overlay'];
  readonly views: readonly CircleView[];
}

type Cluster = ResolvedConfig['cluster'];

/** The circles of the present members; many dashboards ask for the same one every second. */
export class Circles {
  readonly #cluster: Cluster;
  #last: { readonly key: string; readonly circle: Circle } | null = null;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** With the overlay kademlia, agents know only some others, so the views are united. */
  of(agents: readonly AgentStatus[]): Circle {
    const { overlay } = this.#cluster;
    const capacities = capacitiesOf(agents);
    const joined = agents.filter((one) => one.joined);
    const views = joined.map((agent) => viewOf(agent, capacities));
    const all = new Map(views.flat().map((part) => [part.id, part]));
    const groups = new Map<string, { seenBy: string[]; parts: readonly Part[] }>();
    for (const [i, agent] of joined.entries()) {
      const parts = overlay === 'ring' ? views[i]! : [...all.values()];
      const group = groups.get(JSON.stringify(parts)) ?? { seenBy: [], parts };
      group.seenBy.push(agent.id);
      groups.set(JSON.stringify(parts), group);
    }
    const seen = [...groups.values()];
    const key = JSON.stringify(seen);
    if (this.#last?.key === key) return this.#last.circle;
    const circle = {
      overlay,
      views: seen.map(({ seenBy, parts }) => circleView(this.#cluster, seenBy, parts)),
    };
    this.#last = { key, circle };
    return circle;
  }
}

export function circleView(
  cluster: Cluster,
  seenBy: readonly string[],
  agents: readonly Part[],
): CircleView {
  const placement = placementOf(cluster, agents);
  const index = new Map(agents.map(({ id }, i) => [id, i]));
  const slices: number[] = [];
  let within = new Map<number, number>();
  let filled = 0;
  const close = () => {
    const most = [...within].reduce((a, b) => (b[1] > a[1] ? b : a));
    slices.push(most[0]);
    within = new Map();
    filled = 0;
  };
  for (const { id, share } of placement.arcs()) {
    const owner = index.get(id)!;
    for (let left = share * SLICES; left > 1e-9; ) {
      const part = Math.min(left, 1 - filled);
      within.set(owner, (within.get(owner) ?? 0) + part);
      filled += part;
      left -= part;
      if (filled >= 1 - 1e-9 && slices.length < SLICES) close();
    }
  }
  if (within.size > 0 && slices.length < SLICES) close();
  const trie =
    placement.trie && [...placement.trie(FORKS_MAX)].map((node) => numberOf(node, index));
  const shares = Object.fromEntries(placement.shares());
  return { seenBy, agents, slices, shares, ...(trie && { trie }) };
}

function numberOf(node: TrieNode, index: ReadonlyMap<string, number>): number | null {
  switch (node.kind) {
    case 'fork':
      return node.depth;
    case 'leaf':
      return -1 - index.get(node.id)!;
    case 'deeper':
      return null;
    default:
      return assertNever(node);
  }
}

/** The agents of the view of `agent`, by identifier. */
export function viewOf(
  { id, members }: AgentStatus,
  capacities: ReadonlyMap<string, number>,
): Part[] {
  const others = members.filter(({ joined, leaving }) => joined && !leaving);
  const ids = [id, ...others.map((one) => one.id)].sort();
  return ids.map((one) => ({ id: one, capacity: capacities.get(one) ?? 1 }));
}

export function capacitiesOf(agents: readonly AgentStatus[]): ReadonlyMap<string, number> {
  const all = agents.flatMap((agent) => [...agent.members, agent]);
  return new Map(all.map(({ id, capacity }) => [id, capacity]));
}
