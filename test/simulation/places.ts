// Where the agents of a simulated cluster listen: where the config says, until one moves.

import type { AgentId } from '../../agent/core/protocol/messages.ts';

export class Places {
  /** Of those that have moved. */
  readonly #addresses = new Map<AgentId, string>();
  /** Who moved to each address. */
  readonly #moves = new Map<string, AgentId>();

  of(id: AgentId): string {
    return this.#addresses.get(id) ?? this.inConfig(id);
  }

  inConfig(id: AgentId): string {
    return `ipc://sim/${id}`;
  }

  /** The config of the others keeps its first address. */
  move(id: AgentId): void {
    const address = `tcp://sim/${id}/${this.#moves.size + 1}`;
    this.#moves.set(address, id);
    this.#addresses.set(id, address);
  }

  /** Who has that address now, whether it runs or not; undefined: nobody, any more. */
  residentOf(address: string): AgentId | undefined {
    const id = this.#moves.get(address) ?? /^ipc:\/\/sim\/(.+)$/.exec(address)?.[1];
    return id !== undefined && this.of(id) === address ? id : undefined;
  }
}
