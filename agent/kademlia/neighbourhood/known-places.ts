// The preference lists of hosts, as far as an agent knows them at one moment (docs/OVERLAY.md). They
// follow from the regions of which the agent knows every member, and from the subtrees beside the
// paths to them. Immutable, because the core compares the places before and after a change of the view.

import { bitAt, commonPrefix, KEY_BITS, type Key } from '../../../assignment/identifiers.ts';
import { distanceTo, type Prefix, placesIn, prefixOf, siblingOf } from '../routing/contact.ts';
import { isLong } from '../routing/sorted-keys.ts';

export type NeighbourId = string;

/** A member, as its last message described it. */
export interface Neighbour {
  readonly id: NeighbourId;
  readonly identifiers: readonly Key[];
  readonly joined: boolean;
  /** It takes no hosts: the others decide as if it were not there. */
  readonly drained: boolean;
  /** For each of its identifiers, the length of the region that it watches; absent: unknown. */
  readonly regions: readonly number[];
  /** The same for the region that it knows completely. */
  readonly complete: readonly number[];
}

/** What an agent knows of the preference list of a host. */
export type Place =
  /**
   * The first agents of the list, exactly: at least as many as decide, or all agents. Drained members
   * are also in it, at their distance.
   */
  | { readonly kind: 'known'; readonly order: readonly NeighbourId[] }
  /** Another agent must be asked. */
  | { readonly kind: 'elsewhere' }
  /** This agent may be one of the first, and does not know it yet. */
  | { readonly kind: 'unsure' };

/** A member, with its place beside each path of this agent. */
export interface Placed {
  readonly neighbour: Neighbour;
  /** By path: the levels at which its identifiers leave the path. */
  readonly levels: readonly ReadonlySet<number>[];
  /** By path: the highest of the levels. */
  readonly depths: readonly number[];
}

/** The subtree beside a path at one level. `doubtful`: nobody is known in it, but it may be occupied. */
export type Beside = 'empty' | 'occupied' | 'doubtful';

/** A path of this agent: the way through the trie to one of its identifiers. */
export interface KnownPath {
  readonly key: Key;
  /** Length of the prefix of the region that is completely known; `KEY_BITS`: none is. */
  readonly length: number;
  /** The subtrees beside the path, for each level above the region. */
  readonly beside: readonly Beside[];
}

/** Whether the first agents of a host's preference list are in a path's region. */
type Way =
  /** They are the agents `before` the region, which are all known, and those in it. */
  | { readonly kind: 'inside'; readonly before: readonly Neighbour[] }
  | { readonly kind: 'elsewhere' }
  | { readonly kind: 'doubtful' };

export interface PlacesParts {
  /** Its identifiers are the keys of the paths, in the same order. */
  readonly me: Pick<Neighbour, 'id' | 'identifiers' | 'joined' | 'drained'>;
  readonly paths: readonly KnownPath[];
  readonly members: readonly Placed[];
  /** Agents of a region that count, with which this agent still decides. */
  readonly decides: number;
}

export class Places {
  readonly parts: PlacesParts;
  #different: readonly number[] | null = null;
  /** The results of `fewBeside` by subtree. Bound: 160 for each path. */
  readonly #few = new Map<string, readonly Neighbour[] | null>();

  constructor(parts: PlacesParts) {
    this.parts = parts;
  }

  /** What is known of the preference list of a host with this key. */
  of(host: Key): Place {
    const { paths, members, me, decides } = this.parts;
    let isUnsure = false;
    this.#different ??= differentPaths(paths);
    for (const index of this.#different) {
      const path = paths[index]!;
      const way = this.#wayTo(path, index, host);
      if (way.kind === 'doubtful') isUnsure = true;
      if (way.kind !== 'inside') continue;
      const inside = members.filter(({ depths }) => depths[index]! >= path.length);
      const all = new Set([...way.before, ...inside.map(({ neighbour }) => neighbour)]);
      const counted = [...all, me].filter(counts).length;
      if (path.length > 0 && counted < decides) return { kind: 'unsure' };
      return { kind: 'known', order: this.#orderOf([...all], host) };
    }
    return { kind: isUnsure ? 'unsure' : 'elsewhere' };
  }

  /** All agents that are known, whether or not there are nearer ones. */
  orderOfKnown(host: Key): readonly NeighbourId[] {
    return this.#orderOf(
      this.parts.members.map(({ neighbour }) => neighbour),
      host,
    );
  }

  /**
   * Follows the subtrees that are nearest to a host. The way leads into the path's region if each
   * subtree beside it is empty, or has so few agents that they all watch this one.
   */
  #wayTo({ key, length, beside }: KnownPath, index: number, host: Key): Way {
    if (length === KEY_BITS) return { kind: 'doubtful' };
    const before: Neighbour[] = [];
    let isSure = true;
    for (let level = commonPrefix(key, host); level < length; level++) {
      if (bitAt(key, level) === bitAt(host, level) || beside[level] === 'empty') continue;
      const few = this.fewBeside(index, level);
      if (few) before.push(...few);
      else if (beside[level] === 'occupied') return { kind: 'elsewhere' };
      else isSure = false;
    }
    return isSure ? { kind: 'inside', before } : { kind: 'doubtful' };
  }

  /**
   * All others beside the path at this level, if an agent there watches the subtree above it. The
   * last heartbeat of one that has stopped to do so may be lost, so no other there may contradict.
   */
  fewBeside(index: number, level: number): readonly Neighbour[] | null {
    const { key } = this.parts.paths[index]!;
    const name = nameOf(siblingOf(key, level));
    const noted = this.#few.get(name);
    if (noted !== undefined) return noted;
    const few = this.#membersBeside(key, index, level);
    this.#few.set(name, few);
    return few;
  }

  #membersBeside(key: Key, index: number, level: number): readonly Neighbour[] | null {
    const known: Neighbour[] = [];
    // This agent may itself be there with another identifier.
    const { paths, me } = this.parts;
    const isHere = hasBeside(me.identifiers, key, level, (place) => paths[place]!.length <= level);
    let isShared = isHere;
    for (const { neighbour, levels } of this.parts.members) {
      if (!levels[index]!.has(level)) continue;
      known.push(neighbour);
      if (!isHere && seesMany(neighbour, key, level)) return null;
      isShared ||= seesFew(neighbour, key, level);
    }
    return isShared ? known : null;
  }

  #orderOf(others: readonly Neighbour[], host: Key): NeighbourId[] {
    return [this.parts.me, ...others]
      .map(({ id, identifiers }) => ({ id, distance: distanceTo(host, identifiers) }))
      .sort((a, b) => (a.distance < b.distance ? -1 : 1))
      .map(({ id }) => id);
  }
}

function nameOf({ bits, length }: Prefix): string {
  return `${bits}/${length}`;
}

/**
 * The places of the paths that may lead to different results. Paths of one region are told apart by
 * the subtrees beside them, because each path learns on its own which ones are empty.
 */
function differentPaths(paths: readonly KnownPath[]): readonly number[] {
  const places = new Map<string, number>();
  for (const [index, { key, length, beside }] of paths.entries()) {
    const name = `${nameOf(prefixOf(key, length))} ${beside.join()}`;
    if (!places.has(name)) places.set(name, index);
  }
  return [...places.values()];
}

/** Whether the agent counts for the size of a region. */
export function counts({ joined, drained }: Pick<Neighbour, 'joined' | 'drained'>): boolean {
  return joined && !drained;
}

/** Whether a neighbour beside the path knows all agents there and on the path. */
export function seesFew(neighbour: Neighbour, key: Key, level: number): boolean {
  if (!counts(neighbour)) return false;
  return hasBeside(neighbour.identifiers, key, level, (i) => neighbour.complete[i]! <= level);
}

/** Whether a neighbour beside the path knows so many there that it does not watch the path. */
export function seesMany(neighbour: Neighbour, key: Key, level: number): boolean {
  if (!counts(neighbour)) return false;
  return hasBeside(neighbour.identifiers, key, level, (i) => neighbour.regions[i]! > level);
}

/** Whether the test holds for an identifier beside the path, which is given by its place. */
function hasBeside(
  identifiers: readonly Key[],
  key: Key,
  level: number,
  holds: (place: number) => boolean,
): boolean {
  if (!isLong(identifiers)) {
    return identifiers.some((one, i) => holds(i) && commonPrefix(one, key) === level);
  }
  for (const place of placesIn(identifiers, siblingOf(key, level))) if (holds(place)) return true;
  return false;
}
