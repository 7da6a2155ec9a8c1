// Requeues URLs of the hosts of this agent, some in each turn: all of them in a new round
// (`refresh.ts`), and those skipped by a rule that has changed (`reopening.ts`).

import type { View } from '../membership/view.ts';
import type { Host } from '../protocol/messages.ts';
import { Refresh, type RefreshParts } from './refresh.ts';
import { Reopening, type ReopeningParts } from './reopening.ts';

export class Requeues {
  readonly refresh: Refresh;
  readonly reopening: Reopening;
  readonly #view: Pick<View, 'joined'>;

  constructor(parts: RefreshParts & ReopeningParts & { readonly view: Pick<View, 'joined'> }) {
    this.#view = parts.view;
    this.refresh = new Refresh(parts);
    this.reopening = new Reopening(parts);
  }

  /** Nothing is left to check or requeue: a condition of idleness. */
  get isQuiet(): boolean {
    return this.refresh.isQuiet && this.reopening.isQuiet;
  }

  /** The next turn has something to check or requeue. */
  get isBusy(): boolean {
    return this.#view.joined && !this.isQuiet;
  }

  /** This agent now owns the host or has received rows of it. */
  received(host: Host): void {
    this.refresh.received(host);
    this.reopening.received(host);
  }

  pump(): void {
    if (!this.#view.joined) return;
    this.refresh.pump();
    this.reopening.pump();
  }
}
