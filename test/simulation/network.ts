// The network of the simulated cluster: what becomes of each message, by cuts and by bad luck from
// the cluster's seed. A message takes some milliseconds, may be lost, come twice, or come so late
// that others overtake it.

import type { AgentId, MessageType } from '../../agent/core/protocol/messages.ts';
import type { Random } from './random.ts';

const MESSAGE_MS = 4;

/** Shares of the messages that something befalls. */
export interface Weather {
  loss: number;
  readonly duplicate: number;
  /** Late by up to `slowMs`: overtaken by what was sent later. */
  readonly slow: number;
  readonly slowMs: number;
}

export const CALM: Weather = { loss: 0, duplicate: 0, slow: 0, slowMs: 0 };

export class Network {
  readonly weather: Weather;
  /** Loss of single kinds of messages, on top of the weather. */
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

  /** All is well again, but for links that are cut for good. */
  heal(except: readonly (readonly [AgentId, AgentId])[] = []): void {
    this.#cuts.clear();
    this.lossOf.clear();
    this.weather.loss = 0;
    for (const [from, to] of except) this.cut(from, to);
  }

  /** How long each copy of the message is on its way; none if it is lost. */
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
