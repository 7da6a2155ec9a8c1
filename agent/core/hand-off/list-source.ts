// Where the hosts of a list come from: a walk through stored hosts of which some are named, taken some
// at a time, or hosts that are all known at once. The hand-off (`hand-off.ts`) makes its parts of it.

import type { Host } from '../protocol/messages.ts';

/** Hosts that are looked through some at a time, and which of them are named. */
export interface ListSource {
  readonly walk: { take(max: number): readonly Host[]; readonly isOver: boolean };
  readonly names: (host: Host) => boolean;
}

/** Hosts that are all known. */
export class GivenHosts {
  readonly #hosts: readonly Host[];
  #next = 0;

  constructor(hosts: readonly Host[]) {
    this.#hosts = hosts;
  }

  get isOver(): boolean {
    return this.#next >= this.#hosts.length;
  }

  take(max: number): readonly Host[] {
    this.#next += max;
    return this.#hosts.slice(this.#next - max, this.#next);
  }
}
