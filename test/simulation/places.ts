// The addresses of the agents in a simulated cluster: those of the config, until an agent moves.

import type { AgentId } from '../../agent/core/protocol/messages.ts';

export class Places {
  /** Addresses of the agents that have moved. */
  readonly #addresses = new Map<AgentId, string>();
  /** By address, the agent that moved there. */
  readonly #moves = new Map<string, AgentId>();
  readonly #scheme: string;

  /** Agents that are not in each other's config need `tcp`. */
  constructor(scheme: 'ipc' | 'tcp' = 'ipc') {
    this.#scheme = `${scheme}://sim/`;
  }

  of(id: AgentId): string {
    return this.#addresses.get(id) ?? this.inConfig(id);
  }

  inConfig(id: AgentId): string {
    return `${this.#scheme}${id}`;
  }

  /** Moves an agent. The config of the others keeps its first address. */
  move(id: AgentId): void {
    const address = `tcp://sim/${id}/${this.#moves.size + 1}`;
    this.#moves.set(address, id);
    this.#addresses.set(id, address);
  }

  /** The agent that has this address now, running or not; undefined: none has it any more. */
  residentOf(address: string): AgentId | undefined {
    const isHere = address.startsWith(this.#scheme);
    const id =
      this.#moves.get(address) ?? (isHere ? address.slice(this.#scheme.length) : undefined);
    return id !== undefined && this.of(id) === address ? id : undefined;
  }
}
