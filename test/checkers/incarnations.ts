// Every incarnation of an agent is higher than all previous ones, over all its runs (PROTOCOL
// invariant I3). The observer of the messages feeds it.

export class Incarnations {
  readonly #last = new Map<string, number>();
  readonly offences: string[] = [];
  /** Number of incarnations of all agents. */
  count = 0;

  /** Called when an agent uses this incarnation for the first time. */
  begins(id: string, incarnation: number): void {
    this.count++;
    const last = this.#last.get(id) ?? 0;
    if (incarnation <= last) this.offences.push(`${id} was ${last} and is ${incarnation} again`);
    this.#last.set(id, Math.max(last, incarnation));
  }
}
