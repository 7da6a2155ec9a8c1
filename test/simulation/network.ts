// The network of the simulated cluster. Cuts, and random faults from the cluster's seed, decide the
// fate of each message: it takes some milliseconds, may be lost, may arrive twice, or so late that
// others overtake it.

import type { AgentId, MessageType } from '../../agent/core/protocol/messages.ts';
import type { Random } from './random.ts';

const MESSAGE_MS = 4;

/** Shares of the messages that are affected. */
export interface Weather {
  loss: number;
  readonly duplicate: number;
  /** Delayed by up to `slowMs`, so that later messages overtake it. */
  readonly slow: number;
  readonly slowMs: number;
}

export const CALM: Weather = { loss: 0, duplicate: 0, slow: 0, slowMs: 0 };

export class Network {
  readonly weather: Weather;
  /** Loss of single message types, in addition to the weather. */
  readonly lossOf = new Map<MessageType, number>();
  readonly #random: Random;
  readonly #cuts = new Set<string>();

  constructor(weather: Weather, random: Random) {
    this.weather = { ...weather };
    this.#random = random;
  }

  cut(from: AgentId, to: AgentId): void {
    this.#cuts.add(`${from}>${to}`);
  }

  mend(from: AgentId, to: AgentId): void {
    this.#cuts.delete(`${from}>${to}`);
  }

  /** Ends all faults, except for links that are cut for good. */
  heal(except: readonly (readonly [AgentId, AgentId])[] = []): void {
    this.#cuts.clear();
    this.lossOf.clear();
    this.weather.loss = 0;
    for (const [from, to] of except) this.cut(from, to);
  }

  /** Travel time of each copy of the message; empty if it is lost. */
  journeys(from: AgentId, to: AgentId, type: MessageType): number[] {
    const { weather } = this;
    const random = this.#random;
    if (this.#cuts.has(`${from}>${to}`) || random.chance(weather.loss)) return [];
    if (random.chance(this.lossOf.get(type) ?? 0)) return [];
    const copies = random.chance(weather.duplicate) ? 2 : 1;
    return Array.from({ length: copies }, () => {
      return MESSAGE_MS + (random.chance(weather.slow) ? random.between(0, weather.slowMs) : 0);
    });
  }
}
