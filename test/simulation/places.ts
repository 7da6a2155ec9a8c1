// The addresses of the agents in a simulated cluster: those of the config, until an agent moves.

import type { AgentId } from '../../agent/core/protocol/messages.ts';

export class Places {
  /** Addresses of the agents that have moved. */
  readonly #addresses = new Map<AgentId, string>();
  /** By address, the agent that moved there. */
  readonly #moves = new Map<string, AgentId>();

  of(id: AgentId): string {
    return this.#addresses.get(id) ?? this.inConfig(id);
  }

  inConfig(id: AgentId): string {
    return `ipc://sim/${id}`;
  }

  /** Moves an agent. The config of the others keeps its first address. */
  move(id: AgentId): void {
    const address = `tcp://sim/${id}/${this.#moves.size + 1}`;
    this.#moves.set(address, id);
    this.#addresses.set(id, address);
  }

  /** The agent that has this address now, running or not; undefined: none has it any more. */
  residentOf(address: string): AgentId | undefined {
    const id = this.#moves.get(address) ?? /^ipc:\/\/sim\/(.+)$/.exec(address)?.[1];
    return id !== undefined && this.of(id) === address ? id : undefined;
  }
}
