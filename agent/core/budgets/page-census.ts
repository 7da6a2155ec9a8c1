// Counts the pages and tokens of all members, where every agent knows all others. A count is valid
// if it and the one before found the same view and no host being handed over.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { PageCount } from '../membership/overlay.ts';
import type { View } from '../membership/view.ts';
import type { AgentId, Message } from '../protocol/messages.ts';
import { type CoreSettings, resendAfterMs } from '../protocol/settings.ts';
import { type Epoch, NO_EPOCH } from './epoch.ts';

export type Counted = Omit<Extract<Message, { type: 'COUNTED' }>, 'type'>;

interface PageCensusParts {
  readonly settings: Pick<CoreSettings, 'id' | 'heartbeatMs'>;
  readonly view: Pick<View, 'members'>;
  readonly viewHash: () => string;
  /** Sends COUNT to a member or to this agent itself. */
  readonly count: (member: AgentId, epoch: Epoch, round: number, now: Instant) => void;
}

export class PageCensus {
  readonly #p: PageCensusParts;
  #epoch: Epoch = NO_EPOCH;
  #round = 0;
  #viewHash = '';
  readonly #answers = new Map<AgentId, Counted>();
  #askedAt = -Infinity;
  /** The view hash of the round before if that found no host being handed over. */
  #quietView: string | null = null;
  #result: PageCount | null = null;

  constructor(parts: PageCensusParts) {
    this.#p = parts;
  }

  /** Continues the census of an epoch, or begins it; null: it is not complete. */
  take(epoch: Epoch, now: Instant): PageCount | null {
    if (this.#epoch !== epoch) {
      this.#epoch = epoch;
      this.#quietView = null;
      this.#begin();
    }
    if (!this.#result) this.#askOn(now);
    const result = this.#result;
    if (result) this.#epoch = NO_EPOCH;
    this.#result = null;
    return result;
  }

  #begin(): void {
    this.#round++;
    this.#viewHash = this.#p.viewHash();
    this.#answers.clear();
    this.#askedAt = -Infinity;
    this.#result = null;
  }

  viewChanged(): void {
    if (this.#epoch === NO_EPOCH) return;
    this.#quietView = null;
    this.#begin();
  }

  #askOn(now: Instant): void {
    if (now.mono - this.#askedAt < resendAfterMs(this.#p.settings)) return;
    this.#askedAt = now.mono;
    const { epoch, round } = { epoch: this.#epoch, round: this.#round };
    for (const id of this.#voters()) {
      if (round !== this.#round) return;
      if (!this.#answers.has(id)) this.#p.count(id, epoch, round, now);
    }
  }

  #voters(): AgentId[] {
    return [this.#p.settings.id, ...[...this.#p.view.members()].map(({ card }) => card.id)];
  }

  onCounted(from: AgentId, counted: Counted, now: Instant): void {
    if (counted.round !== this.#round || counted.epoch !== this.#epoch) return;
    this.#answers.set(from, counted);
    if (!this.#voters().every((id) => this.#answers.has(id))) return;
    const answers = [...this.#answers.values()];
    const viewHash = this.#viewHash;
    const quiet = answers.every((a) => a.quiet && a.viewHash === viewHash);
    const isValid = quiet && this.#quietView === viewHash;
    this.#quietView = quiet ? viewHash : null;
    this.#begin();
    if (isValid) {
      this.#result = {
        base: answers.reduce((sum, { base }) => sum + base, 0),
        pages: answers.reduce((sum, { pages }) => sum + pages, 0),
      };
    } else if (quiet) this.#askOn(now);
    // A count that found a host being handed over is repeated later.
    else this.#askedAt = now.mono;
  }
}
