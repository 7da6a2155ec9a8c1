// Builds the Kademlia overlay of a simulated agent.

import { createHash } from 'node:crypto';
import type { AgentId } from '../../agent/core/protocol/messages.ts';
import type { CoreSettings } from '../../agent/core/protocol/settings.ts';
import { KademliaOverlay } from '../../agent/kademlia/kademlia-overlay.ts';
import type { RingMember } from '../../assignment/assignment.ts';
import type { Key } from '../../assignment/identifiers.ts';
import { Kademlia } from '../../assignment/kademlia.ts';
import { KnownIdentifiers } from '../../assignment/known-identifiers.ts';
import type { Places } from './places.ts';

export interface KademliaPlan {
  /** The agents that each agent knows when it starts. */
  readonly contacts: readonly AgentId[];
  readonly ids: number;
  readonly neighbourhood: number;
  readonly bucketSize: number;
}

const sha1 = (text: string) => createHash('sha1').update(text).digest();
/** By number of identifiers; shared by all agents, because each computes the same. */
const drawn = new Map<number, KnownIdentifiers>();

function identifiersWith(ids: number): KnownIdentifiers {
  const known = drawn.get(ids) ?? new KnownIdentifiers({ sha1, ids });
  drawn.set(ids, known);
  return known;
}

/** The preference lists over all agents. */
export function listsOf(members: readonly RingMember[], { ids }: KademliaPlan): Kademlia {
  return new Kademlia(members, identifiersWith(ids));
}

/** The identifiers of an agent of capacity 1. */
export function keysOf({ ids }: Pick<KademliaPlan, 'ids'>): (id: AgentId) => readonly Key[] {
  const identifiers = identifiersWith(ids);
  return (id) => identifiers.of({ id, capacity: 1 });
}

/** By disk. Not in the state file, because addresses of the simulator have no ports. */
const addresses = new WeakMap<object, readonly string[]>();

function keptOn(disk: object) {
  return {
    read: () => addresses.get(disk) ?? [],
    save: (list: readonly string[]) => void addresses.set(disk, list),
  };
}

export function kademliaOf(
  settings: CoreSettings,
  plan: KademliaPlan,
  disk: object,
  places: Places,
): KademliaOverlay {
  const kept = keptOn(disk);
  const identifiers = identifiersWith(plan.ids);
  const { id, capacity, address, backups, heartbeatMs, suspectAfterMs } = settings;
  // An agent that has never joined is given the present addresses; later ones have stored theirs.
  const isNew = kept.read().length === 0;
  const contacts = plan.contacts.map((one) =>
    isNew || one === id ? places.of(one) : places.inConfig(one),
  );
  return new KademliaOverlay({
    self: { id, capacity, address },
    contacts,
    sha1,
    identifiersOf: (member) => identifiers.of(member),
    fingerprintHash: settings.fingerprintHash,
    bucketSize: plan.bucketSize,
    concurrency: 3,
    neighbourhood: plan.neighbourhood,
    countsPages: settings.pagesMax !== null,
    backups,
    heartbeatMs,
    suspectAfterMs,
    kept,
    random: () => 0.5,
  });
}
