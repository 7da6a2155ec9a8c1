// Starts a simulated cluster in the state of one that has run for a while: each agent knows the
// members that it needs, and the contacts that its routing table has room for. So a large cluster
// can be measured without its joins, whose cost grows faster than its size. The agents greet each
// other and join by the protocol, but the network lets them say too early that they have joined.
// Otherwise each would watch all others, as in a cluster that begins.

import type { AgentId, Envelope, Message, News } from '../agent/core/protocol/messages.ts';
import { endOf, type Prefix, prefixOf, siblingOf } from '../agent/kademlia/routing/contact.ts';
import { firstAtOrAfter } from '../assignment/kademlia.ts';
import type { Cluster } from '../test/simulation/cluster.ts';
import type { Random } from '../test/simulation/random.ts';
import { leavesOf, neighboursOf } from './kademlia-bare.ts';

export interface Known {
  /** By agent. */
  readonly members: ReadonlyMap<AgentId, readonly AgentId[]>;
  readonly contacts: ReadonlyMap<AgentId, readonly AgentId[]>;
}

interface KnownSize {
  readonly agents: number;
  readonly ids: number;
  readonly neighbourhood: number;
  readonly bucketSize: number;
}

const nameOf = (agent: number): AgentId => `a${agent + 1}`;

/** What the agents a1, a2 and so on know. */
export function knownTo(size: KnownSize, random: Random): Known {
  const { agents, ids, neighbourhood, bucketSize } = size;
  const leaves = leavesOf(agents, ids);
  // An agent that has not joined does not count itself. Later it parts from those it need not know.
  const members = neighboursOf(leaves, agents, neighbourhood + 1);
  const keys = leaves.map(({ key }) => key);
  const agentsIn = (region: Prefix) => {
    const [from, to] = [region.bits, endOf(region)].map((key) => firstAtOrAfter(keys, key));
    return new Set(leaves.slice(from, to).map(({ agent }) => agent));
  };
  const contacts = members.map(() => new Set<number>());
  for (const { key, agent } of leaves) {
    for (let level = 0; agentsIn(prefixOf(key, level)).size > 1; level++) {
      const others = [...agentsIn(siblingOf(key, level))].filter((one) => one !== agent);
      for (const one of sample(others, bucketSize, random)) contacts[agent]!.add(one);
    }
  }
  const named = (sets: readonly ReadonlySet<number>[]) =>
    new Map(sets.map((set, agent) => [nameOf(agent), [...set].map(nameOf)]));
  return { members: named(members), contacts: named(contacts) };
}

function sample<T>(items: readonly T[], count: number, random: Random): T[] {
  const rest = [...items];
  const taken: T[] = [];
  while (taken.length < count && rest.length > 0) {
    taken.push(...rest.splice(random.whole(0, rest.length - 1), 1));
  }
  return taken;
}

/** After which all agents have greeted their members. */
const greetedMs = 60;
/** Moments in a period at which some agents send their heartbeats. */
const beatMoments = 10;

/**
 * Lost until all have greeted their members: a region is right when its members are known, and what
 * an agent answers about a region depends on its contacts.
 */
const early: ReadonlySet<Message['type']> = new Set(['PING', 'REGION_ASK']);

export class Restart {
  readonly #known: Known;
  #state: 'greeting' | 'joining' | 'over' = 'greeting';

  constructor(known: Known) {
    this.#known = known;
  }

  /**
   * Starts all agents.
   *
   * @param joinMs - after which they have joined
   */
  begin(cluster: Cluster, heartbeatMs: number, joinMs: number): void {
    cluster.startAll();
    cluster.at(cluster.now + greetedMs, () => {
      this.#state = 'joining';
      this.#meetContacts(cluster);
    });
    cluster.at(cluster.now + joinMs, () => {
      this.#state = 'over';
      // The heartbeats of agents that joined at one moment would always arrive at one moment.
      for (const [k, { id }] of [...cluster.agents.values()].entries()) {
        cluster.stall(id, ((k % beatMoments) * heartbeatMs) / beatMoments);
      }
    });
  }

  /** The message as the network delivers it; null: it is lost. */
  seen(envelope: Envelope): Envelope | null {
    if (this.#state === 'over') return envelope;
    if (this.#state === 'greeting' && early.has(envelope.message.type)) return null;
    return asJoined(envelope, this.#known);
  }

  /** The contacts answer pings, so that they enter the routing tables. */
  #meetContacts(cluster: Cluster): void {
    const { contacts } = this.#known;
    const incs = new Map([...contacts.keys()].map((id) => [id, cluster.snapshot(id).incarnation]));
    const about = { capacity: 1, fingerprintHash: 'same', joined: true, answer: true };
    for (const [id, known] of contacts) {
      const to = { id, inc: incs.get(id)! };
      for (const one of known) {
        const message: Message = { type: 'PING', address: cluster.places.of(one), ...about };
        cluster.deliver(id, { from: { id: one, inc: incs.get(one)! }, to, message });
      }
    }
  }
}

/** The message as if its sender and all members had joined and knew each other's regions. */
function asJoined(envelope: Envelope, { members }: Known): Envelope {
  const { message, from, to } = envelope;
  const needed = new Set(members.get(to.id)).add(to.id).add(from.id);
  const told = (news: readonly News[]) =>
    news.filter(({ id }) => needed.has(id)).map((one) => ({ ...one, joined: true }));
  switch (message.type) {
    case 'HEARTBEAT':
      return { ...envelope, message: { ...message, joined: true, news: told(message.news) } };
    case 'WELCOME':
      return { ...envelope, message: { ...message, members: told(message.members) } };
    default:
      return envelope;
  }
}
