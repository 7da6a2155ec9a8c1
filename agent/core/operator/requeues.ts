// URLs that are queued again: all of them in a new round (`refresh.ts`), and those that were skipped
// by rules that have changed (`reopening.ts`). Both look at the hosts of this agent, some URLs a turn,
// when the core names a host here.

import type { Host } from '../protocol/messages.ts';
import { Refresh, type RefreshParts } from './refresh.ts';
import { Reopening, type ReopeningParts } from './reopening.ts';

export class Requeues {
  readonly refresh: Refresh;
  readonly reopening: Reopening;

  constructor(parts: RefreshParts & ReopeningParts) {
    this.refresh = new Refresh(parts);
    this.reopening = new Reopening(parts);
  }

  /** Nothing is left to be looked at: a condition of idleness. */
  get isQuiet(): boolean {
    return this.refresh.isQuiet && this.reopening.isQuiet;
  }

  /** The next turn has something to look at. */
  get isBusy(): boolean {
    return this.refresh.isBusy || this.reopening.isBusy;
  }

  /** It has become this agent's, or rows of it have come from another agent. */
  received(host: Host): void {
    this.refresh.received(host);
    this.reopening.received(host);
  }

  pump(): void {
    this.refresh.pump();
    this.reopening.pump();
  }
}
