// No incarnation of an agent is used twice, in any of its lives: each is higher than the one
// before (PROTOCOL invariant I3). Fed by whoever watches messages go by.

export class Incarnations {
  readonly #last = new Map<string, number>();
  readonly offences: string[] = [];
  /** Of all agents. */
  count = 0;

  /** An agent speaks as this incarnation, for the first time in a life or a rebirth. */
  begins(id: string, incarnation: number): void {
    this.count++;
    const last = this.#last.get(id) ?? 0;
    if (incarnation <= last) this.offences.push(`${id} was ${last} and is ${incarnation} again`);
    this.#last.set(id, Math.max(last, incarnation));
  }
}
