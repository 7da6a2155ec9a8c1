// How a network begins to use its Redis: it tells the others what it runs with, until its centre
// does. A refused start does not change the settings of a running network. Its own are deleted, unless
// another agent has announced the same.

import { setTimeout as pause } from 'node:timers/promises';
import * as scripts from './pool-scripts.ts';
import type { RedisPools } from './redis-pools.ts';

/**
 * A centre renews its role at a third of `leaseMs`, or somewhat later if its agent is busy. One whose
 * lease has less than this share left has not done so.
 */
const RENEWED_SHARE = 0.5;
const LOOK_MS = 100;

interface Role {
  /** Of the centre; empty: there is none. */
  readonly token: string;
  readonly leftMs: number;
  readonly settings: string;
  readonly home: string;
}

export class Announcement {
  readonly #pools: RedisPools;
  readonly #id: string;
  readonly #mayJoin: () => Promise<boolean>;
  /** The token of a centre that has died, and whose lease has not ended. */
  #dead = '';
  #isMade = false;

  /**
   * @param id - names this start
   * @param mayJoin - whether this start can be one of the cluster that runs
   */
  constructor(pools: RedisPools, id: string, mayJoin: () => Promise<boolean>) {
    this.#pools = pools;
    this.#id = id;
    this.#mayJoin = mayJoin;
  }

  /**
   * It needs all rights that scripts need, so a user without them is refused here.
   *
   * @throws a NetworkFailure if the network runs with other settings, or in another
   *   cluster
   */
  async make(leaseMs: number): Promise<void> {
    const role = await this.#role();
    if (role.token !== '') await this.#judge(role, leaseMs);
    const { settings } = this.#pools;
    const found = await this.#run(scripts.announce, settings, 2 * leaseMs, this.#id, this.#dead);
    // A centre has taken the role meanwhile.
    this.#pools.compare(String(found) || null);
    this.#isMade = found === '';
  }

  /** Unless there is a centre or another announcer. */
  async withdraw(): Promise<void> {
    if (!this.#isMade) return;
    this.#isMade = false;
    await this.#run(scripts.withdraw, this.#pools.settings, this.#id, this.#dead);
  }

  async #judge(role: Role, leaseMs: number): Promise<void> {
    const { settings } = this.#pools;
    const isSame = role.settings === '' || role.settings === settings;
    if (isSame && (await this.#isOurs(role))) return;
    const living = await this.#living(role, leaseOf(role.settings) ?? leaseMs);
    if (living === null) {
      this.#dead = role.token;
      return;
    }
    // Asked again: agents of this cluster may have begun meanwhile.
    if (!(await this.#isOurs(living))) throw this.#pools.link.refusal(otherCluster(living));
    this.#pools.compare(living.settings || null);
  }

  /**
   * A data directory is of one cluster. A cluster of several is one whose agents meet: if nobody
   * answers, this agent would begin another.
   */
  async #isOurs({ home }: Role): Promise<boolean> {
    return home === this.#pools.home || (await this.#mayJoin());
  }

  /** The role once an agent has taken or renewed it; null: the centre has died. */
  async #living(first: Role, leaseMs: number): Promise<Role | null> {
    let last = first;
    for (let waitedMs = 0; waitedMs < leaseMs; waitedMs += LOOK_MS) {
      if (last.token === '' || last.leftMs < leaseMs * RENEWED_SHARE) return null;
      await pause(LOOK_MS);
      const next = await this.#role();
      if (next.token !== '' && (next.token !== last.token || next.leftMs > last.leftMs))
        return next;
      last = next;
    }
    return null;
  }

  async #role(): Promise<Role> {
    const { centre, settings, home } = this.#pools.keys;
    const reply = await this.#pools.run(scripts.role, [centre, settings, home], []);
    const [token, leftMs, text, where] = reply as [string, number, string, string];
    return { token, leftMs, settings: text, home: where };
  }

  #run(script: scripts.Script, ...args: readonly (string | number)[]): Promise<unknown> {
    const { centre, settings, announcers } = this.#pools.keys;
    return this.#pools.run(script, [centre, settings, announcers], args);
  }
}

function otherCluster({ token, home }: Role): string {
  const agent = JSON.stringify(token.slice(0, token.lastIndexOf('.')));
  return (
    `another cluster runs with this network name: agent ${agent} in ${JSON.stringify(home)} is its ` +
    "centre; give each cluster a 'dedup.network' of its own, or end the other cluster"
  );
}

/** The lease of a network that runs with these settings; null: they do not say it. */
function leaseOf(settings: string): number | null {
  try {
    const { dedup } = JSON.parse(settings) as { readonly dedup?: { readonly leaseMs?: unknown } };
    return typeof dedup?.leaseMs === 'number' ? dedup.leaseMs : null;
  } catch {
    return null;
  }
}
