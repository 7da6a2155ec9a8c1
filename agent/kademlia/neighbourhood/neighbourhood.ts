// Which other agents this agent must know, and for which hosts it can decide alone (docs/OVERLAY.md).
// Each identifier of this agent has a region: a subtree of the key space of which this agent knows
// every member. A region is as small as possible with `size` joined members, so the state does not
// grow with the cluster. For each level above the region this agent knows whether the subtree beside
// its path is empty. From both it follows for which hosts the first members of the preference list
// are all known here. Drained agents do not count for all that: they are only members of the others.

import { KEY_BITS, type Key } from '../../../assignment/identifiers.ts';
import { hasAny, type Prefix, placesIn, prefixOf, siblingOf } from '../routing/contact.ts';
import { IdentifierIndex } from '../routing/identifier-index.ts';
import { firstFrom, levelsBeside } from '../routing/sorted-keys.ts';
import type { LedPath } from '../tree/duties.ts';
import {
  type Beside,
  counts,
  type Neighbour,
  type NeighbourId,
  type Placed,
  Places,
  seesFew,
  seesMany,
} from './known-places.ts';

export interface NeighbourhoodSettings {
  /** Members of a region that count, at least, unless the cluster has fewer: m in the protocol. */
  readonly size: number;
  /** Members of a region that count, with which this agent still decides: `backups + 2`. */
  readonly decides: number;
}

/** The agents outside the view that take hosts and of which this agent has heard. */
export interface Contacts {
  hasIn(region: Prefix): boolean;
}

/** An answer to the question who is in a region. */
export interface RegionAnswer {
  /** For each bit of the region's prefix, whether its sender knows nobody beside that bit. */
  readonly empty: readonly boolean[];
}

/** A question to a member: whom it knows in the region. */
export interface Question {
  readonly to: NeighbourId;
  readonly region: Prefix;
}

interface Path {
  readonly index: number;
  readonly key: Key;
  /** The levels at which this agent's other identifiers leave the path. */
  readonly own: ReadonlySet<number>;
  /** By level: how many members that take hosts have an identifier in the subtree beside it. */
  readonly beside: Uint32Array;
  /** Length of the region that is completely known; `KEY_BITS`: only this agent is. */
  complete: number;
  /** Length of the region that is to be known; less than `complete` while it is being learned. */
  target: number;
  /** The answers of this region's members since the target or a level has changed. */
  readonly answers: Map<NeighbourId, RegionAnswer>;
  /** Levels above the region whose siblings are known to be empty. */
  readonly empty: Set<number>;
}

export class Neighbourhood {
  readonly #me: NeighbourId;
  readonly #mine: readonly Key[];
  readonly #drained: boolean;
  readonly #settings: NeighbourhoodSettings;
  readonly #contacts: Contacts;
  readonly #members = new Map<NeighbourId, Placed>();
  /** The identifiers of the members. */
  readonly #index = new IdentifierIndex<NeighbourId>();
  readonly #paths: readonly Path[];
  /** Agents that were named in a region of this agent and have neither answered nor expired. */
  readonly #named = new Map<NeighbourId, readonly Key[]>();
  #joined = false;
  /** Grows with each change on which `places` depends, except of the contacts. */
  changes = 0;

  constructor(
    me: Pick<Neighbour, 'id' | 'identifiers' | 'drained'>,
    settings: NeighbourhoodSettings,
    contacts: Contacts,
  ) {
    this.#me = me.id;
    this.#mine = me.identifiers;
    this.#drained = me.drained;
    const others = me.drained ? [] : me.identifiers;
    this.#settings = settings;
    this.#contacts = contacts;
    const levels = levelsBeside(me.identifiers, others);
    this.#paths = me.identifiers.map((key, index) => {
      const own = levels[index]!;
      const region = { complete: KEY_BITS, target: 0 };
      const beside = new Uint32Array(KEY_BITS + 1);
      return { index, key, own, beside, ...region, answers: new Map(), empty: new Set<number>() };
    });
  }

  get joined(): boolean {
    return this.#joined;
  }

  /** This agent has joined. Without members it is the first, and the whole space is its region. */
  join(): void {
    this.#joined = true;
    if (this.#members.size === 0) for (const path of this.#paths) path.complete = 0;
    this.#aim();
  }

  // ---- members

  /** A member was added, or has described itself anew. */
  put(neighbour: Neighbour): void {
    const known = this.#members.get(neighbour.id);
    if (known && isSame(known.neighbour, neighbour)) return;
    const levels = known?.levels ?? levelsBeside(this.#mine, neighbour.identifiers);
    const depths = known?.depths ?? levels.map((of) => Math.max(...of));
    this.#members.set(neighbour.id, { neighbour, levels, depths });
    this.#named.delete(neighbour.id);
    if (!known) this.#index.add(neighbour.id, neighbour.identifiers, neighbour.id);
    for (const { index, beside, empty } of this.#paths) {
      if (neighbour.drained) continue;
      for (const level of levels[index]!) {
        empty.delete(level);
        if (!known) beside[level]!++;
      }
    }
    this.#aim();
  }

  /** A member was removed, or this agent stops to watch it. */
  remove(id: NeighbourId): void {
    const member = this.#members.get(id);
    if (member) {
      this.#members.delete(id);
      this.#index.delete(id, member.neighbour.identifiers);
      for (const { index, beside, answers } of this.#paths) {
        answers.delete(id);
        if (member.neighbour.drained) continue;
        for (const level of member.levels[index]!) beside[level]!--;
      }
    }
    this.#aim();
  }

  get(id: NeighbourId): Neighbour | undefined {
    return this.#members.get(id)?.neighbour;
  }

  *members(): Iterable<Neighbour> {
    for (const { neighbour } of this.#members.values()) yield neighbour;
  }

  has(id: NeighbourId): boolean {
    return this.#members.has(id);
  }

  /** The lengths of the regions that this agent watches, one for each of its identifiers. */
  regions(): number[] {
    return this.#paths.map(({ complete, target }) => Math.min(complete, target));
  }

  /** The lengths of the regions that this agent knows completely. */
  completeRegions(): number[] {
    return this.#paths.map(({ complete }) => complete);
  }

  /** Whether an agent lies in a region of this agent. */
  needs(identifiers: readonly Key[]): boolean {
    return this.#paths.some((path) => hasAny(identifiers, watched(path)));
  }

  /** The same for a member. */
  needsMember(id: NeighbourId): boolean {
    const member = this.#members.get(id);
    if (!member) return false;
    return this.#paths.some(
      ({ index, complete, target }) => member.depths[index]! >= Math.min(complete, target),
    );
  }

  /** The members in the regions of a member; null: all, because it has not told all its regions. */
  watchedBy(id: NeighbourId): ReadonlySet<NeighbourId> | null {
    const member = this.#members.get(id)?.neighbour;
    if (!member) return null;
    const inside = new Set<NeighbourId>();
    for (const [i, key] of member.identifiers.entries()) {
      const length = member.regions[i] ?? 0;
      if (length === 0) return null;
      for (const one of this.#index.within(prefixOf(key, length))) inside.add(one);
    }
    return inside;
  }

  /** Whether this agent lies in a region of the member. */
  isNeededBy({ identifiers, regions }: Neighbour): boolean {
    return identifiers.some((key, i) => hasAny(this.#mine, prefixOf(key, regions[i] ?? 0)));
  }

  /** Whether the member shows that others beside a path no longer watch it, as they once said. */
  contradicts(id: NeighbourId): boolean {
    const member = this.#members.get(id);
    if (!member) return false;
    const others = [...this.#members.values()].map(({ neighbour }) => neighbour);
    return this.#paths.some(({ index, key, complete }) =>
      [...member.levels[index]!].some(
        (level) =>
          level < complete &&
          seesMany(member.neighbour, key, level) &&
          others.some((other) => seesFew(other, key, level)),
      ),
    );
  }

  // ---- regions

  /** Another agent named an agent that is no member. Returns whether this agent must greet it. */
  named(id: NeighbourId, identifiers: readonly Key[]): boolean {
    if (id === this.#me || this.#members.has(id) || !this.needs(identifiers)) return false;
    this.#named.set(id, identifiers);
    return true;
  }

  /** A named agent has not answered for so long that it counts as absent. */
  expire(id: NeighbourId): void {
    this.#named.delete(id);
  }

  /** The regions that this agent does not know completely yet. */
  learning(): Prefix[] {
    return this.#paths.filter(({ complete, target }) => target < complete).map(watched);
  }

  /** The subtrees beside the paths that only contacts make occupied. */
  *unwatched(): Iterable<Prefix> {
    const seen = new Set<string>();
    for (const path of this.#paths) {
      for (let level = 0; level < path.complete && path.complete < KEY_BITS; level++) {
        if (path.empty.has(level) || this.#hasMemberBeside(path, level)) continue;
        const region = siblingOf(path.key, level);
        // The first levels of several paths may be the same.
        const name = `${region.bits}/${region.length}`;
        if (!seen.has(name)) yield region;
        seen.add(name);
      }
    }
  }

  /** The questions whose answers are missing. */
  questions(): Question[] {
    const questions: Question[] = [];
    for (const path of this.#paths) {
      if (path.target >= path.complete && !this.#hasDoubt(path)) continue;
      const region = watched(path);
      for (const { id } of this.#inside(path, region.length)) {
        if (!path.answers.has(id)) questions.push({ to: id, region });
      }
    }
    return questions;
  }

  answered(id: NeighbourId, region: Prefix, answer: RegionAnswer): void {
    if (!this.#members.has(id)) return;
    for (const index of placesIn(this.#mine, region)) {
      const path = this.#paths[index]!;
      if (watched(path).length === region.length) path.answers.set(id, answer);
    }
  }

  /** Finishes regions whose members have all answered. Returns whether one has changed. */
  settle(): boolean {
    let changed = false;
    // Before the join somebody must confirm that a region has no other members.
    if (!this.#joined && this.#members.size === 0) return false;
    for (const path of this.#paths) {
      if (path.target >= path.complete && !this.#hasDoubt(path)) {
        // Later questions need later answers.
        path.answers.clear();
        continue;
      }
      if (!this.#areAllIn(path)) continue;
      path.complete = path.target;
      path.empty.clear();
      for (let level = 0; level < path.complete; level++) {
        const answers = [...path.answers.values()];
        if (!this.#isOccupied(path, level) && answers.every(({ empty }) => empty[level])) {
          path.empty.add(level);
        }
      }
      path.answers.clear();
      changed = true;
    }
    if (changed) this.#aim();
    return changed;
  }

  /** Whether all regions are known: a condition of the join. */
  get isComplete(): boolean {
    if (this.#members.size === 0) return true;
    return this.#paths.every(
      (path) => path.target >= path.complete && path.complete < KEY_BITS && !this.#hasDoubt(path),
    );
  }

  /** The answer of this agent to a question. */
  answerFor(region: Prefix): RegionAnswer {
    return {
      empty: Array.from({ length: region.length }, (_, level) => {
        const sibling = siblingOf(region.bits, level);
        const isHere = !this.#drained && hasAny(this.#mine, sibling);
        if (isHere || this.#contacts.hasIn(sibling)) return false;
        const inside = this.#index.within(sibling);
        return !inside.some((id) => !this.#members.get(id)!.neighbour.drained);
      }),
    };
  }

  #areAllIn(path: Path): boolean {
    const region = watched(path);
    for (const keys of this.#named.values()) if (hasAny(keys, region)) return false;
    const inside = this.#inside(path, region.length);
    // All members were removed. Others are known there, and one of them must answer.
    if (inside.length === 0 && this.#contacts.hasIn(region)) return false;
    return inside.every(({ id }) => path.answers.has(id));
  }

  /** What is known of the preference lists now. */
  places(): Places {
    return new Places({
      me: {
        id: this.#me,
        identifiers: this.#mine,
        joined: this.#joined,
        drained: this.#drained,
      },
      paths: this.#paths.map((path) => ({
        key: path.key,
        length: path.complete,
        beside: path.complete === KEY_BITS ? [] : this.#besides(path),
      })),
      members: [...this.#members.values()],
      decides: this.#settings.decides,
    });
  }

  /**
   * The paths with all agents of their regions, for completion. A drained agent leads none. All
   * drained agents in a subtree are members of its leader: their regions contain it.
   */
  ledPaths(): LedPath[] {
    if (this.#drained) return [];
    const places = this.places();
    const drained = [...this.members()].filter((one) => one.drained).map(({ id }) => id);
    return this.#paths.map((path) => {
      const inside = path.complete === KEY_BITS ? [] : this.#inside(path, path.complete);
      const others = inside.filter((one) => !one.drained);
      const first = this.#firstIn(prefixOf(path.key, path.complete), others);
      return {
        key: path.key,
        length: path.complete,
        first,
        agents: [this.#me, ...others.map(({ id }) => id), ...drained],
        beside: path.complete === KEY_BITS ? [] : this.#besides(path),
        few: (level) => places.fewBeside(path.index, level)?.map(({ id }) => id) ?? null,
      };
    });
  }

  /** The smallest identifier of this agent or one of the others in a region of this agent. */
  #firstIn({ bits }: Prefix, others: readonly Neighbour[]): Key {
    let first = firstFrom(this.#mine, bits)!;
    for (const { identifiers } of others) {
      const one = firstFrom(identifiers, bits);
      if (one !== undefined && one < first) first = one;
    }
    return first;
  }

  #besides(path: Path): Beside[] {
    return Array.from({ length: path.complete }, (_, level) => {
      if (path.empty.has(level)) return 'empty';
      return this.#isOccupied(path, level) ? 'occupied' : 'doubtful';
    });
  }

  /** A level above the region of which this agent does not know whether it is empty. */
  #hasDoubt(path: Path): boolean {
    for (let level = 0; level < path.complete && path.complete < KEY_BITS; level++) {
      if (!path.empty.has(level) && !this.#isOccupied(path, level)) return true;
    }
    return false;
  }

  #isOccupied(path: Path, level: number): boolean {
    return this.#hasMemberBeside(path, level) || this.#contacts.hasIn(siblingOf(path.key, level));
  }

  /** Whether this agent or a member occupies the subtree beside the path. */
  #hasMemberBeside({ own, beside }: Path, level: number): boolean {
    return own.has(level) || beside[level]! > 0;
  }

  /** The members with an identifier that has so many bits in common with the path. */
  #inside({ index }: Path, length: number): Neighbour[] {
    const inside: Neighbour[] = [];
    for (const { neighbour, depths } of this.#members.values()) {
      if (depths[index]! >= length) inside.push(neighbour);
    }
    return inside;
  }

  /** Sets the targets for the present members. */
  #aim(): void {
    this.changes++;
    for (const path of this.#paths) {
      const length = this.#lengthWith(path, this.#settings.size);
      if (length < path.complete) {
        if (length !== path.target) path.answers.clear();
        path.target = length;
        continue;
      }
      path.target = length;
      if (length === path.complete) continue;
      for (let level = path.complete; level < length; level++) {
        if (!this.#isOccupied(path, level)) path.empty.add(level);
      }
      path.complete = length;
      path.answers.clear();
    }
  }

  /** The length of the smallest region around the path with so many members that count. */
  #lengthWith({ index }: Path, count: number): number {
    const counted: number[] = this.#joined && !this.#drained ? [KEY_BITS] : [];
    for (const { neighbour, depths } of this.#members.values()) {
      if (counts(neighbour)) counted.push(depths[index]!);
    }
    if (counted.length < count) return 0;
    return counted.sort((a, b) => b - a)[count - 1]!;
  }
}

/** The region that is watched: the wider one while a wider one is being learned. */
function watched({ key, complete, target }: Path): Prefix {
  return prefixOf(key, Math.min(complete, target));
}

function isSame(a: Neighbour, b: Neighbour): boolean {
  const isEqual = (x: readonly number[], y: readonly number[]) =>
    x.length === y.length && x.every((length, i) => length === y[i]);
  return a.joined === b.joined && isEqual(a.regions, b.regions) && isEqual(a.complete, b.complete);
}
