// The endpoints through which an agent finds the cluster. Their agents are not known by name, so a
// PING without an addressee is sent, and its answer names the agent.

export interface FirstContactsOptions {
  /** Endpoints from the config; none: the config lists the agents. */
  readonly endpoints: readonly string[];
  /** This agent's own address. */
  readonly address: string;
  readonly heartbeatMs: number;
  readonly suspectAfterMs: number;
}

export class FirstContacts {
  readonly #o: FirstContactsOptions;
  /** The next one to ask is the first. */
  readonly #others: string[];
  #askedAt = -Infinity;

  constructor(options: FirstContactsOptions) {
    this.#o = options;
    this.#others = options.endpoints.filter((endpoint) => endpoint !== options.address);
  }

  /** Only a contact may begin a cluster: any other agent could be cut off from one that exists. */
  get mayBeginAlone(): boolean {
    return this.#o.endpoints.includes(this.#o.address);
  }

  /**
   * The endpoints to ask now: all until this agent has members, and then one after the other,
   * because contacts that started at the same time may have begun two clusters.
   *
   * @param known - the addresses of the members
   */
  due(known: Pick<ReadonlySet<string>, 'size' | 'has'>, now: number): readonly string[] {
    const { heartbeatMs, suspectAfterMs } = this.#o;
    if (now - this.#askedAt < (known.size === 0 ? heartbeatMs : suspectAfterMs)) return [];
    this.#askedAt = now;
    if (known.size === 0) return this.#others;
    const [next] = this.#others.splice(0, 1);
    if (next === undefined) return [];
    this.#others.push(next);
    return known.has(next) ? [] : [next];
  }
}
